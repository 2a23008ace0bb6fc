// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_offload.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(FormatOffload, APlanByClass) {
  hp::step_offload o;
  o.budget = 24 * hp::GiB;
  o.least_budget = 6 * hp::GiB;
  o.peak[0] = 23 * hp::GiB;
  o.peak[1] = 40 * hp::GiB;
  o.step_time = 1'038'617'000'000;
  o.step_time_bound = 1'016'232'000'000;
  o.exposed = 22'385'000'000;
  o.bytes_in = 10 * hp::GiB;
  o.bytes_out = 9 * hp::GiB;
  o.share[static_cast<int>(hp::memory_class::parameters)] = {4 * hp::GiB, 11 * hp::GiB, 0};
  o.share[static_cast<int>(hp::memory_class::activations)] = {hp::GiB, 2 * hp::GiB, 3 * hp::GiB};
  o.operators = 40;
  o.storages = 105;
  o.gaps = 99;
  EXPECT_EQ(fmt::format("{}", o),
            "memory of a device    stays    leaves  is made again\n"
            "------------------  -------  --------  -------------\n"
            "parameters          4.0 GiB  11.0 GiB            0 B\n"
            "activations         1.0 GiB   2.0 GiB        3.0 GiB\n"
            "all                 5.0 GiB  13.0 GiB        3.0 GiB\n"
            "within 24.0 GiB: 23.0 GiB of it at the most, at least 6.0 GiB\n"
            "a step takes 1.039 s, no plan takes less than 1.016 s; 22.385 ms of it waits for copies\n"
            "copied in 10.0 GiB, out 9.0 GiB\n"
            "tier 1 holds 40.0 GiB\n"
            "planned as 40 operators, 105 groups of storages, 99 gaps\n");
}

TEST(FormatOffload, ARefusalIsOneLine) {
  hp::step_offload o;
  EXPECT_EQ(hp::to_text(o), "no budget\n");
  o.budget = hp::GiB;
  o.code = hp::offloading_code::budget_is_too_small;
  o.least_budget = 2 * hp::GiB;
  o.alive_count = 2;
  o.alive[0] = {hp::refusal_text("layers.0-31.gate"), hp::memory_class::activations, hp::GiB};
  o.alive[1] = {{}, hp::memory_class::buffers, hp::MiB};
  EXPECT_EQ(hp::to_text(o),
            "within 1.0 GiB: the budget is too small; at least 2.0 GiB are needed with layers.0-31.gate (1.0 GiB), "
            "temporaries (1.0 MiB)\n");
  o.code = hp::offloading_code::rules_are_refused;
  o.pattern = hp::refusal_text("x*");
  o.ruled.code = hp::offload_rule_code::pattern_matches_nothing;
  EXPECT_EQ(hp::to_text(o), "within 1.0 GiB: the rules are refused: \"x*\": the rule's pattern describes no storage\n");
  o.code = hp::offloading_code::not_planned;
  o.status.code = hp::offload_code::bandwidth_is_not_positive;
  EXPECT_EQ(hp::to_text(o), "within 1.0 GiB: the planner refuses the program: the link's bandwidth is not positive\n");
}

}  // namespace
