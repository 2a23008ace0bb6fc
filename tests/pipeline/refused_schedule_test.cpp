// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/refused_schedule.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/pipeline/schedule_list.hpp>

namespace hp = hyperparallel;

namespace {

TEST(refused_schedule, names_the_schedule_and_the_sizes) {
  const auto text = [&](const char* schedule, const hp::pipeline_shape& n) {
    return hp::text_of_refusal(hp::schedule_called(schedule)->check(n), schedule, n);
  };
  EXPECT_EQ(text("ZB-V", {4, 3, 6}), "schedule ZB-V has 2 stages on each rank, not 3");
  EXPECT_EQ(text("ZB-V", {4, 2, 0}), "a pipeline of 8 stages, 2 on each rank, and 0 micro-batches has a size below 1");
  EXPECT_EQ(text("DualPipe", {3, 1, 6}), "schedule DualPipe runs on a multiple of 2 ranks, not on 3");
  EXPECT_EQ(hp::text_of_refusal(hp::pipeline_status{}), "ok");
}

TEST(refused_schedule, every_code_has_a_sentence_without_gaps) {
  for (int c = 1; c <= static_cast<int>(hp::pipeline_code::waits_in_a_circle); ++c) {
    hp::pipeline_status s;
    s.code = static_cast<hp::pipeline_code>(c);
    s.rank = 1;
    s.needed = 2;
    static_cast<void>(s.cycle.push({0, 1, {}, {}}));
    const std::string text = hp::text_of_refusal(s, "mine", {2, 1, 4}, "ordered queues");
    EXPECT_NE(text.find(' '), std::string::npos) << name_of(s.code);
    EXPECT_EQ(text.find_first_of("{}[]"), std::string::npos) << text;
  }
}

}  // namespace
