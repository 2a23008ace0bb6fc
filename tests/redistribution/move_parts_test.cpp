// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/move_parts.hpp>

#include <hyperparallel/redistribution/certificate.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;

hp::move_parts one_part(const hp::move_plan& p) {
  hp::move_parts m;
  m.count = 1;
  m.part[0] = p;
  return m;
}

TEST(MoveParts, CountLikeTheCertificate) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::shape s(8, 16);
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
  for (const hp::layout_value& source : layouts)
    for (const hp::layout_value& target : layouts) {
      const hp::move_plan plan = hp::plan_move(source, target, s);
      const hp::move_figures f = worlds::figures(one_part(plan), hp::without_links, 1, 8);
      std::vector<hp::extent_t> tally(24);
      const hp::move_certificate c = hp::certify(plan, tally.data());
      ASSERT_EQ(f.received_total, c.received_total);
      ASSERT_EQ(f.received_maximum, c.received_maximum);
      ASSERT_EQ(f.sent_maximum, c.sent_maximum);
      ASSERT_EQ(f.messages_maximum, c.messages_maximum);
      ASSERT_EQ(f.steps, c.steps);
      ASSERT_LE(f.peak_elements, c.peak_elements) << "a source that is given up takes no more room";
    }
}

TEST(MoveParts, PeakOfStepsThatMoveAndOfSlices) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::shape s(16);
  const hp::layout_value whole = cut_by(m, 1, {}), rows = cut_by(m, 1, {{0, 0}}), all = cut_by(m, 1, {{0, 0}, {0, 1}});
  EXPECT_EQ(worlds::figures(one_part(hp::plan_move(rows, whole, s)), hp::without_links, 1, 4).peak_elements, 8 + 16);
  EXPECT_EQ(worlds::figures(one_part(hp::plan_move(whole, all, s)), hp::without_links, 1, 4).peak_elements, 16)
      << "in place";
  EXPECT_EQ(worlds::figures(one_part(hp::plan_move(all, all, s)), hp::without_links, 1, 4), hp::move_figures{});
}

TEST(MoveParts, TwoPartsReceiveWhatOneDoes) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::layout_value from = cut_by(m, 2, {{0, 0}, {0, 1}}), to = cut_by(m, 2, {});
  const hp::move_figures one =
      worlds::figures(one_part(hp::plan_move(from, to, hp::shape(8, 10))), hp::without_links, 1, 4);
  for (const hp::extent_t split : {1, 5, 9}) {
    hp::move_parts two;
    two.count = 2;
    two.dim = 1;
    two.split = split;
    two.part[0] = hp::plan_move(from, to, hp::shape(8, split));
    two.part[1] = hp::plan_move(from, to, hp::shape(8, 10 - split));
    EXPECT_EQ(worlds::trouble_of(from, to, hp::shape(8, 10), two), "");
    const hp::move_figures f = worlds::figures(two, hp::without_links, 1, 4);
    EXPECT_EQ(f.received_total, one.received_total);
    EXPECT_EQ(f.received_maximum, one.received_maximum);
    EXPECT_EQ(f.peak_elements, one.peak_elements);
    EXPECT_EQ(f.steps, one.steps);
    EXPECT_EQ(f.messages_maximum, 2 * one.messages_maximum);
  }
}

TEST(MoveParts, APartThatEndsEarlyKeepsItsBlock) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::layout_value rows = cut_by(m, 1, {{0, 0}}), all = cut_by(m, 1, {{0, 0}, {0, 1}}), whole = cut_by(m, 1, {});
  hp::move_parts two;  // a slice in place, then nothing, beside a gather in two steps
  two.count = 2;
  two.part[0] = hp::plan_move(whole, all, hp::shape(8));
  two.part[1] = hp::plan_move(all, rows, hp::shape(8));
  two.part[1].step[1] = hp::plan_move(rows, whole, hp::shape(8)).step[0];
  two.part[1].step_count = 2;
  ASSERT_EQ(two.part[0].step_count, 1);
  const hp::move_figures f = worlds::figures(two, hp::without_links, 1, 4);
  EXPECT_EQ(f.steps, 2);
  EXPECT_EQ(f.peak_elements, 16) << "8 + 2 beside 2 + 4 in the first step, 2 beside 4 + 8 in the second";
}

TEST(MoveParts, LinksThatAreRefusedAreNamed) {
  const hp::mesh_shape m{1, {2}};
  const hp::move_parts move = one_part(hp::plan_move(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(8)));
  const hp::interconnect broken = hp::on_topology(worlds::levels({worlds::link(0)}));
  const hp::move_figures f = worlds::figures(move, broken, 1, 2);
  EXPECT_EQ(f.time.code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(f.received_total, 8);
}

}  // namespace
