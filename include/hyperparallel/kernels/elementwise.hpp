// SPDX-License-Identifier: Apache-2.0
#pragma once
// Applying a function to every element, with operands broadcast against the result as NumPy does.
//
// A function is a type with `static … of(x…)` on computing types: see elementwise_functions.hpp for those of the
// library; a new one is one line there and none here. Laws: a result depends on its own operands alone, so any split of
// the result gives bit-equal parts; the result may be an operand of its own extents.

#include <utility>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/support/array_bound.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// One run. Bit i of `Moving` says that operand i moves on (by 1); the others stand still.
template <class Function, unsigned Moving, class R, std::size_t... I, class... X>
HYPERPARALLEL_EXACT void map_run(std::index_sequence<I...>, extent_t n, R* out, const X*... x) {
  for (extent_t i = 0; i < n; ++i) out[i] = store<R>(Function::of(load((Moving >> I & 1u) != 0 ? x[i] : *x)...));
}

/// Picks the run for the steps at hand, so that each inner loop is compiled for its own.
template <class Function, unsigned Moving, int Operand, class R, class... X>
void map_run_for(const extent_t* step, extent_t n, R* out, const X*... x) {
  if constexpr (Operand == sizeof...(X))
    map_run<Function, Moving>(std::index_sequence_for<X...>{}, n, out, x...);
  else if (step[Operand] != 0)
    map_run_for<Function, (Moving | 1u << Operand), Operand + 1>(step, n, out, x...);
  else
    map_run_for<Function, Moving, Operand + 1>(step, n, out, x...);
}

template <class Function, class R, std::size_t... I, class... X>
void map(std::index_sequence<I...>, tensor_view<R> out, tensor_view<X>... x) {
  constexpr int arrays = static_cast<int>(sizeof...(X)) + 1;
  const steps array[hyperparallel::detail::array_bound(arrays)] = {broadcast_steps(x.extents, out.extents)...,
                                                                   row_major_steps(out.extents)};
  for_each_run(loops_over(out.extents, array), [&](const auto& offset, extent_t n, const auto& step) {
    map_run_for<Function, 0u, 0>(step, n, out.data + offset[arrays - 1],
                                 static_cast<const std::remove_const_t<X>*>(x.data) + offset[I]...);
  });
}

/// out = Function(x). Domain: x broadcasts to out, here and below.
template <class Function, class X, class R>
void unary(tensor_view<X> x, tensor_view<R> out) {
  detail::map<Function>(std::index_sequence<0>{}, out, x);
}

/// out = Function(a, b).
template <class Function, class A, class B, class R>
void binary(tensor_view<A> a, tensor_view<B> b, tensor_view<R> out) {
  detail::map<Function>(std::index_sequence<0, 1>{}, out, a, b);
}

/// out = Function(a, b, c).
template <class Function, class A, class B, class C, class R>
void ternary(tensor_view<A> a, tensor_view<B> b, tensor_view<C> c, tensor_view<R> out) {
  detail::map<Function>(std::index_sequence<0, 1, 2>{}, out, a, b, c);
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
