// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_memory.hpp>

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/known_hardware.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "measured_runs.hpp"

namespace hp = hyperparallel;

namespace {

using measured_runs::measured_run;

double error_of(hp::extent_t told, hp::extent_t measured) {
  return 100 * (static_cast<double>(told) / static_cast<double>(measured) - 1);
}

struct errors {
  double sum = 0, most = 0;
  int count = 0;
  void add(double e) {
    sum += std::abs(e);
    most = std::max(most, std::abs(e));
    ++count;
  }
  double mean() const { return sum / count; }
};

// Predicted against measured, in per cent; nothing of the walk is fitted to these rows.
TEST(StackMemory, IsThatOfMeasuredRuns) {
  const std::vector<measured_run> runs = measured_runs::all();
  ASSERT_EQ(runs.size(), 49u);
  errors steady, after, peak, reserved;
  std::map<std::string, std::array<errors, 3>> by_group;
  std::printf("%-26s %-22s %8s %8s %8s %8s\n", "run", "group", "steady", "forward", "peak", "reserved");
  for (const measured_run& r : runs) {
    ASSERT_EQ(hp::check_plan(r.model, r.plan, hp::device_count_of(r.plan)).code, hp::decoder_plan_code::ok);
    ASSERT_EQ(hp::check_stack(r.model, r.plan, *r.stack), hp::stack_code::ok);
    const hp::stack_memory told = hp::stack_memory_of(r.model, r.plan, *r.stack);
    const double e[] = {error_of(told.steady, r.measured.steady),
                        error_of(told.after_forward, r.measured.after_forward), error_of(told.peak, r.measured.peak),
                        error_of(told.reserved, r.measured.reserved)};
    std::printf("%-26s %-22s %+8.2f %+8.2f %+8.2f %+8.2f\n", r.name.c_str(), r.group.c_str(), e[0], e[1], e[2], e[3]);
    steady.add(e[0]);
    after.add(e[1]);
    peak.add(e[2]);
    reserved.add(e[3]);
    for (std::size_t i = 0; i < 3; ++i) by_group[r.group][i].add(e[i + 1]);
    EXPECT_LE(std::abs(e[1]), 0.5) << r.name;
    EXPECT_LE(std::abs(e[2]), 0.5) << r.name;
    EXPECT_LE(std::abs(e[3]), 8.0) << r.name;
  }
  for (const auto& [group, of] : by_group)
    std::printf("%-22s %2d runs: after forward %.2f (%.2f), peak %.2f (%.2f), reserved %.2f (%.2f)\n", group.c_str(),
                of[0].count, of[0].mean(), of[0].most, of[1].mean(), of[1].most, of[2].mean(), of[2].most);
  std::printf("mean (most): steady %.2f (%.2f), after forward %.2f (%.2f), peak %.2f (%.2f), reserved %.2f (%.2f)\n",
              steady.mean(), steady.most, after.mean(), after.most, peak.mean(), peak.most, reserved.mean(),
              reserved.most);
  EXPECT_LE(peak.mean(), 0.1);
  EXPECT_LE(after.mean(), 0.1);
  EXPECT_LE(reserved.mean(), 1.5);
}

// Published peaks of torchtitan's Llama 3 8B with selective checkpoints, "max over ranks", of what the allocator has reserved, in GiB: 8 and 128
// H100 of 96 GB, 2 sequences of 8192 a device; benchmarks/llama3_h100_202412 of torchtitan.
TEST(StackMemory, SelectiveCheckpointsAreThoseOfPublishedRuns) {
  constexpr hp::decoder llama3{.vocabulary = 128256,
                               .hidden = 4096,
                               .layers = 32,
                               .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 5e5},
                               .feed_forward = {.width = 14336}};
  struct published {
    const char* stack;
    int devices;
    double gib;
  };
  for (const published& r : {published{"fsdp2", 8, 82.4}, published{"fsdp2_compiled", 8, 77.0},
                             published{"fsdp2", 128, 67.0}, published{"fsdp2_compiled", 128, 61.8}}) {
    hp::decoder_plan p{.dp = r.devices, .zero = 3, .recomputed = true, .selective = true, .batch = 2 * r.devices};
    p.sequence = 8192;
    const hp::stack_memory told = hp::stack_memory_of(llama3, p, *hp::find_stack(r.stack));
    EXPECT_NEAR(static_cast<double>(told.reserved) / (1 << 30) / r.gib, 1.0, 0.02) << r.stack << ' ' << r.devices;
    EXPECT_LE(told.peak, told.reserved);
    const auto peak_of = [&](bool recomputed, bool selective) {
      p.recomputed = recomputed;
      p.selective = selective;
      return hp::stack_memory_of(llama3, p, *hp::find_stack(r.stack)).peak;
    };
    EXPECT_GT(peak_of(false, false), told.peak);
    EXPECT_LT(peak_of(true, false), told.peak);
  }
}

