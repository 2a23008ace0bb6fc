// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/step_timeline.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/strategy/named_strategies.hpp>

#include "search_models.hpp"

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
  const int programs =
      for_each_clock(3, 16,
                     [&](const hp::sharded_program& p, const hp::pipeline_form& form, const hp::priced_program& priced,
                         const hp::interconnect& links) {
                       const hp::step_times times = hp::detail::two_queues(p, priced, form, links).run();
                       const hp::step_timeline t = hp::timeline_of(p, form, priced, links);
                       ASSERT_EQ(t.total, times.total.picoseconds);
                       hp::extent_t last = 0;
                       for (const bool link : {false, true}) {
                         // A gap of micro-batches holds what gaps of layers in the micro-batch before it hold, and runs in one piece.
                         hp::extent_t reached = 0, busy = 0, waited = 0;
                         int g = 0;
                         const auto take_gaps = [&](hp::extent_t until) {
                           for (; g < t.gap.size && (t.gap[g].link != link || t.gap[g].start < until); ++g) {
                             if (t.gap[g].link != link) continue;
                             ASSERT_GE(t.gap[g].start, reached);
                             ASSERT_GT(t.gap[g].count, 0);
                             ASSERT_EQ((t.gap[g].end - t.gap[g].start) % t.gap[g].count, 0);
                             reached = t.gap[g].end;
                             waited += t.gap[g].end - t.gap[g].start;
                             ++gaps;
                           }
                         };
                         for (const hp::timeline_span& s : t.span) {
                           if (s.link != link) continue;
                           take_gaps(s.start + 1);
                           ASSERT_GE(s.start, reached);
                           ASSERT_LE(s.start, s.end);
                           reached = s.end;
                           busy += s.end - s.start;
                         }
                         take_gaps(t.total + 1);
                         last = hp::larger(last, reached);
                         const hp::extent_t all = link ? times.communication_busy : times.compute_busy;
                         ASSERT_LE(busy, all);
                         ASSERT_GE(busy + waited, all);  // a queue may wait in a round that stands for others
                       }
                       ASSERT_EQ(last, t.total);
                     });
  EXPECT_GT(programs, 100);
  EXPECT_GT(gaps, 100);
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
                   const hp::memory_account account = hp::memory_account_of(p, priced.moves());
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

// Of many equal layers the points are those of the layers written out, at the times at which they are played: the last
// layer's stand where a clock that plays all of them has them.
TEST(StepTimeline, PutsTheLastLayersBehindTheGap) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::strategy_value s = hp::strategy_called("zero1", 4).strategy;
  searched::small_model few{.layers = 4}, many{.layers = 40};
  const hp::sharded_program p = hp::partition(few.build(), s), q = hp::partition(many.build(), s);
  ASSERT_EQ(q.status.code, hp::strategy_code::ok);
  const hp::priced_program of_few(p, prices), of_many(q, prices);
  const hp::step_timeline a = hp::timeline_of(p, hp::pipeline_form(p.graph, 1), of_few, prices.links()),
                          b = hp::timeline_of(q, hp::pipeline_form(q.graph, 1), of_many, prices.links());
  EXPECT_TRUE(a.gap.empty());
  ASSERT_FALSE(b.gap.empty());
  EXPECT_EQ(b.gap[0].count, 36);
  const auto last_forward = [](const hp::sharded_program& program, const hp::step_timeline& t) {
    hp::extent_t time = 0;
    for (const hp::memory_point& m : t.memory)
      if (program.step[m.step].phase == hp::graph_phase::forward && program.step[m.step].segment >= 0) time = m.time;
    return time;
  };
  EXPECT_EQ(last_forward(q, b) - last_forward(p, a), 36 * b.gap[0].each());
}

}  // namespace
