// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements moved by the kernels of kernels/movement.hpp: transpose, reshape, concat, split, slice and its gradient.
//
// Law: every result element is one operand element, unchanged, or 0 outside a slice's place, so any strategy gives the
// same bits. Calls that do not fit the operator are refused with the extents. O(elements).

#include <string>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/movement.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// The block of tensor `t` of a call.
template <class T>
tensor_view<T> block_of(const operator_call& c, const tensor_factors& t, T* data) {
  tensor_view<T> block{data};
  block.extents.rank = t.rank;
  for (int d = 0; d < t.rank; ++d) block.extents.extent[d] = c.loop[t.term[d]].extent;
  return block;
}
template <class T>
const_view<T> operand_block(const operator_call& c, int i) {
  return block_of(c, c.rule->operand[i], operand<T>(c, i));
}
template <class T>
tensor_view<T> result_block(const operator_call& c, int r) {
  return block_of(c, c.rule->result[r], result<T>(c, r));
}

/// Refuses a call whose extents are none of the operator's, in the words of the operator.
template <class Fit>
void expect_fit(const operator_call& c, const Fit& fit_of) {
  extent_t extent[max_factors] = {};
  for (int f = 0; f < c.rule->factor_count; ++f) extent[f] = c.loop[f].extent;
  const instance_fit fit = fit_of(*c.rule, extent, *c.attributes);
  expect(fit.is != instance_fit::verdict::no_such_text, c,
         "operands and results have dims that are none of the operator");
  if (fit.is == instance_fit::verdict::extent_differs)
    expect(
        false, c,
        ("makes a dim of extent " + std::to_string(fit.made) + ", where its operands have " + std::to_string(fit.there))
            .c_str());
}

/// First element and step along each dim for a slice `part` of `whole`.
struct slice_place {
  extent_t begin[max_dims] = {}, step[max_dims] = {};
};
inline slice_place place_of_slice(const operator_call& c, const tensor_factors& whole, const tensor_factors& part) {
  expect_fit(c, [&](const factor_rule&, const extent_t* extent, const operator_attributes& a) {
    return ops::fit_of_slice(whole, part, extent, a);
  });
  const int axis = ops::dim_that_differs(whole, part);
  slice_place p;
  for (extent_t& s : p.step) s = 1;
  p.begin[axis] = c.attributes->integer[0];
  p.step[axis] = ops::step_of_slice(*c.attributes);
  return p;
}

template <class T>
void transpose_kernel(const operator_call& c) {
  detail::expect_fit(c, ops::transpose::fits);
  const tensor_factors &x = c.rule->operand[0], &y = c.rule->result[0];
  int order[max_dims] = {};
  for (int d = 0; d < y.rank; ++d)
    while (x.term[order[d]] != y.term[d]) ++order[d];
  permute(detail::operand_block<T>(c, 0), detail::result_block<T>(c, 0), order);
}

/// Dims that stay keep their order and what lies between them its size: elements lie as they lay.
template <class T>
void reshape_kernel(const operator_call& c) {
  detail::expect_fit(c, ops::reshape::fits);
  detail::copy_elements(operand<T>(c, 0), result<T>(c, 0), c.result_elements(0));
}

template <class T>
void concat_kernel(const operator_call& c) {
  detail::expect_fit(c, ops::concat::fits);
  const factor_rule& r = *c.rule;
  const_view<T> part[max_operands];
  for (int i = 0; i < r.operand_count; ++i) part[i] = detail::operand_block<T>(c, i);
  concat(static_cast<const const_view<T>*>(part), r.operand_count, detail::result_block<T>(c, 0),
         ops::dim_that_differs(r.result[0], r.operand[0]));
}

template <class T>
void split_kernel(const operator_call& c) {
  const factor_rule& r = *c.rule;
  const int axis = ops::dim_that_differs(r.operand[0], r.result[0]);
  extent_t total = 0;
  for (int p = 0; p < r.result_count; ++p) {
    expect(axis >= 0 && ops::dim_that_differs(r.operand[0], r.result[p]) == axis, c, "a part differs in another dim");
    total += c.loop[r.result[p].term[axis]].extent;
  }
  const extent_t whole = c.loop[r.operand[0].term[axis]].extent;
  expect(total <= whole, c, "the parts are more than the whole");
  extent_t begin[max_dims] = {}, step[max_dims] = {};
  for (extent_t& s : step) s = 1;
  begin[axis] = c.attributes->integer[0] < 0 ? whole - total : 0;
  for (int p = 0; p < r.result_count; ++p) {
    slice(detail::operand_block<T>(c, 0), detail::result_block<T>(c, p), begin, step);
    begin[axis] += c.loop[r.result[p].term[axis]].extent;
  }
}

template <class T>
void slice_kernel(const operator_call& c) {
  const detail::slice_place p = detail::place_of_slice(c, c.rule->operand[0], c.rule->result[0]);
  slice(detail::operand_block<T>(c, 0), detail::result_block<T>(c, 0), p.begin, p.step);
}

template <class T>
void slice_gradient_kernel(const operator_call& c) {
  const detail::slice_place p = detail::place_of_slice(c, c.rule->result[0], c.rule->operand[0]);
  place_slice(detail::operand_block<T>(c, 0), detail::result_block<T>(c, 0), p.begin, p.step);
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::transpose> = kernels::detail::transpose_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::reshape> = kernels::detail::reshape_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::concat> = kernels::detail::concat_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::split> = kernels::detail::split_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::slice> = kernels::detail::slice_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::slice_gradient> = kernels::detail::slice_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
