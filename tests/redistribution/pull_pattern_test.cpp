// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/pull_pattern.hpp>

#include <hyperparallel/redistribution/move_plan.hpp>
#include <hyperparallel/redistribution/pattern_maker.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;
using worlds::levels;
using worlds::link;

struct counted {
  bool told = false;
  hp::detail::pull_pattern pattern{};
  hp::detail::level_counts taken{}, given{};
};

/// Step `k` of the plan by fewest bytes.
counted count(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s, const hp::topology_value& t,
              int k = 0) {
  counted c;
  const hp::move_plan plan = hp::plan_move(from, to, s);
  hp::detail::step_digits digits;
  if (!hp::detail::digits_of_step(plan.step[k], s, digits)) return c;
  if (!hp::detail::pattern_maker{digits, c.pattern}.make(t)) return c;
  hp::extent_t active = 0, own = 0, unused = 1;
  auto receivers = hp::detail::seen_by_receivers(c.pattern, active);
  auto senders = hp::detail::seen_by_senders(c.pattern, receivers.known);
  own = active;
  c.taken = hp::detail::count_messages(c.pattern, receivers, own);
  c.given = hp::detail::count_messages(c.pattern, senders, unused);
  c.told = true;
  return c;
}

TEST(PullPattern, OfAGatherCountsThePeersOnEachLevel) {
  const hp::mesh_shape m{1, {64}};
  const counted c =
      count(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(640), levels({link(9, 1, 2), link(3, 1, 8), link(1)}));
  ASSERT_TRUE(c.told);
  EXPECT_EQ(c.pattern.digits.count, 3);
  EXPECT_EQ(c.taken.of[0], 1);
  EXPECT_EQ(c.taken.of[1], 6);
  EXPECT_EQ(c.taken.of[2], 56);
  EXPECT_EQ(c.given.of[2], 56);
}

TEST(PullPattern, OfATransposeFindsTheDevicesThatMeetOnTheInnerLevel) {
  const hp::mesh_shape m{2, {4, 4}};
  const counted c = count(cut_by(m, 1, {{0, 0}, {0, 1}}), cut_by(m, 1, {{0, 1}, {0, 0}}), hp::shape(16),
                          levels({link(9, 1, 4), link(1)}));
  ASSERT_TRUE(c.told);
  // Within a node rows and columns agree for one device alone, which takes nothing; across nodes each takes one block.
  EXPECT_EQ(c.taken.of[0], 0);
  EXPECT_EQ(c.taken.of[1], 1);
  EXPECT_EQ(c.given.of[1], 1);
}

TEST(PullPattern, OfSharesTellsHowTheyAreDealt) {
  const hp::mesh_shape m{1, {8}};
  const hp::layout_value terms = cut_by(m, 1, {}, 1), whole = cut_by(m, 1, {});
  const counted collect = count(terms, whole, hp::shape(20), levels({link(9, 1, 4), link(1)}));
  const counted spread = count(terms, whole, hp::shape(20), levels({link(9, 1, 4), link(1)}), 1);
  ASSERT_TRUE(collect.told && spread.told);
  EXPECT_EQ(collect.pattern.shares, 8);
  EXPECT_EQ(collect.pattern.planes, 20);
  EXPECT_EQ(collect.pattern.chunk, 3);
  EXPECT_FALSE(collect.pattern.spreads);
  EXPECT_TRUE(spread.pattern.spreads);
  EXPECT_EQ(collect.taken.of[0], 3);
  EXPECT_EQ(spread.taken.of[1], 4);
}

TEST(PullPattern, WhereNothingNestsThereIsNone) {
  const hp::mesh_shape m{1, {12}};
  EXPECT_FALSE(count(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(24), levels({link(9, 1, 8), link(1)})).told);
  EXPECT_TRUE(count(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(24), levels({link(9, 1, 6), link(1)})).told);
}

TEST(PullPattern, OfDevicesThatNoLevelJoinsSaysSo) {
  const hp::mesh_shape m{1, {12}};
  const counted c = count(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(24), levels({link(9, 1, 6)}));
  EXPECT_EQ(c.taken.of[hp::not_connected], 6);
}

}  // namespace
