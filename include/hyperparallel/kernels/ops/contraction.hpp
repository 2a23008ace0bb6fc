// SPDX-License-Identifier: Apache-2.0
#pragma once
// Contraction: the einsum of two operands over dense blocks, as a batch of matrix products.
//
// Loops are left (in the first operand and the result), right (in the second and the result), reduced (in no result) or
// of the batch (the rest); offsets of each class are tabled once, so dims may lie in any order.
// Law: an element is summed as `blocked_product` sums, over the reduced loops in the order of the first operand, then
// of the second; it depends on no other loop, so any cut of those gives the same bits. O(points of all loops).

#include <utility>

#include <hyperparallel/kernels/blocked_product.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// Offsets of the points of a contraction's classes of loops in its three blocks.
struct contraction_tables {
  std::vector<extent_t> left[2], right[2], reduced[2];  ///< [0] in the operand, [1] in the result; reduced: in a, in b
};

struct contraction_loops {
  loop_list left, right, reduced, batch;
};

inline contraction_loops classify(const factor_rule& rule) {
  const tensor_factors &a = rule.operand[0], &b = rule.operand[1], &r = rule.result[0];
  contraction_loops loops;
  loops.left = loops_of(r, {&a}, {&b});
  loops.right = loops_of(r, {&b}, {&a});
  for (int d = 0; d < r.rank; ++d)
    if (has_factor(a, r.term[d]) == has_factor(b, r.term[d])) loops.batch.push(r.term[d]);
  loops.reduced = loops_of(a, {}, {&r});
  const loop_list second = loops_of(b, {}, {&a, &r});
  for (int i = 0; i < second.count; ++i) loops.reduced.push(second.loop[i]);
  return loops;
}

/// Lanes are columns: the side with room for them goes right, and of two the one whose elements lie side by side in the
/// result.
inline bool left_goes_right(const operator_call& c, const loop_list& left, const loop_list& right, extent_t lanes) {
  const extent_t rows = points_of(c, left), columns = points_of(c, right);
  if (rows < lanes || columns < lanes) return columns < lanes && rows > columns;
  const tensor_factors& r = c.rule->result[0];
  return left.count > 0 && r.rank > 0 && left.loop[left.count - 1] == r.term[r.rank - 1];
}

/// One element of the product by itself, summed as the product sums.
template <class T>
HYPERPARALLEL_EXACT T single_product(const T* a, const T* b, const extent_t* in_a, const extent_t* in_b, extent_t k) {
  HYPERPARALLEL_EXACT_BODY
  T total{};
  for (extent_t p = 0; p < k; p += panel_depth) {
    T part{};
    const extent_t end = k - p < panel_depth ? k : p + panel_depth;
    for (extent_t q = p; q < end; ++q) part += a[in_a[q]] * b[in_b[q]];
    total = p == 0 ? part : total + part;
  }
  return total;
}

}  // namespace detail

template <class T>
void contract_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const detail::contraction_loops loops = detail::classify(rule);
  int first = 0, second = 1;
  detail::loop_list left = loops.left, right = loops.right;
  if (detail::left_goes_right(c, left, right, detail::strip_columns<T>)) {
    std::swap(left, right);
    std::swap(first, second);
  }
  const detail::loop_steps a = detail::steps_of(c, rule.operand[first]), b = detail::steps_of(c, rule.operand[second]),
                           r = detail::steps_of(c, rule.result[0]);
  static thread_local detail::contraction_tables t;
  detail::offsets_of(c, left, a, t.left[0]);
  detail::offsets_of(c, left, r, t.left[1]);
  detail::offsets_of(c, right, b, t.right[0]);
  detail::offsets_of(c, right, r, t.right[1]);
  detail::offsets_of(c, loops.reduced, a, t.reduced[0]);
  detail::offsets_of(c, loops.reduced, b, t.reduced[1]);
  const extent_t m = detail::points_of(c, left), n = detail::points_of(c, right),
                 k = detail::points_of(c, loops.reduced);
  const T* const in_a = operand<T>(c, first);
  const T* const in_b = operand<T>(c, second);
  T* const out = result<T>(c, 0);
  const detail::loop_steps steps[3] = {a, b, r};
  detail::for_each_point(c, loops.batch, steps, [&](const extent_t(&at)[3]) {
    if (m == 1 && n == 1) {
      out[at[2]] = detail::single_product(in_a + at[0], in_b + at[1], t.reduced[0].data(), t.reduced[1].data(), k);
      return;
    }
    using read = detail::matrix_in_memory<const T, detail::table_steps>;
    using write = detail::matrix_in_memory<T, detail::table_steps>;
    detail::blocked_product<T>(m, n, k, read{in_a + at[0], {t.left[0].data()}, {t.reduced[0].data()}},
                               read{in_b + at[1], {t.reduced[1].data()}, {t.right[0].data()}},
                               write{out + at[2], {t.left[1].data()}, {t.right[1].data()}});
  });
}

}}}  // namespace hyperparallel::v0_2::kernels

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::contract> = kernels::contract_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
