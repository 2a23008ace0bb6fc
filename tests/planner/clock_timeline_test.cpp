// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/clock_timeline.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/lookahead.hpp>

#include <lowering/broken_tables.hpp>

#include <gtest/gtest.h>

#include <set>

namespace hp = hyperparallel;

namespace {

/// Calls `each(lowered)` for programs of all named strategies on 4 devices with 1 to 3 micro-batches.
template <class Each>
int for_all_plans(const Each& each) {
  int plans = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    SCOPED_TRACE(hp::named_strategy_at(i).name);
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 3);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const int lookahead : {0, 4}) {
      const hp::lowered_program l =
          hp::clocked(hp::lower_training(p, {.topology = hp::interconnect_of(hp::matrix384::topology),
                                             .vector_queue = i % 2 == 0,
                                             .lookahead = lookahead}),
                      hp::matrix384::device);
      if (!l.status.ok() || !l.times.ok()) {
        ADD_FAILURE();
        continue;
      }
      each(l, hp::timeline_of(l, hp::matrix384::device));
      ++plans;
    }
  }
  return plans;
}

TEST(ClockTimeline, SpansAndGapsAreTheTimeThatTheClockCallsBusy) {
  int gaps = 0;
  const int plans = for_all_plans([&](const hp::lowered_program& l, const hp::step_timeline& t) {
    hp::extent_t last = 0;
    EXPECT_EQ(t.total, l.times.makespan);
    for (int k = 0; k < hp::resource_count; ++k) {
      const hp::resource queue = static_cast<hp::resource>(k);
      const hp::timeline_gap* gap = nullptr;
      for (const hp::timeline_gap& g : t.gap)
        if (g.queue == queue) gap = &g;
      hp::extent_t reached = 0, busy = 0;
      for (const hp::timeline_span& s : t.span) {
        if (s.queue != queue) continue;
        EXPECT_GE(s.start, reached);
        EXPECT_LT(s.start, s.end);
        if (gap != nullptr) {
          EXPECT_TRUE(s.end <= gap->start || s.start >= gap->end);
        }
        const bool repeats = gap != nullptr && s.end <= gap->start;
        busy += (s.end - s.start) * (repeats ? 1 + gap->count : 1);
        reached = s.end;
      }
      EXPECT_EQ(busy, l.times.busy[k]);
      if (gap != nullptr) {
        EXPECT_EQ(gap->count, l.program.graph.micro_batches - 1);
        EXPECT_EQ(gap->start, t.others_start);
        EXPECT_EQ(gap->end, t.others_end);
        EXPECT_EQ(gap->each(), gap->start);
        ++gaps;
      }
      last = hp::larger(last, hp::larger(reached, gap == nullptr ? 0 : gap->end));
    }
    EXPECT_EQ(last, l.times.makespan);
  });
  EXPECT_GE(plans, 40);
  EXPECT_GT(gaps, 50);
}

// What is computed with at a time is held then, with all homes, and it all has room in the plan's bytes.
TEST(ClockTimeline, HoldsWhatIsComputedWithWithinTheBytesOfThePlan) {
  int points = 0;
  for_all_plans([&](const hp::lowered_program& l, const hp::step_timeline& t) {
    ASSERT_FALSE(t.memory.empty());
    EXPECT_EQ(t.memory[0].time, 0);
    for (int k = 0; k < t.memory.size; ++k) {
      const hp::memory_point& m = t.memory[k];
      if (k > 0) {
        EXPECT_LT(t.memory[k - 1].time, m.time);
      }
      EXPECT_LE(m.total(), l.addresses.high_water[0]);
      std::set<int> touched;
      for (const hp::timeline_span& s : t.span)
        if (s.start <= m.time && m.time < s.end && !l.program.step[s.step].is_move)
          hp::detail::visit_values(l.program, l.program.step[s.step],
                                   [&](int v, bool) { touched.insert(l.program.value[v].storage); });
      hp::extent_t needed = 0;
      for (int s = 0; s < l.program.storage.size; ++s)
        if (l.program.storage[s].home || touched.count(s) > 0) needed += l.program.storage[s].bytes;
      EXPECT_GE(m.total(), needed);
      for (const hp::extent_t bytes : m.bytes) EXPECT_GE(bytes, 0);
      ++points;
    }
  });
  EXPECT_GT(points, 2000);
}

// At its end a step holds homes and what whoever runs it reads, nothing else.
TEST(ClockTimeline, EndsWithWhatLivesFromStepToStep) {
  for_all_plans([](const hp::lowered_program& l, const hp::step_timeline& t) {
    hp::extent_t kept = 0;
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(l.program);
    for (int s = 0; s < l.program.storage.size; ++s)
      if (lives[s].always) kept += l.program.storage[s].bytes;
    EXPECT_EQ(t.memory.last().total(), kept);
    EXPECT_LE(t.memory.last().time, t.total);
  });
}

// The same at compile time.
constexpr bool is_drawn_at_compile_time() {
  const hp::clocked_plan c =
      hp::lower_fastest(programs::program_of("zero3", 4, 2), {.topology = hp::interconnect_of(hp::matrix384::topology)},
                        hp::matrix384::device, hp::GiB);
  const hp::step_timeline t = hp::timeline_of(c.lowered, hp::matrix384::device);
  return c.ok() && t.total == c.lowered.times.makespan && t.gap.size == 2 && !t.memory.empty();
}
static_assert(is_drawn_at_compile_time());

}  // namespace
