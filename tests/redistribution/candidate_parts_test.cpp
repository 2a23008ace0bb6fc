// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/candidate_parts.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "redistribution/small_candidates.hpp"

namespace {

namespace hp = hyperparallel;

/// The busiest device of each step, by walking over all of them.
TEST(candidate_parts, tell_what_the_busiest_device_of_each_step_receives) {
  int checked = 0;
  small_candidates::visit([&](const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                              hp::move_candidate candidate, const hp::interconnect& net, const hp::move_parts& built) {
    const hp::move_parts parts = hp::detail::parts_of_candidate(from, to, s, candidate, net);
    ASSERT_EQ(parts.count, built.count);
    hp::extent_t sum = 0;
    for (int i = 0; i < parts.count; ++i)
      for (int k = 0; k < parts.part[i].step_count; ++k) {
        hp::move_plan one;
        one.shape = parts.part[i].shape;
        one.step[one.step_count++] = parts.part[i].step[k];
        hp::extent_t most = 0;
        for (int q = 0; q < 4; ++q) most = hp::larger(most, hp::received_at(one, q));
        sum += most;
      }
    if (candidate == hp::move_candidate::exchange && parts.part[0].step_count == 2)
      return;  // one device for both steps
    ASSERT_EQ(hp::detail::most_received_by_steps(parts), sum) << hp::name_of(candidate);
    ++checked;
  });
  EXPECT_GT(checked, 1000);
}

}  // namespace
