// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which reductions pass through which function of elements: the partial algebra. What an operator says as `partials`.
//
// A word says g(op x_r) = op' g(x_r) for all terms x_r, also those on which g is not defined: a square root takes terms
// of a min, which are no less than it, and not those of a max or of a product. Where it holds only away from overflow
// (an exponential of sums, whether a product is zero) the function refuses. A scalar c of `x + c` is added to every
// term, so sums refuse it and averages do not.

#include <hyperparallel/operators/partial_words.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace partial_algebra {

/// The words `w`, and that operand `operand` passes alone: reductions by `in`, which leave one by `out`.
constexpr partial_words each(partial_words w, int operand, reduce_op in, reduce_op out) {
  say(w, operand, in, partial_mode::each, out);
  return w;
}
/// The words `w`, and that both operands pass where they are partial alike, by `op`.
constexpr partial_words both_by(partial_words w, reduce_op op) {
  hyperparallel::detail::say_all(w, 0b11u, op, partial_mode::together);
  return w;
}
/// The same, and that either of them alone passes by `alone`.
constexpr partial_words both_or_one(reduce_op both, reduce_op alone) {
  return each(each(both_by(refuse_partials(), both), 0, alone, alone), 1, alone, alone);
}
/// max and min of operand 0 become `of_max` and `of_min`, those of operand 1 the other.
constexpr partial_words compared(reduce_op of_max, reduce_op of_min) {
  const partial_words first = each(each(refuse_partials(), 0, reduce_op::max, of_max), 0, reduce_op::min, of_min);
  return each(each(first, 1, reduce_op::max, of_min), 1, reduce_op::min, of_max);
}

// Of one operand.

/// Refuses everything.
inline constexpr partial_words opaque = refuse_partials();
/// x: everything passes.
inline constexpr partial_words copies = moves_elements(0b1u);
/// x in another type, rounding apart: truth values become 0 and 1, so `all` becomes min and `any` max.
inline constexpr partial_words casts =
    each(each(copies, 0, reduce_op::all, reduce_op::min), 0, reduce_op::any, reduce_op::max);
/// c · x for c of any sign: sum, avg.
inline constexpr partial_words scales = linear_in_each(0b1u);
/// max, min.
inline constexpr partial_words rises = hyperparallel::detail::rising(opaque, 0);
/// x + c: avg, max, min.
inline constexpr partial_words shifts = each(rises, 0, reduce_op::avg, reduce_op::avg);
/// Rises where x is large enough: min, whose terms are all at least the result.
inline constexpr partial_words rises_above = each(opaque, 0, reduce_op::min, reduce_op::min);
/// max and min exchange.
inline constexpr partial_words falls = hyperparallel::detail::falling(opaque, 0);
/// Falls where x is large enough: min becomes max.
inline constexpr partial_words falls_above = each(opaque, 0, reduce_op::min, reduce_op::max);
/// g(x · y) = g(x) · g(y): prod.
inline constexpr partial_words multiplies = each(opaque, 0, reduce_op::prod, reduce_op::prod);
/// Rises and multiplies.
inline constexpr partial_words signs = hyperparallel::detail::rising(multiplies, 0);
/// not x: all and any exchange.
inline constexpr partial_words inverts_truth =
    each(each(opaque, 0, reduce_op::all, reduce_op::any), 0, reduce_op::any, reduce_op::all);
/// A constant over elements of x: it is in every term, so the reductions pass that are idempotent, and sums and products
/// do not.
inline constexpr partial_words overwrites = [] {
  partial_words w = opaque;
  for (int i = 1; i < reduce_op_count; ++i)
    if (const reduce_op op = static_cast<reduce_op>(i); hyperparallel::detail::is_idempotent(op))
      w = each(w, 0, op, op);
  return w;
}();

// Of several.

/// x + y, of any number of operands.
inline constexpr partial_words adds = [] {
  partial_words w = linear_together(~0u);
  for (int o = 0; o < max_operands; ++o) w = hyperparallel::detail::rising(w, o);
  return w;
}();
/// x - y.
inline constexpr partial_words subtracts =
    hyperparallel::detail::falling(hyperparallel::detail::rising(linear_together(~0u), 0), 1);
/// x · y.
inline constexpr partial_words products = both_by(linear_in_each(0b11u), reduce_op::prod);
/// x / y.
inline constexpr partial_words quotients = both_by(linear_in_each(0b01u), reduce_op::prod);
inline constexpr partial_words takes_larger = both_or_one(reduce_op::max, reduce_op::min);
inline constexpr partial_words takes_smaller = both_or_one(reduce_op::min, reduce_op::max);
/// x > y and x >= y, as truth values.
inline constexpr partial_words is_greater = compared(reduce_op::any, reduce_op::all);
/// x < y and x <= y.
inline constexpr partial_words is_less = compared(reduce_op::all, reduce_op::any);
/// x and y.
inline constexpr partial_words both = both_or_one(reduce_op::all, reduce_op::any);
/// x or y.
inline constexpr partial_words either = both_or_one(reduce_op::any, reduce_op::all);
/// y where x holds, else z.
inline constexpr partial_words selects = moves_elements(0b110u, partial_mode::together);

}}}  // namespace hyperparallel::v0_2::partial_algebra
