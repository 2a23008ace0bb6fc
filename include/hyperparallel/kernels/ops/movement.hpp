// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements moved by the kernels of kernels/movement.hpp: transpose, reshape, concat, split, slice and its gradient.
//
// Law: every result element is one operand element, unchanged, or 0 outside a slice's place, so any strategy gives the
// same bits. Calls whose created extents are not those of the operator's words are refused with the extents. O(elements).

#include <string>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/movement.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

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

/// The one dim in which `part` has another loop than `whole`; their other dims follow the same loops in order.
inline int dim_that_differs(const operator_call& c, const tensor_factors& whole, const tensor_factors& part) {
  int at = -1;
  bool one = part.rank == whole.rank;
  for (int d = 0; d < whole.rank && one; ++d) {
    if (part.term[d] == whole.term[d]) continue;
    one = at < 0;
    at = d;
  }
  expect(one && at >= 0, c, "operand and result differ in one dim");
  return at;
}

inline void expect_extent(const operator_call& c, const char* what, extent_t is, extent_t wanted) {
  if (is != wanted)
    expect(false, c, (std::string(what) + std::to_string(is) + ", not " + std::to_string(wanted)).c_str());
}

/// Where the parts lie in `whole`, which `parts` tensors make along one dim.
inline int joined_dim(const operator_call& c, const tensor_factors& whole, const tensor_factors* part, int parts) {
  const int axis = dim_that_differs(c, whole, part[0]);
  for (int p = 1; p < parts; ++p)
    expect(dim_that_differs(c, whole, part[p]) == axis, c, "the parts differ from the whole in different dims");
  return axis;
}
inline extent_t joined_extent(const operator_call& c, const tensor_factors* part, int parts, int axis) {
  extent_t total = 0;
  for (int p = 0; p < parts; ++p) total += c.loop[part[p].term[axis]].extent;
  return total;
}

/// First element and step along each dim for a slice `part` of `whole`.
struct slice_place {
  extent_t begin[max_dims] = {}, step[max_dims] = {};
};
inline slice_place place_of_slice(const operator_call& c, const tensor_factors& whole, const tensor_factors& part) {
  const int axis = dim_that_differs(c, whole, part);
  slice_place p;
  for (extent_t& s : p.step) s = 1;
  p.begin[axis] = c.attributes->integer[0];
  if (c.attributes->integer[1] != 0) p.step[axis] = c.attributes->integer[1];
  const extent_t n = c.loop[part.term[axis]].extent, there = c.loop[whole.term[axis]].extent;
  const extent_t last = p.begin[axis] + (n - 1) * p.step[axis];
  expect(p.begin[axis] >= 0 && p.step[axis] > 0 && last < there, c,
         ("takes elements " + std::to_string(p.begin[axis]) + " to " + std::to_string(last) + " of " +
          std::to_string(there))
             .c_str());
  return p;
}

}  // namespace detail

template <class T>
void transpose_kernel(const operator_call& c) {
  const tensor_factors &x = c.rule->operand[0], &y = c.rule->result[0];
  expect(x.rank == y.rank && x.mask == y.mask, c, "operand and result have different dims");
  int order[max_dims] = {};
  for (int d = 0; d < y.rank; ++d)
    while (x.term[order[d]] != y.term[d]) ++order[d];
  permute(detail::operand_block<T>(c, 0), detail::result_block<T>(c, 0), order);
}

/// Between dims that both have, dims are regrouped: there both have as many elements, so all lie in the same order.
template <class T>
void reshape_kernel(const operator_call& c) {
  const tensor_factors &x = c.rule->operand[0], &y = c.rule->result[0];
  for (int i = 0, j = 0;; ++i, ++j) {
    extent_t from = 1, to = 1;
    for (; i < x.rank && !has_factor(y, x.term[i]); ++i) from *= c.loop[x.term[i]].extent;
    for (; j < y.rank && !has_factor(x, y.term[j]); ++j) to *= c.loop[y.term[j]].extent;
    detail::expect_extent(c, "the dims that are made have a product of ", to, from);
    if (i == x.rank && j == y.rank) break;
    expect(i < x.rank && j < y.rank && x.term[i] == y.term[j], c, "dims that stay change their order");
  }
  detail::copy_elements(operand<T>(c, 0), result<T>(c, 0), c.result_elements(0));
}

template <class T>
void concat_kernel(const operator_call& c) {
  const factor_rule& r = *c.rule;
  const int axis = detail::joined_dim(c, r.result[0], r.operand, r.operand_count);
  detail::expect_extent(c, "the dim that is made has the extent ", c.loop[r.result[0].term[axis]].extent,
                        detail::joined_extent(c, r.operand, r.operand_count, axis));
  const_view<T> part[max_operands];
  for (int i = 0; i < r.operand_count; ++i) part[i] = detail::operand_block<T>(c, i);
  concat(static_cast<const const_view<T>*>(part), r.operand_count, detail::result_block<T>(c, 0), axis);
}

template <class T>
void split_kernel(const operator_call& c) {
  const factor_rule& r = *c.rule;
  const bool from_end = c.attributes->integer[0] < 0;
  const int axis = detail::joined_dim(c, r.operand[0], r.result, r.result_count);
  const extent_t whole = c.loop[r.operand[0].term[axis]].extent,
                 total = detail::joined_extent(c, r.result, r.result_count, axis);
  expect(total <= whole, c, "the parts are more than the whole");
  extent_t begin[max_dims] = {}, step[max_dims] = {};
  for (extent_t& s : step) s = 1;
  begin[axis] = from_end ? whole - total : 0;
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

}}}  // namespace hyperparallel::v0_2::kernels

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::transpose> = kernels::transpose_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::reshape> = kernels::reshape_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::concat> = kernels::concat_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::split> = kernels::split_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::slice> = kernels::slice_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::slice_gradient> = kernels::slice_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
