// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/stepwise_move.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;

hp::refined_move refined(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s) {
  return hp::detail::refine_move(from, to, s, hp::plan_kind::exchange, hp::without_links);
}

hp::detail::stepwise_move axis_by_axis(const hp::refined_move& r, bool outer_first) {
  hp::detail::stepwise_move m = hp::detail::begin_move(r);
  hp::detail::step_to(m, r, hp::detail::sliced_state(r, m.state, false), hp::serving::nearest);
  hp::detail::reduce_axes(m, r, hp::detail::every_axis(r.mesh, !outer_first));
  hp::detail::move_axes_in(m, r, hp::detail::every_axis(r.mesh, outer_first));
  return m;
}

/// The axes along which some receiver of a step differs from a sender; bit a for axis a.
unsigned crossed_axes(const hp::move_step& step, const hp::shape& s) {
  unsigned crossed = 0;
  const hp::mesh_shape& m = step.source.mesh;
  for (int p = 0; p < hp::position_count(m); ++p) {
    const hp::step_receiver r = hp::receiver_of(step, s, p);
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(step, r, k);
      if (hp::volume(t.part) == 0) continue;
      const hp::coordinate a = hp::coordinates_of(m, p), b = hp::coordinates_of(m, t.sender);
      for (int i = 0; i < m.axis_count; ++i)
        if (a.at[i] != b.at[i]) crossed |= 1u << i;
    }
  }
  return crossed;
}

bool is_one_axis(unsigned mask) { return (mask & (mask - 1)) == 0; }

TEST(StepwiseMove, EndsInTheTargetAlongOneAxisAtATime) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{3, {2, 2, 2}}}) {
    const hp::shape s(16, 16);
    const std::vector<hp::layout_value> layouts =
        m.axis_count == 2 ? worlds::all_partial_layouts(m, 2, hp::reduce_op::sum) : worlds::all_layouts(m, 2);
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts)
        for (const bool outer_first : {true, false}) {
          const hp::refined_move r = refined(from, to, s);
          ASSERT_EQ(r.code, hp::refined_code::ok);
          const hp::detail::stepwise_move steps = axis_by_axis(r, outer_first);
          ASSERT_TRUE(steps.fits);
          ASSERT_EQ(steps.state, r.target);
          for (int k = 0; k < steps.plan.step_count; ++k)
            ASSERT_TRUE(is_one_axis(crossed_axes(steps.plan.step[k], r.blank.shape)));
        }
  }
}

TEST(StepwiseMove, OrdersOfAGather) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::refined_move r = refined(cut_by(m, 1, {{0, 0}, {0, 1}}), cut_by(m, 1, {}), hp::shape(16));
  const hp::detail::stepwise_move outer = axis_by_axis(r, true), inner = axis_by_axis(r, false);
  ASSERT_EQ(outer.plan.step_count, 2);
  ASSERT_EQ(inner.plan.step_count, 2);
  EXPECT_EQ(crossed_axes(outer.plan.step[0], r.blank.shape), 1u);
  EXPECT_EQ(crossed_axes(outer.plan.step[1], r.blank.shape), 2u);
  EXPECT_EQ(crossed_axes(inner.plan.step[0], r.blank.shape), 2u);
}

TEST(StepwiseMove, AnAllReduceScattersAndGathersBack) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::refined_move r = refined(cut_by(m, 1, {}, 3), cut_by(m, 1, {}), hp::shape(32));
  const hp::detail::stepwise_move steps = axis_by_axis(r, true);
  ASSERT_EQ(steps.plan.step_count, 4);
  const unsigned axes[] = {2, 1, 1, 2};  // inner reduce-scatter, outer both, inner gather
  const hp::extent_t pieces[] = {4, 8, 4, 1};
  for (int k = 0; k < 4; ++k) {
    const hp::move_step& step = steps.plan.step[k];
    EXPECT_EQ(crossed_axes(step, r.blank.shape), axes[k]);
    EXPECT_EQ(step.kind, k < 2 ? hp::step_kind::reduce : hp::step_kind::pull);
    EXPECT_EQ(32 / hp::volume(hp::target_frame(step, r.blank.shape, 0)), pieces[k]);
  }
}

TEST(StepwiseMove, ConstantSizeComesBeforeGathers) {
  // Axis 0 changes dims, axis 1 is gathered; whatever the order, the all-to-all is first.
  const hp::mesh_shape m{2, {2, 4}};
  const hp::refined_move r = refined(cut_by(m, 2, {{0, 0}, {0, 1}}), cut_by(m, 2, {{1, 0}}), hp::shape(16, 16));
  for (const bool outer_first : {true, false}) {
    const hp::detail::stepwise_move steps = axis_by_axis(r, outer_first);
    ASSERT_EQ(steps.plan.step_count, 2);
    EXPECT_EQ(crossed_axes(steps.plan.step[0], r.blank.shape), 1u);
    EXPECT_EQ(crossed_axes(steps.plan.step[1], r.blank.shape), 2u);
  }
}

TEST(StepwiseMove, AnIdleAxisTakesOverInTheSameStep) {
  const hp::mesh_shape m{2, {4, 4}};
  const hp::refined_move r = refined(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {{0, 1}}), hp::shape(16));
  const hp::detail::stepwise_move steps = axis_by_axis(r, true);
  ASSERT_EQ(steps.plan.step_count, 1);
  EXPECT_EQ(crossed_axes(steps.plan.step[0], r.blank.shape), 1u) << "from the row that the receiver shares";
}

TEST(StepwiseMove, ParkedStatesAreSliceableTargets) {
  const hp::mesh_shape m{2, {2, 4}};
  const std::vector<hp::layout_value> layouts = worlds::all_layouts(m, 2);
  for (const hp::layout_value& from : layouts)
    for (const hp::layout_value& to : layouts) {
      const hp::refined_move r = refined(from, to, hp::shape(16, 16));
      const hp::move_state parked = hp::detail::parked_state(r), sliced = hp::detail::sliced_state(r, r.source, true);
      for (int d = 0; d < r.blank.shape.rank; ++d) {
        if (r.target.owner[d].axis >= 0) {
          EXPECT_EQ(parked.owner[d], r.target.owner[d]);
        }
        if (r.source.owner[d].axis >= 0) {
          EXPECT_EQ(sliced.owner[d], r.source.owner[d]);
        }
      }
    }
}

TEST(StepwiseMove, StopsAtTheLimitOfSteps) {
  const hp::mesh_shape m{1, {2}};
  const hp::refined_move r = refined(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(4));
  hp::detail::stepwise_move steps = hp::detail::begin_move(r);
  for (int k = 0; k < hp::max_move_steps; ++k)
    hp::detail::step_to(steps, r, k % 2 == 0 ? r.target : r.source, hp::serving::nearest);
  EXPECT_TRUE(steps.fits);
  EXPECT_EQ(steps.plan.step_count, hp::max_move_steps);
  hp::detail::finish_move(steps, r, hp::serving::nearest);
  EXPECT_FALSE(steps.fits);
}

}  // namespace
