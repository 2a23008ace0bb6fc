// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/named_schedule.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/pipeline/schedules/zero_bubble_v.hpp>

namespace {

namespace hp = hyperparallel;

/// One micro-batch after the other: a schedule of one's own.
struct one_at_a_time {
  static constexpr const char* name = "one at a time";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape& n) { return hp::detail::check_chunks(n, 1); }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int m = 0; m < n.micro_batches; ++m) {
      out.forward(rank, m);
      out.backward(rank, m);
    }
  }
};

TEST(named_schedule, is_the_value_of_its_type) {
  constexpr hp::named_schedule mine = hp::schedule_value<one_at_a_time>, zb = hp::schedule_value<hp::zero_bubble_v>;
  EXPECT_STREQ(mine.name, "one at a time");
  EXPECT_EQ(mine.fixed_chunks, 1);
  EXPECT_EQ(zb.fixed_chunks, 2);
  EXPECT_TRUE(mine.check({3, 1, 2}).ok());
  EXPECT_FALSE(zb.check({3, 1, 2}).ok());
  const hp::pipeline_schedule s = mine.generate({3, 1, 2}, false);
  EXPECT_EQ(s.row_size(0), 4);
  EXPECT_EQ(s, hp::generate<one_at_a_time>({3, 1, 2}));
}

TEST(named_schedule, a_pipeline_has_as_many_stages_as_groups_have_chunks) {
  const hp::pipeline_value p{.schedule = &hp::schedule_value<hp::zero_bubble_v>, .ranks = 3, .chunks = 2};
  EXPECT_EQ(p.stages(), 6);
}

}  // namespace
