// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/extents.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/operators/operator_rule.hpp>

namespace hp = hyperparallel;

namespace {

static_assert(hp::extents<8, 4>::is_static && hp::extents<>::is_static && !hp::extents<8, hp::dyn>::is_static);
static_assert(hp::extents<8, hp::dyn, hp::dyn(16)>::declared == hp::shape{8, -1, -16});
static_assert(hp::extents<>::declared == hp::shape{});
static_assert(hp::matches(hp::shape{8, -1, -16}, hp::shape{8, 5, 32}));
static_assert(!hp::matches(hp::shape{8, -1, -16}, hp::shape{8, 5, 24}));
static_assert(!hp::matches(hp::shape{8, -1, -16}, hp::shape{7, 5, 32}));
static_assert(!hp::matches(hp::shape{8, -1}, hp::shape{8}));

template <class Rule, class... Shapes>
constexpr hp::shape results(const Rule& rule, const Shapes&... s) {
  const hp::shape list[] = {s...};
  return hp::detail::result_extents(rule, list, static_cast<int>(sizeof...(Shapes))).shape;
}

constexpr hp::factor_rule matmul = hp::ops::matmul::rule;
static_assert(results(matmul, hp::shape{8, 16}, hp::shape{16, 32}) == hp::shape{8, 32});
static_assert(results(matmul, hp::shape{-1, 16}, hp::shape{16, -4}) == hp::shape{-1, -4});
static_assert(results(matmul, hp::shape{8, -1}, hp::shape{-1, 32}) == hp::shape{8, 32});

// What one operand knows, or both promise, the result has.
constexpr hp::factor_rule sum = hp::rule_from("sum", "ab,ab->ab", {}).rule;
static_assert(results(sum, hp::shape{-1, -4}, hp::shape{8, -6}) == hp::shape{8, -12});

// Dims of several factors: the known one divides the multiple, or nothing is promised.
constexpr hp::factor_rule merge = hp::rule_from("merge", "a3->(a3)", {}).rule;
static_assert(results(merge, hp::shape{-4, 3}) == hp::shape{-12});
constexpr hp::factor_rule split = hp::rule_from("split", "(a3)->a3", {}).rule;
static_assert(results(split, hp::shape{-12}) == hp::shape(-4, 3));
static_assert(results(split, hp::shape{-4}) == hp::shape(-1, 3));

TEST(extents, statuses_of_known_extents_stay) {
  const hp::shape wrong[] = {{-1, 16}, {8, 32}};  // 16 is known and 8 is not 16
  const hp::extents_status s = hp::detail::result_extents(matmul, wrong, 2).status;
  EXPECT_EQ(s.code, hp::extents_code::factor_extents_differ);
  EXPECT_EQ(s.operand, 1);
  EXPECT_EQ(s.extent, 8);
  EXPECT_EQ(s.expected, 16);
  const hp::shape ranks[] = {hp::shape{-1}, {8, 32}};
  EXPECT_EQ(hp::detail::result_extents(matmul, ranks, 2).status.code, hp::extents_code::operand_rank_differs_from_rule);
  EXPECT_EQ(hp::detail::result_extents(matmul, wrong, 1).status.code,
            hp::extents_code::operand_count_differs_from_rule);
}

// What an operator creates with a dynamic extent leaves the dim dynamic, of the same multiple.
TEST(extents, a_created_factor_may_be_dynamic) {
  hp::factor_rule rows = hp::rule_from("rows", "b->rb", {}).rule;
  hp::factor& created = rows.factor[rows.result[0].term[0]];
  const hp::shape eight[] = {hp::shape{8}}, some[] = {hp::shape{-2}};
  created.extent = -4;
  EXPECT_EQ(hp::detail::result_extents(rows, eight, 1).shape, hp::shape(-4, 8));
  EXPECT_EQ(hp::detail::result_extents(rows, some, 1).shape, hp::shape(-4, -2));
  created.extent = 4;
  EXPECT_EQ(hp::detail::result_extents(rows, some, 1).shape, hp::shape(4, -2));
  created.extent = 0;
  EXPECT_EQ(hp::detail::result_extents(rows, eight, 1).status.code, hp::extents_code::factor_extent_is_not_known);
}

// Extents of what is refused have a rank, none is known, and the mark is theirs alone.
TEST(extents, refused_ones_are_marked) {
  using refused = hp::detail::refused_extents<2>;
  static_assert(hp::detail::is_refused_extents<refused> && !hp::detail::is_refused_extents<hp::extents<-1, -1>>);
  static_assert(refused::declared == hp::shape{-1, -1} && refused::rank == 2 && !refused::is_static);
  static_assert(hp::detail::refused_extents<0>::rank == 0);
}

TEST(extents, a_declared_result_matches_the_real_one) {
  for (hp::extent_t m = 1; m <= 12; ++m)
    for (hp::extent_t n = 4; n <= 12; n += 4) {
      const hp::shape declared[] = {{-1, 16}, {-1, -4}}, actual[] = {{m, 16}, {16, n}};
      const hp::shape result = hp::result_shape(matmul, actual, 2).shape;
      EXPECT_TRUE(hp::matches(hp::detail::result_extents(matmul, declared, 2).shape, result));
    }
}

}  // namespace