/// A small decoder on two data ranks.
constexpr hp::decoder small_model{.vocabulary = 4096,
                                  .hidden = 256,
                                  .layers = 4,
                                  .attention = {.query_heads = 8, .key_heads = 4, .head_dim = 32, .rope_base = 10000.0},
                                  .feed_forward = {.width = 1024}};
constexpr hp::decoder_plan small_plan{.dp = 2, .zero = 3, .batch = 4, .sequence = 512};
constexpr const hp::stack_rules& fsdp2 = *hp::find_stack("fsdp2");

// The same by the compiler.
constexpr hp::stack_memory by_compiler = hp::stack_memory_of(small_model, small_plan, fsdp2);

TEST(StackMemory, IsTheSameByTheCompiler) {
  EXPECT_EQ(by_compiler, hp::stack_memory_of(small_model, small_plan, fsdp2));
}

// Kinds add up to the peak, and all figures are in their order, whatever the options.
TEST(StackMemory, KindsAddUp) {
  for (const hp::stack_rules& rules : hp::known_stacks)
    for (int bits = 0; rules.walked && bits < 32; ++bits) {
      hp::decoder d = small_model;
      d.tied = (bits & 1) != 0;
      d.attention.query_key_norm = (bits & 2) != 0;
      hp::decoder_plan p = small_plan;
      p.recomputed = (bits & 4) != 0;
      p.zero = (bits & 8) != 0 ? 2 : 3;
      p.micro_batches = (bits & 16) != 0 ? 2 : 1;
      const hp::stack_memory m = hp::stack_memory_of(d, p, rules);
      hp::extent_t sum = 0;
      for (const hp::extent_t held : m.held) sum += held;
      EXPECT_EQ(sum, m.peak);
      EXPECT_LE(m.steady, m.after_forward);
      EXPECT_LE(m.after_forward, m.peak);
      EXPECT_LE(m.peak, m.reserved);
    }
}

// What the rules say of a change: recomputation keeps less, gathered parameters and compiled activations make a difference of their size.
TEST(StackMemory, FollowsTheRules) {
  const hp::stack_memory m = by_compiler;
  hp::decoder_plan p = small_plan;
  p.recomputed = true;
  EXPECT_LT(hp::stack_memory_of(small_model, p, fsdp2).after_forward, m.after_forward);
  p = small_plan;
  p.zero = 2;
  EXPECT_GT(hp::stack_memory_of(small_model, p, fsdp2).after_forward, m.after_forward);
  EXPECT_EQ(hp::stack_memory_of(small_model, p, fsdp2).steady, m.steady);
  const hp::extent_t activated = 2 * 1024 * 1024;
  EXPECT_EQ(hp::stack_memory_of(small_model, small_plan, *hp::find_stack("fsdp2_compiled")).after_forward,
            m.after_forward - 4 * activated);
}

// A rank of cp keeps what one without it keeps of as many tokens, and takes more where attention gathers keys and values.
TEST(StackMemory, PartsOfASequenceAreKeptAsShorterOnes) {
  for (const bool recomputed : {false, true})
    for (const int cp : {2, 4}) {
      const hp::decoder_plan cut{
          .dp = 4 / cp, .cp = cp, .zero = 3, .recomputed = recomputed, .batch = 8 / cp, .sequence = 512 * cp};
      hp::decoder_plan whole = cut;
      whole.dp = 4;
      whole.cp = 1;
      whole.batch = 8;
      whole.sequence = 512;
      const hp::stack_memory a = hp::stack_memory_of(small_model, cut, fsdp2),
                             b = hp::stack_memory_of(small_model, whole, fsdp2);
      EXPECT_EQ(a.after_forward - a.steady, b.after_forward - b.steady);
      EXPECT_GE(a.peak - a.steady, b.peak - b.steady);
      const hp::extent_t rows = 2 * 512, keys = 2 * 128, query = 256;
      EXPECT_LE(a.peak - a.steady, b.peak - b.steady + rows * (2 * keys * cp + 4 * (query + keys)) + (1 << 21));
    }
}

