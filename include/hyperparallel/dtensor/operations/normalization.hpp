// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that read along dims, on dtensors: softmax, normalizations, the packed SwiGLU, cross entropy. These dims
// are whole on every device, so results are the single device's, bit for bit.

#include <concepts>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/index_check.hpp>
#include <hyperparallel/dtensor/traced_operation.hpp>
#include <hyperparallel/kernels/cross_entropy.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

template <class X>
concept computed_in_floats = std::floating_point<kernels::computing<X>>;

constexpr rule_result reads_softmax_dim(const char* name, const shape* x, int dim) {
  return rules::reads_along(name, x[0].rank, dim, refuse_partials(), ops::softmax::flops_per_point);
}

struct softmax {
  static constexpr listed<ops::softmax> on_variables{};
  int dim = -1;
  constexpr rule_result rule(const shape* x, int) const { return reads_softmax_dim(ops::softmax::name, x, dim); }
  template <computed_in_floats X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::softmax(x, out, rules::from_front(dim, x.extents.rank));
  }
};

struct log_softmax {
  int dim = -1;
  constexpr rule_result rule(const shape* x, int) const { return reads_softmax_dim("log_softmax", x, dim); }
  template <computed_in_floats X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::log_softmax(x, out, rules::from_front(dim, x.extents.rank));
  }
};

/// Over the dims of the weight, the last ones of x; a third operand is the bias.
struct layer_norm {
  double epsilon = 1e-5;
  constexpr rule_result rule(const shape* x, int count) const {
    if (count < 2) return no_rule("layer_norm", rule_code::too_many_operands, count);
    return rules::normalize(ops::layer_norm::name, x[0].rank, x[1].rank, count - 1, ops::layer_norm::flops_per_point);
  }
  template <computed_in_floats X>
  void run(const local_operation&, const_view<X> x, const_view<X> weight, tensor_view<X> out) const {
    kernels::layer_norm(x, weight, {}, out, epsilon);
  }
  template <computed_in_floats X>
  void run(const local_operation&, const_view<X> x, const_view<X> weight, const_view<X> bias,
           tensor_view<X> out) const {
    kernels::layer_norm(x, weight, bias, out, epsilon);
  }
};

/// Over the dims of the weight; the second result is the reciprocal root mean square of each row.
struct rms_norm {
  double epsilon = 1e-6;
  template <class X, class...>
  using results = std::tuple<X, kernels::computing<X>>;
  constexpr rule_result rule(const shape* x, int count) const {
    if (count != 2) return no_rule("rms_norm", rule_code::too_many_operands, count);
    return rules::rms_norm(x[0].rank, x[1].rank, 1);
  }
  template <computed_in_floats X>
  void run(const local_operation&, const_view<X> x, const_view<X> weight, tensor_view<X> out,
           tensor_view<kernels::computing<X>> root) const {
    kernels::rms_norm(x, weight, out, epsilon, root.data);
  }
};

/// silu(gate) · up of a last dim that holds gate before up: its major factor is the 2, which is whole, so the dim is not
/// sharded. `ops::grouped_swiglu` takes the two halves as a dim of their own, which leaves the other free.
struct packed_swiglu {
  constexpr rule_result rule(const shape* x, int) const {
    return rules::written("packed_swiglu", "*(2f)->*f", {reduce_op::none, refuse_partials(), 2}, {1, {x[0].rank}});
  }
  void run(const local_operation&, const_view<float> x, tensor_view<float> out) const {
    const extent_t width = out.extents.extent[out.extents.rank - 1];
    if (width > 0) hyperparallel::swiglu(volume(out) / width, width, x.data, 2 * width, out.data, width);
  }
};

/// The loss of each row of logits; targets are the second operand, a class or `ignored_label`.
struct cross_entropy {
  static constexpr unsigned indices = 0b10u;
  constexpr rule_result rule(const shape* x, int) const {
    return rules::written("cross_entropy", "*V,*->*", {reduce_op::none, refuse_partials(), 5},
                          {2, {x[0].rank, x[0].rank - 1}});
  }
  /// Throws dtensor_error.
  template <std::integral I>
  static void check_targets(const const_local_block& logits, const const_local_block& targets) {
    hyperparallel::detail::check_indices<I>(targets, &logits.whole.extent[logits.whole.rank - 1], 1,
                                            &kernels::ignored_label);
  }
  template <computed_in_floats X, std::integral I>
  void run(const local_operation& at, const_view<X> logits, const_view<I> targets, tensor_view<X> loss) const {
    check_targets<I>(at.operand[0], at.operand[1]);
    kernels::cross_entropy(logits, targets, loss);
  }
};

}  // namespace operations

