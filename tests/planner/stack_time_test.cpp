// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_time.hpp>

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/known_hardware.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "measured_runs.hpp"
#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using measured_runs::measured_run;

constexpr const hp::device_value& h100 = hp::h100::device;
constexpr hp::operator_rates rates = hp::detail::rates_of(h100);

double seconds(hp::extent_t picoseconds) { return static_cast<double>(picoseconds) / 1e12; }
double mean(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += std::abs(e);
  return sum / static_cast<double>(errors.size());
}

// Predicted against measured. Kernels are priced by operators that were measured alone; no time of these runs is fitted but what the
// host takes for an operator, hooks and a checkpoint.
TEST(StackTime, IsThatOfMeasuredRuns) {
  std::vector<double> fsdp2, transformers, forward;
  for (const measured_run& r : measured_runs::all()) {
    const hp::stack_time told = hp::stack_time_of(r.model, r.plan, *r.stack, h100);
    ASSERT_TRUE(told.ok());
    EXPECT_TRUE(told.measured);
    const double e = seconds(told.total()) / r.step_seconds - 1;
    std::printf("%-26s %-22s measured %.3f s %+6.1f %%, device idle %4.1f %%\n", r.name.c_str(), r.group.c_str(),
                r.step_seconds, 100 * e, 100 * seconds(told.idle()) / seconds(told.total()));
    EXPECT_LE(std::abs(e), 0.31) << r.name;
    if (r.step_seconds < 0.2) continue;
    (r.stack->sharded ? fsdp2 : transformers).push_back(e);
    if (r.forward_seconds > 0) forward.push_back(seconds(told.forward) / r.forward_seconds - 1);
  }
  std::printf("mean error from 0.2 s on: fsdp2 %.1f %%, transformers %.1f %%; of forward %.1f %%\n", 100 * mean(fsdp2),
              100 * mean(transformers), 100 * mean(forward));
  EXPECT_LE(mean(fsdp2), 0.06);
  EXPECT_LE(mean(transformers), 0.06);
}

// What another host takes moves no run that the device bounds: a law of the walk, held where the device is never idle for long.
TEST(StackTime, StepsOfLargeBlocksAreTheDevices) {
  std::vector<double> errors;
  for (const measured_run& r : measured_runs::all()) {
    const hp::stack_time told = hp::stack_time_of(r.model, r.plan, *r.stack, h100);
    if (told.idle() * 50 < told.total()) errors.push_back(seconds(told.total()) / r.step_seconds - 1);
  }
  ASSERT_GE(errors.size(), 12u);
  EXPECT_LE(mean(errors), 0.04);
}

hp::stack_time time_of(const hp::stack_sizes& s) { return hp::stack_time_of(s, rates); }

// For all options of a small model: never below the device's busy time nor the host's; the parts are what is busy.
TEST(StackTime, IsNeverBelowDeviceOrHost) {
  walked_tensors::visit_options([](const hp::stack_sizes& s) {
    const hp::stack_time t = time_of(s);
    ASSERT_TRUE(t.ok());
    EXPECT_GE(t.idle(), 0);
    EXPECT_GE(t.total(), t.host);
    EXPECT_GT(t.forward, 0);
    EXPECT_GT(t.backward, 0);
    EXPECT_GT(t.update, 0);
    EXPECT_EQ(t.total(), t.busy() + t.idle());
    EXPECT_GE(t.host, t.kernels * hp::detail::measured_host.kernel);
  });
}

// More of anything takes no less.
TEST(StackTime, RisesWithSizes) {
  walked_tensors::visit_options([](const hp::stack_sizes& s) {
    const hp::extent_t time = time_of(s).total();
    const auto more = [&](auto&& change) {
      hp::stack_sizes larger = s;
      change(larger);
      EXPECT_GE(time_of(larger).total(), time);
    };
    more([](hp::stack_sizes& l) { ++l.layers; });
    more([](hp::stack_sizes& l) { ++l.micro_batches; });
    more([](hp::stack_sizes& l) { l.width *= 1024; });
    more([](hp::stack_sizes& l) { l.vocabulary *= 1024; });
    more([](hp::stack_sizes& l) {
      l.tokens *= 1024;
      l.shard_tokens *= 1024;
    });
  });
}

constexpr hp::decoder llama3_8b{.vocabulary = 128256,
                                .hidden = 4096,
                                .layers = 32,
                                .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 5e5},
                                .feed_forward = {.width = 14336}};
constexpr const hp::stack_rules& fsdp2 = *hp::find_stack("fsdp2");

// Micro-batches from the third on are alike, so more of them add the same; computing again adds the forward of a block.
TEST(StackTime, MicroBatchesAddUp) {
  const auto of = [](int micro_batches, bool recomputed) {
    const hp::decoder_plan p{.dp = 8,
                             .zero = 3,
                             .micro_batches = micro_batches,
                             .recomputed = recomputed,
                             .batch = 8 * micro_batches,
                             .sequence = 8192};
    return hp::stack_time_of(llama3_8b, p, fsdp2, h100);
  };
  const hp::extent_t step = of(6, false).total() - of(5, false).total();
  EXPECT_EQ(of(50, false).total() - of(6, false).total(), 44 * step);
  EXPECT_EQ(of(50, false).kernels - of(6, false).kernels, 44 * (of(6, false).kernels - of(5, false).kernels));
  const hp::stack_time kept = of(1, false), again = of(1, true);
  EXPECT_EQ(again.part[static_cast<int>(hp::stack_part::attention)] * 7,
            kept.part[static_cast<int>(hp::stack_part::attention)] * 7 +
                7 * 32 * hp::attention_time(rates, 32, 8192, 128, false).picoseconds);
  EXPECT_GT(again.total(), kept.total() * 6 / 5);
  EXPECT_LT(again.total(), kept.total() * 3 / 2);
}

// No step takes less than its products by the data sheet.
TEST(StackTime, IsNeverBelowTheDataSheet) {
  for (const hp::extent_t sequence : {1024, 8192, 65536}) {
    const hp::decoder_plan p{.dp = 8, .zero = 3, .batch = 8, .sequence = sequence};
    const hp::stack_time t = hp::stack_time_of(llama3_8b, p, fsdp2, h100);
    const hp::extent_t operations = 6 * 32 * sequence * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336);
    EXPECT_GE(t.total(), hp::work_time(operations, 1, 1, rates.matrix).picoseconds);
  }
}

constexpr hp::stack_time constant =
    hp::stack_time_of(llama3_8b, {.dp = 8, .zero = 3, .batch = 8, .sequence = 8192}, fsdp2, h100);

TEST(StackTime, ConstantsAreThoseOfRunTime) {
  EXPECT_EQ(hp::stack_time_of(llama3_8b, {.dp = 8, .zero = 3, .batch = 8, .sequence = 8192}, fsdp2, h100), constant);
}

}  // namespace
