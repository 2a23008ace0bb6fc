// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/step_timeline.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/strategy/named_strategies.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

/// Calls `run(program, form, priced, links)` for random models under every strategy, with and without a pipeline.
template <class Run>
int for_each_clock(unsigned seed, int models, const Run& run) {
  std::mt19937 random(seed);
  int programs = 0;
  for (int i = 0; i < models; ++i) {
    searched::small_model model = searched::random_model(random, i % 2 == 0);
    model.micro_batches = 1 + i % 4;
    model.layers = 2 + i % 7;
    const hp::graph g = model.build();
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    hp::plan_prices prices(device, topology);
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      const hp::sharded_program p = hp::partition(g, hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy);
      if (p.status.code != hp::strategy_code::ok) continue;
      const hp::priced_program priced(p, prices);
      for (const int stages : {1, 2}) {
        run(p, hp::pipeline_form(p.graph, stages), priced, prices.links());
        ++programs;
      }
    }
  }
  return programs;
}

// Each queue's spans and gaps do not overlap, are as long as the queue is busy and end with the step.
TEST(StepTimeline, IsWhatTheClockPlays) {
  int gaps = 0;
  const int programs = for_each_clock(
      3, 16,
      [&](const hp::sharded_program& p, const hp::pipeline_form& form, const hp::priced_program& priced,
          const hp::interconnect& links) {
        const hp::step_times times = hp::estimate_step(p, priced, form, links);
        const hp::step_timeline t = hp::timeline_of(p, form, priced, links);
        ASSERT_EQ(t.total, times.total.picoseconds);
        hp::extent_t last = 0;
        for (const hp::resource queue : {hp::resource::aic, hp::resource::link}) {
          // A gap of micro-batches holds what gaps of layers in the micro-batch before it hold, and runs in one piece.
          hp::extent_t reached = 0, busy = 0, waited = 0;
          int g = 0;
          const auto take_gaps = [&](hp::extent_t until) {
            for (; g < t.gap.size && (t.gap[g].queue != queue || t.gap[g].start < until); ++g) {
              if (t.gap[g].queue != queue) continue;
              ASSERT_GE(t.gap[g].start, reached);
              ASSERT_GT(t.gap[g].count, 0);
              ASSERT_EQ((t.gap[g].end - t.gap[g].start) % t.gap[g].count, 0);
              reached = t.gap[g].end;
              waited += t.gap[g].end - t.gap[g].start;
              ++gaps;
            }
          };
          for (const hp::timeline_span& s : t.span) {
            if (s.queue != queue) continue;
            take_gaps(s.start + 1);
            ASSERT_GE(s.start, reached);
            ASSERT_LE(s.start, s.end);
            reached = s.end;
            busy += s.end - s.start;
          }
          take_gaps(t.total + 1);
          last = hp::larger(last, reached);
          const hp::extent_t all = queue == hp::resource::link ? times.communication_busy : times.compute_busy;
          ASSERT_LE(busy, all);
          ASSERT_GE(busy + waited, all);  // a queue may wait in a round that stands for others
        }
        ASSERT_EQ(last, t.total);
      });
  EXPECT_GT(programs, 100);
  EXPECT_GT(gaps, 50);
}

// The most that is held is the account's peak, which stands in the order of time; a stage of a pipeline has no points.
TEST(StepTimeline, HoldsWhatTheAccountHolds) {
  int points = 0;
  for_each_clock(4, 16,
                 [&](const hp::sharded_program& p, const hp::pipeline_form& form, const hp::priced_program& priced,
                     const hp::interconnect& links) {
                   const hp::step_timeline t = hp::timeline_of(p, form, priced, links);
                   if (form.degree > 1) {
                     EXPECT_TRUE(t.memory.empty());
                     return;
                   }
                   const hp::memory_account account = hp::detail::memory_account_of(p, priced.moves());
                   hp::extent_t peak = 0, most[hp::memory_class_count] = {}, before = 0;
                   int peak_step = -1;
                   for (const hp::memory_point& m : t.memory) {
                     ASSERT_GE(m.time, before);
                     ASSERT_LE(m.time, t.total);
                     before = m.time;
                     if (m.total() > peak) peak_step = m.step;
                     peak = hp::larger(peak, m.total());
                     for (int c = 0; c < hp::memory_class_count; ++c) most[c] = hp::larger(most[c], m.bytes[c]);
                     ++points;
                   }
                   ASSERT_EQ(peak, account.peak);
                   ASSERT_EQ(peak_step, account.peak_step);
                   for (int c = 0; c < hp::memory_class_count; ++c) ASSERT_EQ(most[c], account.most[c]);
                   const bool several = form.micro_batches > 1;
                   ASSERT_EQ(t.others_end > t.others_start, several);
                 });
  EXPECT_GT(points, 1000);
}

/// One layer stack on 4 devices, whose gradients travel.
struct stack {
  hp::plan_prices prices{hp::matrix384::device, hp::matrix384::topology};
  hp::sharded_program p;
  hp::step_timeline line;
  explicit stack(hp::extent_t layers)
      : p(hp::partition(searched::small_model{.layers = layers}.build(), hp::strategy_called("zero1", 4).strategy)),
        line(hp::timeline_of(p, hp::pipeline_form(p.graph, 1), hp::priced_program(p, prices), prices.links())) {}
  hp::extent_t last_repetition() const {
    hp::extent_t last = 0;
    for (const hp::timeline_span& s : line.span) last = hp::larger(last, s.repetition);
    return last;
  }
  hp::extent_t last_forward() const {
    hp::extent_t time = 0;
    for (const hp::memory_point& m : line.memory)
      if (p.step[m.step].phase == hp::graph_phase::forward && p.step[m.step].segment >= 0) time = m.time;
    return time;
  }
};

// Layers that the clock does not play have spans up to a limit, and a gap behind it; the last layer's points stand as much
// later as there are more layers.
TEST(StepTimeline, WritesOutLayersThatAreNotPlayed) {
  const stack few(4), many(40), most(200);
  EXPECT_TRUE(few.line.gap.empty());
  EXPECT_TRUE(many.line.gap.empty());
  ASSERT_FALSE(most.line.gap.empty());
  EXPECT_EQ(most.line.gap[0].count, 200 - hp::detail::timeline_repetitions);
  const hp::extent_t each = most.line.gap[0].each();
  EXPECT_EQ(many.last_forward() - few.last_forward(), 36 * each);
  EXPECT_EQ(most.last_forward() - few.last_forward(), 196 * each);
  EXPECT_EQ(few.last_repetition(), 3);
  EXPECT_EQ(many.last_repetition(), 39);
  EXPECT_EQ(most.last_repetition(), hp::detail::timeline_repetitions - 1);
  // Forward, backward and update; from layer 2 to the last but one, 37 layers later.
  int ramps = 0;
  for (int k = 0; k < many.line.memory.size; ++k)
    if (const hp::memory_point& m = many.line.memory[k]; m.evenly) {
      ++ramps;
      ASSERT_LT(k + 1, many.line.memory.size);
      if (many.p.step[m.step].phase != hp::graph_phase::forward) continue;
      EXPECT_GE(many.line.memory[k + 1].time - m.time, 36 * each);
      EXPECT_LE(many.line.memory[k + 1].time - m.time, 37 * each);
    }
  EXPECT_GE(ramps, 2);
  for (const hp::memory_point& m : few.line.memory) EXPECT_FALSE(m.evenly);
}

}  // namespace
