// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of dtensors by their names on variables, so that one generic function of tensors is run and
// differentiated: matmul, linear, norms, softmax, embedding, sum, mean, cross_entropy; functions of elements are in
// operations/elementwise.hpp.
//
// Law: the value is that of the function of this name on dtensors, bit for bit; where that one refuses a sharded
// vocabulary, cross_entropy reduces the three sums of a row. Products, sums and rows of a table take pending sums where
// those on dtensors do; the gradient of a pending sum is that of its value.

#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>
#include <hyperparallel/dtensor/untraced_functions.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class A, class B>
  requires traced_operands<A, B> && (B::extents::declared.rank == 2)
auto matmul(const A& a, const B& b) {
  return apply<listed<ops::contract, "*k,kn->*n">{.linear = 0b11}>(a, b);
}
/// x · weightᵀ; the weight lies out × in.
template <class X, class W>
  requires traced_operands<X, W> && (W::extents::declared.rank == 2)
auto linear(const X& x, const W& weight) {
  return apply<listed<ops::contract, "*k,nk->*n">{.linear = 0b11}>(x, weight);
}

template <class X, class W>
  requires traced_operands<X, W>
auto rms_norm(const X& x, const W& weight, double epsilon = 1e-6) {
  return apply<ops::rms_norm>({.real = {epsilon}}, x, weight);
}
template <class X, class W, class B>
  requires traced_operands<X, W, B>
auto layer_norm(const X& x, const W& weight, const B& bias, double epsilon = 1e-5) {
  return apply<ops::layer_norm>({.real = {epsilon}}, x, weight, bias);
}
/// Along the last dim.
template <variable_type X>
auto softmax(const X& x) {
  return apply<ops::softmax>(x);
}
/// Rows of a table.
template <dtensor_type I, variable_type T>
auto embedding(const I& ids, const T& table) {
  return apply<listed<ops::embed>{.linear = 0b10}>(ids, table);
}

template <class A, class B>
  requires traced_operands<A, B>
auto multiply(const A& a, const B& b) {
  return mul(a, b);
}

/// Of all elements: one number.
template <variable_type X>
auto sum(const X& x) {
  return apply<listed<ops::reduce, "*->">{.linear = 0b1}>(x);
}
template <variable_type X>
auto mean(const X& x) {
  extent_t n = 1;
  for (int d = 0; d < x.value().shape().rank; ++d) n *= x.value().shape().extent[d];
  return scale(sum(x), 1.0 / static_cast<double>(n));
}

namespace detail {

/// "abc->ac" of three dims without dim 1.
template <int Rank>
constexpr fixed_string<2 * Rank + 3> text_without(const rules::dim_list& dims) {
  const rules::chosen_dims gone = rules::choose(dims, Rank);
  char text[array_bound(2 * Rank + 3)] = {};
  int at = 0;
  for (int d = 0; d < Rank; ++d) text[at++] = static_cast<char>('a' + d);
  text[at++] = '-';
  text[at++] = '>';
  for (int d = 0; d < Rank; ++d)
    if (!rules::has(gone.mask, d)) text[at++] = static_cast<char>('a' + d);
  return text;
}
template <class X, int... Dims>
inline constexpr auto text_of_reduction = text_without<X::extents::declared.rank>({Dims...});

}  // namespace detail

/// Over these dims.
template <int First, int... Rest, variable_type X>
auto sum(const X& x) {
  constexpr listed<ops::reduce, detail::text_of_reduction<X, First, Rest...>> folded{.linear = 0b1};
  return detail::remembered<folded, ops::reduce>(sum<First, Rest...>(x.value()), folded, x);
}
template <int First, int... Rest, variable_type X>
auto mean(const X& x) {
  constexpr listed<ops::mean, detail::text_of_reduction<X, First, Rest...>> folded{};
  return detail::remembered<folded, ops::mean>(mean<First, Rest...>(x.value()), folded, x);
}

namespace detail {

/// The losses of rows of logits. Its gradient goes straight to the logits, as that of `token_loss` in a graph.
template <class Source, class Logits, class Labels, class Statistics, class Losses>
struct cross_entropy_node : gradient_node {
  using sources = std::tuple<Source>;
  static constexpr int result_count = 1;
  static constexpr auto refusal() { return std::type_identity<accepted>{}; }
  cross_entropy_node(const Source& from, const Logits& x, const Labels& label, const Statistics& max,
                     const Statistics& sum, const Losses& made)
      : gradient_node(&kind_of_node<cross_entropy_node>, shapes_of(made)),
        operand(from),
        logits(x),
        labels(label),
        largest(max),
        exponentials(sum) {}
  sources operand;
  kept<Logits, is_made<Source>> logits;
  Labels labels;
  Statistics largest, exponentials;

  template <class Gradient>
  auto backward(const std::tuple<Gradient>& g) const {
    const auto of = [&](const auto& d_losses) {
      return contributed(std::get<0>(operand),
                         apply<ops::cross_entropy_gradient>(d_losses, logits.value(), largest, exponentials, labels));
    };
    if constexpr (applies<listed<ops::cross_entropy_gradient>{}, Gradient, Logits, Statistics, Statistics, Labels>)
      return of(std::get<0>(g));
    else
      return of(brought_to<gradient_tensor<Losses>>(std::get<0>(g)));
  }
};

}  // namespace detail

/// The loss of each row of logits; a negative label is none, with the loss 0.
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
  auto step = std::make_shared<node>(logits.origin(), x, labels, largest, exponentials, losses);
  return variable<node, 0, made>(std::move(step), losses);
}

}}  // namespace hyperparallel::v0_2
