// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/partial_words.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace {

namespace hp = hyperparallel;
using hp::partial_mode;
using hp::reduce_op;

constexpr partial_mode modes[] = {partial_mode::refuses, partial_mode::each, partial_mode::together,
                                  partial_mode::joins};

TEST(PartialWords, EveryWordIsKeptAndNoOtherChanges) {
  for (int operand = 0; operand < hp::max_operands; ++operand)
    for (int in = 0; in < hp::reduce_op_count; ++in)
      for (const partial_mode mode : modes)
        for (int out = 0; out < hp::reduce_op_count; ++out) {
          hp::partial_words w = hp::moves_elements(0xffu, partial_mode::together);
          const hp::partial_words before = w;
          hp::say(w, operand, static_cast<reduce_op>(in), mode, static_cast<reduce_op>(out));
          EXPECT_TRUE(w.stated);
          for (int o = 0; o < hp::max_operands; ++o)
            for (int i = 0; i < hp::reduce_op_count; ++i) {
              const reduce_op op = static_cast<reduce_op>(i);
              const bool said = o == operand && i == in;
              const hp::detail::partial_word expected =
                  said ? hp::detail::partial_word{mode, static_cast<reduce_op>(out)}
                       : hp::detail::word_of(before, o, op);
              ASSERT_EQ(hp::detail::word_of(w, o, op), expected);
            }
        }
}

static_assert(!hp::partial_words{}.stated);
static_assert(hp::refuse_partials().stated && hp::refuse_partials() != hp::partial_words{});
static_assert(hp::detail::word_of(hp::refuse_partials(), 7, reduce_op::any) == hp::detail::partial_word{});

/// Which of sum, max, min, avg, prod, all, any an operand lets pass unchanged, as bits.
constexpr unsigned kept(const hp::partial_words& w, int operand, partial_mode mode) {
  unsigned ops = 0;
  for (int i = 1; i < hp::reduce_op_count; ++i)
    if (hp::detail::word_of(w, operand, static_cast<reduce_op>(i)) ==
        hp::detail::partial_word{mode, static_cast<reduce_op>(i)})
      ops |= 1u << i;
  return ops;
}
constexpr unsigned linear = 1u << static_cast<int>(reduce_op::sum) | 1u << static_cast<int>(reduce_op::avg);
static_assert(kept(hp::linear_in_each(0b101u), 0, partial_mode::each) == linear);
static_assert(kept(hp::linear_in_each(0b101u), 1, partial_mode::refuses) == 0);
static_assert(hp::detail::word_of(hp::linear_in_each(0b101u), 1, reduce_op::sum) == hp::detail::partial_word{});
static_assert(kept(hp::linear_together(0b011u), 1, partial_mode::together) == linear);
static_assert(kept(hp::moves_elements(0b10u), 1, partial_mode::each) == 0xfeu);
static_assert(hp::detail::word_of(hp::moves_elements(0b10u), 0, reduce_op::max) == hp::detail::partial_word{});

constexpr bool exchanges() {
  const hp::partial_words up = hp::detail::rising(hp::refuse_partials(), 2),
                          down = hp::detail::falling(hp::refuse_partials(), 2);
  return hp::detail::word_of(up, 2, reduce_op::max) == hp::detail::partial_word{partial_mode::each, reduce_op::max} &&
         hp::detail::word_of(up, 2, reduce_op::min) == hp::detail::partial_word{partial_mode::each, reduce_op::min} &&
         hp::detail::word_of(down, 2, reduce_op::max) == hp::detail::partial_word{partial_mode::each, reduce_op::min} &&
         hp::detail::word_of(down, 2, reduce_op::min) == hp::detail::partial_word{partial_mode::each, reduce_op::max} &&
         hp::detail::word_of(up, 2, reduce_op::sum) == hp::detail::partial_word{};
}
static_assert(exchanges());

// Operands that are partial together give one tensor, of one reduction. Operands that are partial each have their own.
constexpr hp::partial_words pair_of(partial_mode mode, reduce_op first, reduce_op second) {
  hp::partial_words w = hp::linear_together(0b11u);
  hp::say(w, 0, reduce_op::max, mode, first);
  hp::say(w, 2, reduce_op::max, mode, second);
  return w;
}
static_assert(hp::detail::operand_that_differs_from_its_group({}, 8) == -1);
static_assert(hp::detail::operand_that_differs_from_its_group(pair_of(partial_mode::together, reduce_op::min,
                                                                      reduce_op::min),
                                                              3) == -1);
static_assert(hp::detail::operand_that_differs_from_its_group(pair_of(partial_mode::together, reduce_op::max,
                                                                      reduce_op::min),
                                                              3) == 2);
static_assert(hp::detail::operand_that_differs_from_its_group(pair_of(partial_mode::together, reduce_op::max,
                                                                      reduce_op::min),
                                                              2) == -1);
static_assert(hp::detail::operand_that_differs_from_its_group(pair_of(partial_mode::each, reduce_op::max,
                                                                      reduce_op::min),
                                                              3) == -1);

// The reductions as numbers, on terms that divide by the number of devices.
int reduced(reduce_op op, int x, int y) {
  switch (op) {
    case reduce_op::sum:
      return x + y;
    case reduce_op::max:
      return std::max(x, y);
    case reduce_op::min:
      return std::min(x, y);
    case reduce_op::avg:
      return (x + y) / 2;
    case reduce_op::prod:
      return x * y;
    case reduce_op::all:
      return x != 0 && y != 0 ? 1 : 0;
    default:
      return x != 0 || y != 0 ? 1 : 0;
  }
}
bool is_truth(reduce_op op) { return op == reduce_op::all || op == reduce_op::any; }

TEST(PartialWords, IdempotentReductionsLeaveCopiesAsTheyAre) {
  for (int i = 1; i < hp::reduce_op_count; ++i) {
    const reduce_op op = static_cast<reduce_op>(i);
    bool same = true;
    for (const int x : is_truth(op) ? std::array{0, 1, 1} : std::array{-4, 0, 8}) same = same && reduced(op, x, x) == x;
    EXPECT_EQ(hp::detail::is_idempotent(op), same) << hp::name_of(op);
  }
}

// Two reductions commute iff they give every matrix of terms one value, rows or columns first.
TEST(PartialWords, ReductionsCommuteIffTheirOrderDoesNotMatter) {
  for (int i = 1; i < hp::reduce_op_count; ++i)
    for (int j = 1; j < hp::reduce_op_count; ++j) {
      const reduce_op a = static_cast<reduce_op>(i), b = static_cast<reduce_op>(j);
      if (is_truth(a) != is_truth(b)) {  // never on one tensor: the one takes numbers, the other truth values
        EXPECT_FALSE(hp::commute(a, b));
        continue;
      }
      bool same = true;
      const int from = is_truth(a) ? 0 : -4, to = is_truth(a) ? 1 : 8, step = is_truth(a) ? 1 : 4;
      for (int w = from; w <= to; w += step)
        for (int x = from; x <= to; x += step)
          for (int y = from; y <= to; y += step)
            for (int z = from; z <= to; z += step)
              same = same &&
                     reduced(a, reduced(b, w, x), reduced(b, y, z)) == reduced(b, reduced(a, w, y), reduced(a, x, z));
      EXPECT_EQ(hp::commute(a, b), same) << hp::name_of(a) << ' ' << hp::name_of(b);
    }
}

}  // namespace