// Of stages: kinds add up; more micro-batches at once keep as much more each; shards of the first and the last stage are those of the whole model.
TEST(StackMemory, StagesKeepWhatTheirScheduleHasAtOnce) {
  for (const bool recomputed : {false, true})
    for (const int chunks : {1, 2}) {
      hp::decoder_plan p = small_plan;
      p.pp = 2;
      p.recomputed = recomputed;
      p.micro_batches = 8;
      p.batch = 16;
      p.chunks = chunks;
      p.schedule = chunks == 1 ? p.schedule : hp::schedule_place<hp::interleaved_1f1b>;
      ASSERT_TRUE(hp::check_plan(small_model, p, hp::device_count_of(p)).ok());
      ASSERT_EQ(hp::check_stack(small_model, p, fsdp2, hp::stack_question::memory), hp::stack_code::ok);
      EXPECT_EQ(hp::check_stack(small_model, p, fsdp2), hp::stack_code::has_stages);
      const hp::stack_sizes whole(small_model, p, fsdp2);
      hp::stack_sizes first = hp::detail::stage_sizes(whole, p, false), last = hp::detail::stage_sizes(whole, p, true);
      EXPECT_EQ(first.layers, 2);
      EXPECT_GT(first.at_once, last.at_once);
      const auto shards = [](const hp::stack_sizes& s) {
        hp::extent_t sum = 0;
        for (const hp::stack_parameter& q : s.block()) sum += s.layers * q.shard(s.ranks);
        for (const hp::stack_parameter& q : s.root()) sum += q.shard(s.ranks);
        return sum;
      };
      EXPECT_EQ(shards(first) + shards(last), shards(whole));
      hp::extent_t before = 0, step = 0;
      for (first.at_once = 1; first.at_once <= 4; ++first.at_once) {
        const hp::stack_memory m = hp::stack_memory_of(first);
        hp::extent_t sum = 0;
        for (const hp::extent_t held : m.held) sum += held;
        EXPECT_EQ(sum, m.peak);
        EXPECT_LE(m.peak, m.reserved);
        if (first.at_once == 3) step = m.after_forward - before;
        if (first.at_once == 4) {
          EXPECT_EQ(m.after_forward - before, step);
        }
        before = m.after_forward;
      }
      EXPECT_GT(step, 0);
    }
}

// Device memories from nothing to much: fits from what is reserved on, tight from what is in use on.
TEST(StackMemory, VerdictsSpeakOfWhatIsReserved) {
  hp::plan_estimate e;
  e.on_stack = {.steady = 100, .after_forward = 500, .peak = 1000, .reserved = 1500};
  const hp::memory_reserve reserve{.library_bytes = 200, .allocator_per_mille = 100};
  for (hp::extent_t bytes = 0; bytes < 3000; ++bytes)
    EXPECT_EQ(hp::verdict_of(e, reserve, bytes), bytes >= 1500 + 150 + 200 ? hp::fit_verdict::fits
                                                 : bytes >= 1000 + 200     ? hp::fit_verdict::tight
                                                                           : hp::fit_verdict::does_not_fit);
}

// No run that reserved more than 80 GB is said to fit on the device that it ran on, with what tools assume of libraries and allocators; all ran.
TEST(StackMemory, NoRunAboveTheDeviceFits) {
  const hp::extent_t has = hp::reported_device(*hp::find_hardware("h100")).tier[0].bytes;
  int fits = 0;
  for (const measured_run& r : measured_runs::all()) {
    hp::plan_estimate e;
    e.on_stack = hp::stack_memory_of(r.model, r.plan, *r.stack);
    const hp::fit_verdict v = hp::verdict_of(e, hp::memory_reserve{}, has);
    EXPECT_NE(v, hp::fit_verdict::does_not_fit) << r.name;
    EXPECT_EQ(v == hp::fit_verdict::fits, r.measured.reserved <= 80'000'000'000) << r.name;
    fits += v == hp::fit_verdict::fits ? 1 : 0;
  }
  EXPECT_EQ(fits, 47);
}

}  // namespace
