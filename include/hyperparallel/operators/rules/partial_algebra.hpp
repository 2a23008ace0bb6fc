// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which reductions pass through which function of elements: the partial algebra, function by function.
//
// A word says g(op x_r) = op' g(x_r) for all terms x_r, also those on which g is not defined: a square root takes terms
// of a min, which are no less than it, and not those of a max or of a product. Where it holds only away from overflow
// (an exponential of sums, whether a product is zero) the function refuses. A scalar c of `x + c` is added to every
// term, so sums refuse it and averages do not.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

enum class partial_algebra : unsigned char {
  opaque,       ///< refuses everything
  copies,       ///< x: everything passes
  casts,        ///< x in another type, rounding apart: truth values become 0 and 1, so `all` becomes min and `any` max
  scales,       ///< c · x for c of any sign: sum, avg
  thins,        ///< c · x for c ≥ 0, the same for each term: sum, avg, max, min
  shifts,       ///< x + c: avg, max, min
  negates,      ///< -x: sum, avg; max and min exchange
  rises,        ///< max, min
  rises_above,  ///< rises where x is large enough: min, whose terms are all at least the result
  falls,        ///< max and min exchange
  falls_above,  ///< falls where x is large enough: min becomes max
  multiplies,   ///< g(x · y) = g(x) · g(y): prod
  signs,        ///< rises and multiplies
  inverts_truth,  ///< not x: all and any exchange
  adds,           ///< x + y
  subtracts,      ///< x - y
  products,       ///< x · y
  quotients,      ///< x / y
  gates,          ///< g(x) · y: sum and avg of y
  takes_larger,   ///< max(x, y)
  takes_smaller,  ///< min(x, y)
  is_greater,     ///< x > y and x >= y, as truth values
  is_less,        ///< x < y and x <= y
  both,           ///< x and y
  either,         ///< x or y
  selects,        ///< y where x holds, else z
  overwrites,     ///< c where y holds, else x
};

namespace parts {

constexpr void each(partial_words& w, int operand, reduce_op in, reduce_op out) {
  say(w, operand, in, partial_mode::each, out);
}
constexpr void together(partial_words& w, unsigned operands, reduce_op op) {
  say_all(w, operands, op, partial_mode::together);
}

/// max passes as `of_max` and min as `of_min`.
constexpr void order(partial_words& w, int operand, reduce_op of_max, reduce_op of_min) {
  each(w, operand, reduce_op::max, of_max);
  each(w, operand, reduce_op::min, of_min);
}

}  // namespace parts

constexpr partial_words words_of(partial_algebra a) {
  using enum reduce_op;
  partial_words w = refuse_partials();
  switch (a) {
    case partial_algebra::opaque:
      break;
    case partial_algebra::copies:
      w = moves_elements(0b1u);
      break;
    case partial_algebra::casts:
      w = moves_elements(0b1u);
      parts::each(w, 0, all, min);
      parts::each(w, 0, any, max);
      break;
    case partial_algebra::scales:
      w = linear_in_each(0b1u);
      break;
    case partial_algebra::thins:
      w = linear_in_each(0b1u);
      rising(w, 0);
      break;
    case partial_algebra::shifts:
      parts::each(w, 0, avg, avg);
      rising(w, 0);
      break;
    case partial_algebra::negates:
      w = linear_in_each(0b1u);
      falling(w, 0);
      break;
    case partial_algebra::rises:
      rising(w, 0);
      break;
    case partial_algebra::rises_above:
      parts::each(w, 0, min, min);
      break;
    case partial_algebra::falls:
      falling(w, 0);
      break;
    case partial_algebra::falls_above:
      parts::each(w, 0, min, max);
      break;
    case partial_algebra::multiplies:
      parts::each(w, 0, prod, prod);
      break;
    case partial_algebra::signs:
      rising(w, 0);
      parts::each(w, 0, prod, prod);
      break;
    case partial_algebra::inverts_truth:
      parts::each(w, 0, all, any);
      parts::each(w, 0, any, all);
      break;
    case partial_algebra::adds:
      w = linear_together(0b11u);
      rising(w, 0);
      rising(w, 1);
      break;
    case partial_algebra::subtracts:
      w = linear_together(0b11u);
      rising(w, 0);
      falling(w, 1);
      break;
    case partial_algebra::products:
      w = linear_in_each(0b11u);
      parts::together(w, 0b11u, prod);
      break;
    case partial_algebra::quotients:
      w = linear_in_each(0b01u);
      parts::together(w, 0b11u, prod);
      break;
    case partial_algebra::gates:
      w = linear_in_each(0b10u);
      break;
    case partial_algebra::takes_larger:
      parts::together(w, 0b11u, max);
      for (int o = 0; o < 2; ++o) parts::each(w, o, min, min);
      break;
    case partial_algebra::takes_smaller:
      parts::together(w, 0b11u, min);
      for (int o = 0; o < 2; ++o) parts::each(w, o, max, max);
      break;
    case partial_algebra::is_greater:
      parts::order(w, 0, any, all);
      parts::order(w, 1, all, any);
      break;
    case partial_algebra::is_less:
      parts::order(w, 0, all, any);
      parts::order(w, 1, any, all);
      break;
    case partial_algebra::both:
      parts::together(w, 0b11u, all);
      for (int o = 0; o < 2; ++o) parts::each(w, o, any, any);
      break;
    case partial_algebra::either:
      parts::together(w, 0b11u, any);
      for (int o = 0; o < 2; ++o) parts::each(w, o, all, all);
      break;
    case partial_algebra::selects:
      w = moves_elements(0b110u, partial_mode::together);
      break;
    case partial_algebra::overwrites:
      w = writes_constant();
      break;
  }
  return w;
}

}}}  // namespace hyperparallel::v0_2::rules
