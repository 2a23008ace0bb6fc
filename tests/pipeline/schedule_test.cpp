// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/schedule.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct everything {
  static constexpr const char* name = "everything";
  static constexpr hp::stage_placement placement = hp::stage_placement::v;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape& n) {
    if (n.chunks != 2) return {.code = hp::pipeline_code::chunks_are_fixed, .needed = 2};
    return {};
  }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    const int last = n.stages() - 1 - rank;
    out.idle(rank);
    out.forward(rank, 0);
    out.forward(last, 0);
    out.input_gradient(last, 0);
    out.weight_gradient(last, 0);
    out.overlapped(rank, 1, rank, 0);
    out.backward(rank, 2);  // of three micro-batches the last: idle where there are two
    out.put({hp::action_kind::reduce_gradient, rank, 0});
  }
};

TEST(pipeline_schedule, rows_hold_what_was_written_in_order) {
  static_assert(hp::schedule_generator<everything>);
  const hp::pipeline_schedule s = hp::generate<everything>({2, 2, 2}, true);
  ASSERT_EQ(s.stages, 4);
  ASSERT_EQ(s.first.size, 3);
  EXPECT_EQ(s.row_size(0), 8);
  EXPECT_EQ(s.row_size(1), 9);
  EXPECT_EQ(s.action[s.first[0] + 6], hp::idle_slot);
  EXPECT_EQ(s.action[s.first[1]], hp::idle_slot);
  const auto at = [&](int i) { return s.coding().action(s.action[s.first[1] + i]); };
  EXPECT_EQ(at(1), (hp::pipeline_action{hp::action_kind::forward, 1, 0}));
  EXPECT_EQ(at(2), (hp::pipeline_action{hp::action_kind::forward, 2, 0}));
  EXPECT_EQ(at(5), (hp::pipeline_action{hp::action_kind::overlapped_forward, 1, 1}));
  EXPECT_EQ(at(6), (hp::pipeline_action{hp::action_kind::backward, 1, 0}));
  EXPECT_EQ(at(8), (hp::pipeline_action{hp::action_kind::reduce_gradient, 1, 0}));
}

TEST(pipeline_schedule, idle_slots_are_left_out_unless_asked_for) {
  const hp::pipeline_schedule s = hp::generate<everything>({2, 2, 2});
  for (const int x : s.action) EXPECT_NE(x, hp::idle_slot);
  EXPECT_EQ(s.action.size, 14);
}

TEST(pipeline_schedule, both_storages_hold_the_same) {
  constexpr hp::pipeline_shape n{3, 2, 4};
  static constexpr auto fixed = hp::generate<everything, hp::detail::fixed_pipeline_sizes<n>>(n);
  const hp::pipeline_schedule grown = hp::generate<everything>(n);
  ASSERT_EQ(fixed.action.size, grown.action.size);
  for (int i = 0; i < grown.action.size; ++i) EXPECT_EQ(fixed.action[i], grown.action[i]);
  for (int r = 0; r <= n.ranks; ++r) EXPECT_EQ(fixed.first[r], grown.first[r]);
  for (int t = 0; t < n.stages(); ++t) EXPECT_EQ(fixed.rank_of_stage[t], grown.rank_of_stage[t]);
}

TEST(pipeline_schedule, a_shape_is_refused_by_its_sizes_and_by_the_schedule) {
  EXPECT_EQ(hp::check_shape_of<everything>({2, 2, 0}).code, hp::pipeline_code::sizes_are_not_positive);
  EXPECT_EQ(hp::check_shape_of<everything>({2, 3, 4}).needed, 2);
  EXPECT_TRUE(hp::check_shape_of<everything>({2, 2, 4}).ok());
}

}  // namespace
