// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a table by number: embedding, its gradient, and the pick of one element a row.
//
// Laws: numbers outside the box of the table's rows give zero (their rows lie elsewhere), so results over that loop are
// sums of parts; a number outside the whole table, or a label beyond the last column, is refused; repeated numbers add
// their gradients in the order in which they stand. O(elements).

#include <cstdint>
#include <cstring>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Throws std::invalid_argument: `number`, the one at `element` of the call's box, is none of `whole` rows or columns.
[[noreturn]] inline void refuse_index(const operator_call& c, extent_t element, extent_t number, extent_t whole) {
  throw std::invalid_argument(std::string(c.rule->name.text) + ": index " + std::to_string(number) + " at element " +
                              std::to_string(element) + " of its box, expected 0 to " + std::to_string(whole - 1));
}

/// ids, table -> rows.
template <class T>
void embed_kernel(const operator_call& c) {
  const tensor_factors& table = c.rule->operand[1];
  const loop_span rows = c.loop[table.term[0]];
  const extent_t width = c.loop[last_loop(c, table)].extent, n = c.operand_elements(0);
  const std::int32_t* const id = operand<std::int32_t>(c, 0);
  const T* const from = operand<T>(c, 1);
  T* const to = result<T>(c, 0);
  for (extent_t i = 0; i < n; ++i) {
    if (id[i] < 0 || id[i] >= rows.whole) refuse_index(c, i, id[i], rows.whole);
    const extent_t row = id[i] - rows.begin;
    if (row >= 0 && row < rows.extent)
      std::memcpy(to + i * width, from + row * width, static_cast<std::size_t>(width) * sizeof(T));
    else
      for (extent_t x = 0; x < width; ++x) to[i * width + x] = T(0);
  }
}

/// ids, dy -> d table.
template <class T>
void embed_gradient_kernel(const operator_call& c) {
  const tensor_factors& table = c.rule->result[0];
  const loop_span rows = c.loop[table.term[0]];
  const extent_t width = c.loop[last_loop(c, table)].extent, n = c.operand_elements(0);
  const std::int32_t* const id = operand<std::int32_t>(c, 0);
  const T* const dy = operand<T>(c, 1);
  T* const to = result<T>(c, 0);
  for (extent_t i = 0; i < rows.extent * width; ++i) to[i] = T(0);
  for (extent_t i = 0; i < n; ++i) {
    const extent_t row = id[i] - rows.begin;
    if (row >= 0 && row < rows.extent) add_row(width, dy + i * width, to + row * width);
  }
}

/// x, label -> x[label].
template <class T>
void pick_kernel(const operator_call& c) {
  const loop_span columns = c.loop[last_loop(c, c.rule->operand[0])];
  const T* const x = operand<T>(c, 0);
  const std::int32_t* const label = operand<std::int32_t>(c, 1);
  T* const to = result<T>(c, 0);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) {
    if (label[i] >= columns.whole) refuse_index(c, i, label[i], columns.whole);
    const extent_t column = label[i] - columns.begin;
    const bool here = label[i] >= 0 && column >= 0 && column < columns.extent;
    to[i] = here ? x[i * columns.extent + column] : T(0);
  }
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::embed> = kernels::detail::embed_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::embed_gradient> = kernels::detail::embed_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::pick> = kernels::detail::pick_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