/// On variables along the last dim.
template <int Dim = -1, tensor_or_variable X>
  requires(dtensor_type<X> || Dim == -1)
auto softmax(const X& x) {
  return apply<operations::softmax{Dim}>(x);
}
template <int Dim = -1, dtensor_type X>
auto log_softmax(const X& x) {
  return apply<operations::log_softmax{Dim}>(x);
}
template <dtensor_type X, dtensor_type W>
auto layer_norm(const X& x, const W& weight, double epsilon = 1e-5) {
  return apply_as<operations::layer_norm{}>(operations::layer_norm{epsilon}, x, weight);
}
template <tensor_or_variable X, tensor_or_variable W, tensor_or_variable B>
auto layer_norm(const X& x, const W& weight, const B& bias, double epsilon = 1e-5) {
  if constexpr (traced_operands<X, W, B>)
    return apply<ops::layer_norm>({.real = {epsilon}}, x, weight, bias);
  else
    return apply_as<operations::layer_norm{}>(operations::layer_norm{epsilon}, x, weight, bias);
}
template <tensor_or_variable X, tensor_or_variable W>
auto rms_norm(const X& x, const W& weight, double epsilon = 1e-6) {
  if constexpr (traced_operands<X, W>)
    return apply<ops::rms_norm>({.real = {epsilon}}, x, weight);
  else
    return std::get<0>(apply_as<operations::rms_norm{}>(operations::rms_norm{epsilon}, x, weight));
}
template <dtensor_type X>
auto packed_swiglu(const X& x) {
  return apply<operations::packed_swiglu{}>(x);
}
template <dtensor_type X, dtensor_type T>
auto cross_entropy(const X& logits, const T& targets) {
  return apply<operations::cross_entropy{}>(logits, targets);
}

namespace detail {

template <class Logits, class Labels, class Statistics>
struct cross_entropy_memory {
  Logits logits;
  Labels labels;
  Statistics largest, exponentials;
};

/// The gradient of the losses goes straight to the logits, as that of `token_loss` in a graph.
template <class Memory, class Logits, class Labels, class Statistics, class Losses>
struct cross_entropy_back {
  template <class Gradient>
  static auto backward(const gradient_node& at, const std::tuple<Gradient>& g, gradient_parts& to) {
    const auto of = [&](const auto& d_losses) {
      const Memory& all = kept_memory<Memory>(at);
      return give_gradient<0>(
          to, at,
          apply<ops::cross_entropy_gradient>(d_losses, all.logits.value(), all.largest, all.exponentials, all.labels));
    };
    if constexpr (applies<listed<ops::cross_entropy_gradient>{}, Gradient, Logits, Statistics, Statistics, Labels>)
      return of(std::get<0>(g));
    else
      return of(brought_to<gradient_tensor<Losses>>(std::get<0>(g)));
  }
};

/// The losses of rows of logits.
template <class Source, class Logits, class Labels, class Statistics, class Losses>
struct cross_entropy_node {
  using sources = std::tuple<Source>;
  using memory = cross_entropy_memory<kept<Logits, is_made<Source>>, Labels, Statistics>;
  using way_back = cross_entropy_back<memory, Logits, Labels, Statistics, Losses>;
  static constexpr int result_count = 1;
  static constexpr auto refusal() { return std::type_identity<accepted>{}; }
};

}  // namespace detail

/// The loss of each row of logits; a negative label is none, with the loss 0. Where the vocabulary is sharded the three sums
/// of a row are reduced.
template <variable_type X, dtensor_type Labels>
auto cross_entropy(const X& logits, const Labels& labels) {
  const auto& x = logits.value();
  const auto largest = apply<listed<ops::reduce, "*v->*">{{.reduction = reduce_op::max}}>(x).reduce_partial();
  const auto exponentials = apply<ops::exp_sum>(x, largest).reduce_partial();
  const auto picked = apply<ops::pick>(x, labels).reduce_partial();
  const auto losses = apply<ops::token_loss>(largest, exponentials, picked, labels);
  using statistics = std::remove_cvref_t<decltype(largest)>;
  using made = std::remove_cvref_t<decltype(losses)>;
  using node = detail::cross_entropy_node<typename X::source, typename X::tensor, Labels, statistics, made>;
  using memory = typename node::memory;
  memory all{decltype(memory::logits)(x), labels, largest, exponentials};
  auto step =
      std::make_shared<const detail::keeping_node<memory>>(&detail::kind_of_node<node>, detail::shapes_of(losses),
                                                           detail::gradient_targets{logits.target()}, std::move(all));
  return variable<node, 0, made>(std::move(step), losses);
}

}}  // namespace hyperparallel::v0_2
