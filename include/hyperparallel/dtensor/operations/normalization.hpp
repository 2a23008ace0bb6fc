// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that read along dims, on dtensors: softmax, normalizations, the packed SwiGLU, cross entropy. These dims
// are whole on every device, so results are the single device's, bit for bit.

#include <concepts>
#include <cstdint>
#include <tuple>

#include <hyperparallel/dtensor/index_check.hpp>
#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/kernels/cross_entropy.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

template <class X>
concept computed_in_floats = std::floating_point<kernels::computing<X>>;

struct softmax {
  int dim = -1;
  constexpr rule_result rule(const shape* x, int) const { return rules::softmax(x[0].rank, dim); }
  template <computed_in_floats X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::softmax(x, out, rules::from_front(dim, x.extents.rank));
  }
};

struct log_softmax {
  int dim = -1;
  constexpr rule_result rule(const shape* x, int) const { return rules::log_softmax(x[0].rank, dim); }
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
    return rules::layer_norm(x[0].rank, x[1].rank, count - 1);
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

/// silu(gate) · up of a last dim that holds gate before up.
struct packed_swiglu {
  constexpr rule_result rule(const shape* x, int) const { return rules::packed_swiglu(x[0].rank); }
  void run(const local_operation&, const_view<float> x, tensor_view<float> out) const {
    const extent_t width = out.extents.extent[out.extents.rank - 1];
    if (width > 0) hyperparallel::swiglu(volume(out) / width, width, x.data, 2 * width, out.data, width);
  }
};

/// The loss of each row of logits; targets are the second operand, a class or `ignored_label`.
struct cross_entropy {
  static constexpr unsigned indices = 0b10u;
  constexpr rule_result rule(const shape* x, int) const { return rules::cross_entropy(x[0].rank); }
  /// Throws dtensor_error.
  template <std::integral I>
  static void check_targets(const const_local_block& logits, const const_local_block& targets) {
    check_indices<I>(targets, &logits.whole.extent[logits.whole.rank - 1], 1, &kernels::ignored_label);
  }
  template <computed_in_floats X, std::integral I>
  void run(const local_operation& at, const_view<X> logits, const_view<I> targets, tensor_view<X> loss) const {
    check_targets<I>(at.operand[0], at.operand[1]);
    kernels::cross_entropy(logits, targets, loss);
  }
};

}  // namespace operations

template <int Dim = -1, dtensor_type X>
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
template <dtensor_type X, dtensor_type W, dtensor_type B>
auto layer_norm(const X& x, const W& weight, const B& bias, double epsilon = 1e-5) {
  return apply_as<operations::layer_norm{}>(operations::layer_norm{epsilon}, x, weight, bias);
}
template <dtensor_type X, dtensor_type W>
auto rms_norm(const X& x, const W& weight, double epsilon = 1e-6) {
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

}}  // namespace hyperparallel::v0_2
