// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stage_memory.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/strategy/named_strategies.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

/// A model's program as one stage of a pipeline, evaluated.
struct pipelined {
  hp::plan_prices prices;
  hp::sharded_program p;
  hp::pipeline_form form;
  hp::plan_evaluation e;
  hp::step_timeline t;

  pipelined(const searched::small_model& model, const char* strategy, int stages)
      : prices(hp::matrix384::device, hp::matrix384::topology),
        p(hp::partition(model.build(), hp::strategy_called(strategy, 4).strategy)),
        form(p.graph, stages),
        e(hp::detail::evaluate_program(p, stages, prices)),
        t(hp::timeline_of(p, form, hp::priced_program(p, prices), prices.links())) {}
  hp::stage_memory_lines lines(hp::extent_t further = hp::stage_memory_lines::further_micro_batches) const {
    return {p, form, e, t, further};
  }
};

/// Calls `run(pipelined)` for every number of stages up to that of layers, micro-batches up to 7 and some strategies.
template <class Run>
void for_each_pipeline(const Run& run) {
  for (const bool recomputed : {false, true})
    for (const char* strategy : {"zero1", "zero3", "tp-sp"})
      for (int micro_batches = 1; micro_batches <= 7; ++micro_batches) {
        const searched::small_model model{.layers = 5, .micro_batches = micro_batches, .recomputed = recomputed};
        for (int stages = 2; stages <= 5; ++stages) {
          const pipelined of(model, strategy, stages);
          ASSERT_TRUE(of.e.ok()) << strategy;
          run(of);
        }
      }
}

// The most that a stage holds is its peak, of the first stage what the account reports; the bytes of micro-batches are those
// of a run of 1F1B that counts forwards and backwards.
TEST(StageMemory, PeaksAreThoseOfTheAccount) {
  int pipelines = 0;
  for_each_pipeline([&](const pipelined& of) {
    const hp::stage_memory_lines lines = of.lines();
    ASSERT_TRUE(lines.ok());
    EXPECT_EQ(lines.peak(0), of.e.memory);
    for (int stage = 0; stage < of.form.degree; ++stage) {
      const hp::stage_memory_line line = lines.of(stage);
      hp::extent_t most = 0, most_in_flight = 0, reached = 0, done[2] = {};
      ASSERT_EQ(line.left_out, 0);
      for (int k = 0; k < line.point.size; ++k) {
        const hp::stage_memory_point& m = line.point[k];
        EXPECT_GE(m.time, reached);
        reached = m.time;
        most = hp::larger(most, m.total());
        most_in_flight = hp::larger(most_in_flight, m.in_flight);
        EXPECT_GE(m.passing, 0);
        if (!m.evenly || m.doing == hp::stage_doing::updates) continue;
        ASSERT_LT(k + 1, line.point.size);
        const bool forward = m.doing == hp::stage_doing::forward;
        EXPECT_EQ(m.micro_batch, done[forward ? 0 : 1]++);
        EXPECT_EQ(m.oldest, done[1] - (forward ? 0 : 1));
        EXPECT_EQ(m.in_flight, done[0] - m.oldest);
        const hp::stage_memory_point& next = line.point[k + 1];
        const int activations = static_cast<int>(hp::memory_class::activations);
        const hp::extent_t change = next.bytes[activations] - m.bytes[activations];
        EXPECT_TRUE(forward ? change > 0 : change < 0);
      }
      EXPECT_EQ(most, lines.peak(stage));
      EXPECT_EQ(most_in_flight, of.form.in_flight(stage));
      EXPECT_EQ(done[0], of.form.micro_batches);
      EXPECT_EQ(done[1], of.form.micro_batches);
      EXPECT_EQ(reached, of.e.time);
      EXPECT_EQ(line.point.last().doing, hp::stage_doing::updates);
      if (stage > 0) {
        EXPECT_LE(lines.peak(stage), lines.peak(stage - 1));
      }
    }
    ++pipelines;
  });
  EXPECT_EQ(pipelines, 2 * 3 * 7 * 4);
}

// What the first stage of a pipeline holds without activations, and each micro-batch's activations, in closed form.
TEST(StageMemory, HoldsActivationsByMicroBatch) {
  const pipelined of({.layers = 8, .micro_batches = 8}, "zero1", 4);
  const hp::stage_memory_lines lines = of.lines();
  const auto held = [&](hp::extent_t in_flight) {
    hp::extent_t bytes = 0;
    hp::visit_kept_memory(of.p, of.form, in_flight, [&](int, int, hp::extent_t part) { bytes += part; });
    return bytes;
  };
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(lines.peak(0) - lines.peak(stage), held(4) - held(4 - stage)) << stage;
  EXPECT_GT(lines.peak(0), lines.peak(3));
}

// Of very many micro-batches those in the middle have no points, and the others are where they are with all points.
TEST(StageMemory, LeavesOutMicroBatchesThatAreAlike) {
  const pipelined of({.layers = 4, .micro_batches = 40}, "zero1", 4);
  const hp::stage_memory_lines few = of.lines(3), all = of.lines(100);
  for (int stage = 0; stage < 4; ++stage) {
    const hp::stage_memory_line folded = few.of(stage), whole = all.of(stage);
    EXPECT_EQ(folded.left_out, 40 - 11);
    EXPECT_EQ(whole.left_out, 0);
    EXPECT_EQ(few.peak(stage), all.peak(stage));
    const int skipped = whole.point.size - folded.point.size;
    EXPECT_GE(skipped, 29 * 4);
    int at = 0;
    for (const hp::stage_memory_point& m : folded.point) {
      if (m.time >= folded.left_out_end && at < whole.point.size - skipped && whole.point[at].time != m.time) break;
      ++at;
    }
    ASSERT_LT(at, folded.point.size);
    for (int k = 0; k < folded.point.size; ++k) {
      const hp::stage_memory_point &a = folded.point[k], &b = whole.point[k < at ? k : k + skipped];
      EXPECT_EQ(a.time, b.time);
      EXPECT_EQ(a.doing, b.doing);
      EXPECT_EQ(a.micro_batch, b.micro_batch);
      EXPECT_EQ(a.oldest, b.oldest);
      EXPECT_EQ(a.in_flight, b.in_flight);
      EXPECT_EQ(a.total(), b.total());
    }
  }
}

}  // namespace
