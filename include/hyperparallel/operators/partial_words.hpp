// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an operator says about partial operands: per operand and per reduction one word.
//
// A tensor that is partial(op) along an axis is op over the devices of that axis of the terms that they hold. An
// operator g lets it pass where g(op_r x_r) = op'_r g(x_r):
//
//   each      with every other operand whole along the axis          product: (Σ x) · y = Σ (x · y)
//   together  with all operands of the group partial by the same op  sum: Σ x + Σ y = Σ (x + y)
//   joins     the operand is never partial itself; where the group is, it takes part by a fill
//   refuses   reduce first
//
// In `together` and `joins` a whole operand takes part by a *fill*, without communication: its value on the first
// device of the axis and the identity on the others (sum 0, prod 1), or unchanged where op is idempotent. A rule that
// says nothing at all is not a rule that refuses: it is an error to hand it a partial operand.

#include <cstdint>

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_operands = 8;
inline constexpr int reduce_op_count = 8;

enum class partial_mode : unsigned char { refuses, each, together, joins };

namespace detail {

/// How an operand that is partial by one reduction passes, and by which reduction the result is then partial.
struct partial_word {
  partial_mode mode = partial_mode::refuses;
  reduce_op out = reduce_op::none;
  friend constexpr bool operator==(const partial_word&, const partial_word&) = default;
};

}  // namespace detail

/// Words of all operands; eight bits a word, so that a rule stays small.
struct partial_words {
  bool stated = false;
  std::uint64_t operand[max_operands] = {};
  friend constexpr bool operator==(const partial_words&, const partial_words&) = default;
};

namespace detail {

constexpr partial_word word_of(const partial_words& w, int operand, reduce_op in) {
  const unsigned bits = static_cast<unsigned>(w.operand[operand] >> (8 * static_cast<int>(in)) & 0xffu);
  return {static_cast<partial_mode>(bits & 3u), static_cast<reduce_op>(bits >> 2)};
}

}  // namespace detail

constexpr void say(partial_words& w, int operand, reduce_op in, partial_mode mode, reduce_op out) {
  const int shift = 8 * static_cast<int>(in);
  const std::uint64_t bits = static_cast<std::uint64_t>(mode) | static_cast<std::uint64_t>(out) << 2;
  w.stated = true;
  w.operand[operand] = (w.operand[operand] & ~(std::uint64_t{0xff} << shift)) | bits << shift;
}

namespace detail {

/// The first operand below `operands` that is partial `together` with an earlier one and says another reduction of the
/// result; -1 where each group agrees. What a group gives is one tensor, so it has one reduction.
constexpr int operand_that_differs_from_its_group(const partial_words& w, int operands) {
  for (int in = 1; in < reduce_op_count && w.stated; ++in) {
    int first = -1;
    for (int o = 0; o < operands; ++o) {
      const partial_word word = word_of(w, o, static_cast<reduce_op>(in));
      if (word.mode != partial_mode::together) continue;
      if (first < 0) first = o;
      if (word.out != word_of(w, first, static_cast<reduce_op>(in)).out) return o;
    }
  }
  return -1;
}

/// Says `mode` of reduction `op`, kept as it is, for the operands of `mask`.
constexpr void say_all(partial_words& w, unsigned mask, reduce_op op, partial_mode mode) {
  for (int o = 0; o < max_operands; ++o)
    if ((mask >> o & 1u) != 0) say(w, o, op, mode, op);
}

}  // namespace detail

/// Every partial operand must be reduced first, and the rule says so.
constexpr partial_words refuse_partials() {
  partial_words w;
  w.stated = true;
  return w;
}

/// Linear in each operand of `mask` with the others fixed: products, and all linear functions of one operand.
constexpr partial_words linear_in_each(unsigned mask) {
  partial_words w = refuse_partials();
  detail::say_all(w, mask, reduce_op::sum, partial_mode::each);
  detail::say_all(w, mask, reduce_op::avg, partial_mode::each);
  return w;
}

/// Linear in the operands of `mask` taken together: sums and differences.
constexpr partial_words linear_together(unsigned mask) {
  partial_words w = refuse_partials();
  detail::say_all(w, mask, reduce_op::sum, partial_mode::together);
  detail::say_all(w, mask, reduce_op::avg, partial_mode::together);
  return w;
}

/// Elements are moved, repeated or dropped, not computed with: every reduction passes. Operands of `mask` hold the
/// elements and are partial `mode` each or together; other operands (indices) refuse.
constexpr partial_words moves_elements(unsigned mask, partial_mode mode = partial_mode::each) {
  partial_words w = refuse_partials();
  for (int op = 1; op < reduce_op_count; ++op) detail::say_all(w, mask, static_cast<reduce_op>(op), mode);
  return w;
}

namespace detail {

/// A rising function of one operand keeps max and min; a falling one exchanges them.
constexpr partial_words rising(partial_words w, int operand) {
  say(w, operand, reduce_op::max, partial_mode::each, reduce_op::max);
  say(w, operand, reduce_op::min, partial_mode::each, reduce_op::min);
  return w;
}
constexpr partial_words falling(partial_words w, int operand) {
  say(w, operand, reduce_op::max, partial_mode::each, reduce_op::min);
  say(w, operand, reduce_op::min, partial_mode::each, reduce_op::max);
  return w;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
