// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/simulated_pipeline.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/memory_account.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

/// Calls `run(decoder, plan)` for decoders of 2 to 8 layers, with pipelines of 2 and 4 stages and others.
template <class Run>
void for_each_pipeline(const Run& run) {
  for (hp::decoder d : {small_decoders::dense(), small_decoders::with_experts(), small_decoders::latent(),
                        small_decoders::biased(), small_decoders::capped()})
    for (const int layers : {2, 5, 8})
      for (const int pp : {2, 4})
        for (const int micro_batches : {1, 3, 8})
          for (const int devices : {0, 1, 2, 3}) {
            d.layers = layers;
            const hp::decoder_plan p{.tp = 1 + devices % 2,
                                     .pp = pp,
                                     .dp = 1 + devices / 2,
                                     .zero = devices == 3 ? 1 : 0,
                                     .micro_batches = micro_batches,
                                     .recomputed = devices == 2,
                                     .batch = 48,
                                     .sequence = 8};
            if (hp::check_plan(d, p, hp::device_count_of(p)).ok()) run(d, p);
          }
}

/// The passes of the whole decoder as one plan.
hp::stage_passes whole_passes(const hp::decoder& d, const hp::decoder_plan& p, const hp::plan_prices& prices) {
  const hp::clocked_plan c = hp::lower_fastest(hp::partition(hp::training_graph_of(d, p, true), hp::strategy_of(p)),
                                               {.topology = prices.links()}, prices.device(), hp::GiB);
  return hp::passes_of_parts(c.lowered, prices.device()).all();
}

// Every layer, the embedding and the head are computed on exactly one stage; the schedule takes no less than any stage, and no
// less than the way of one micro-batch.
TEST(SimulatedPipeline, StagesMakeUpTheWholePlan) {
  const hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  int pipelines = 0, uneven = 0;
  for_each_pipeline([&](const hp::decoder& d, const hp::decoder_plan& p) {
    const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, hp::GiB);
    ASSERT_TRUE(s.ok());
    ASSERT_EQ(s.stage.size, p.pp);
    const hp::stage_passes whole = whole_passes(d, p, prices);
    hp::stage_passes sum;
    hp::layer_kinds layers;
    hp::extent_t way = 2 * (p.pp - 1) * s.hand_over, update = 0;
    for (const hp::simulated_stage& one : s.stage) {
      sum += one.passes;
      layers.layers += one.has.layers;
      layers.unwindowed += one.has.unwindowed;
      layers.dense += one.has.dense;
      way += one.passes.round();
      update = hp::larger(update, one.passes.update.time);
      EXPECT_LE(one.has.layers, (d.layers + p.pp - 1) / p.pp);
      EXPECT_GE(one.has.layers, d.layers / p.pp);
      EXPECT_GE(s.replay.makespan(), p.micro_batches * one.passes.round() + one.passes.update.time);
      EXPECT_LE(one.bytes, hp::GiB);
      EXPECT_GE(one.passes.forward.time, one.passes.forward.computed);
      uneven += one.has.layers != s.stage[0].has.layers;
    }
    EXPECT_EQ(layers, hp::detail::layers_between(d, 0, d.layers));
    // Groups of layers are computed again as one where they are folded.
    if (!p.recomputed || d.full_every == 0) {
      EXPECT_EQ(sum.forward.computed, whole.forward.computed);
      EXPECT_EQ(sum.backward.computed, whole.backward.computed);
    }
    EXPECT_GE(s.replay.makespan(), way + update);
    EXPECT_GT(s.hand_over, 0);
    EXPECT_GT(s.replay.handed, 0);
    ++pipelines;
  });
  EXPECT_GT(pipelines, 150);
  EXPECT_GT(uneven, 50);
}

// A stage that is alike is simulated once and has the same passes; each stage keeps one micro-batch less than the one before it.
TEST(SimulatedPipeline, AlikeStagesAreSimulatedOnce) {
  const hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  hp::decoder d = small_decoders::dense();
  d.layers = 12;
  const hp::decoder_plan p{.pp = 6, .dp = 2, .micro_batches = 8, .batch = 16, .sequence = 64};
  const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, hp::GiB);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s.simulated, 2);
  const hp::extent_t kept = s.stage[1].bytes - s.stage[2].bytes;
  EXPECT_GT(kept, 0);
  for (int stage = 2; stage < 5; ++stage) {
    EXPECT_EQ(s.stage[stage].passes, s.stage[1].passes);
    EXPECT_EQ(s.stage[stage].bytes, s.stage[1].bytes - (stage - 1) * kept);
  }
  EXPECT_GT(s.stage[0].bytes, s.stage[1].bytes + kept);  // the embedding's table and states
  EXPECT_GT(s.stage[0].passes.forward.time, s.stage[1].passes.forward.time);
  EXPECT_GT(s.stage[5].passes.backward.time, s.stage[1].passes.backward.time);
  // Of two micro-batches no stage but the last keeps more than two.
  hp::decoder_plan few = p;
  few.micro_batches = 2;
  const hp::simulated_pipeline t = hp::simulate_pipeline(d, few, prices, hp::GiB);
  EXPECT_EQ(t.stage[1].bytes, t.stage[4].bytes);
}

// Of any schedule every layer is on one stage, ranks hold what the replay of the schedule has there at most, and 1F1B with one chunk
// is the plan that names no schedule.
TEST(SimulatedPipeline, OfOtherSchedules) {
  const hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  hp::decoder d = small_decoders::dense();
  d.layers = 8;
  const hp::decoder_plan plain{.pp = 4, .micro_batches = 8, .batch = 16, .sequence = 8};
  const hp::simulated_pipeline one = hp::simulate_pipeline(d, plain, prices, hp::GiB);
  ASSERT_TRUE(one.ok());
  const hp::extent_t kept = one.stage[1].bytes - one.stage[2].bytes;  // of one micro-batch, by two layers
  int played = 0;
  for (int schedule = 0; schedule < hp::detail::published_schedule_count; ++schedule)
    for (const int chunks : {1, 2}) {
      hp::decoder_plan p = plain;
      p.schedule = schedule;
      p.chunks = chunks;
      if (!hp::check_plan(d, p, 4).ok()) continue;
      played += chunks > 1 ? 100 : 1;
      const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, hp::GiB);
      ASSERT_TRUE(s.ok()) << hp::schedule_of(p).name;
      ASSERT_EQ(s.stage.size, 4 * chunks);
      hp::extent_t layers = 0, work = 0;
      for (const hp::simulated_stage& stage : s.stage) {
        layers += stage.has.layers;
        work += stage.passes.round();
        const int number = static_cast<int>(&stage - s.stage.begin());
        EXPECT_EQ(stage.rank, hp::rank_of_stage(hp::schedule_of(p).placement, 4, number));
        for (const hp::simulated_stage& other : s.stage) {
          if (other.rank == stage.rank) {
            EXPECT_EQ(other.bytes, stage.bytes);
          }
        }
      }
      EXPECT_EQ(layers, d.layers);
      EXPECT_GE(4 * s.replay.busy, 8 * work);
      EXPECT_GT(s.bytes(), 0);
      if (hp::is_1f1b(p)) {
        EXPECT_EQ(s.replay.makespan(), one.replay.makespan());
      }
      if (schedule == hp::schedule_place<hp::zero_bubble_h1> || chunks > 1) {
        EXPECT_LT(s.replay.bubble, one.replay.bubble);
      }
      // Seven micro-batches at once on the first rank, not four, and as much that is handed over, but for two activations.
      if (schedule == hp::schedule_place<hp::zero_bubble_h2>) {
        EXPECT_LE(s.stage[0].bytes, one.stage[0].bytes + 3 * kept);
        EXPECT_GE(s.stage[0].bytes, one.stage[0].bytes + 3 * kept - 2 * (2 * 8 * 16 * 4));
      }
    }
  EXPECT_GT(played, 400 + 4);
}

// Six layers on eight stages: the ends have embedding and head alone.
TEST(SimulatedPipeline, EndsMayHaveNoLayer) {
  const hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  hp::decoder d = small_decoders::dense();
  d.layers = 6;
  const hp::decoder_plan p{.pp = 4,
                           .micro_batches = 8,
                           .schedule = hp::schedule_place<hp::interleaved_1f1b>,
                           .chunks = 2,
                           .batch = 8,
                           .sequence = 8};
  ASSERT_TRUE(hp::check_plan(d, p, 4).ok());
  const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, hp::GiB);
  ASSERT_TRUE(s.ok());
  ASSERT_EQ(s.stage.size, 8);
  for (int stage = 0; stage < 8; ++stage) EXPECT_EQ(s.stage[stage].has.layers, stage % 7 == 0 ? 0 : 1);
  EXPECT_GT(s.stage[0].passes.forward.time, 0);
  EXPECT_GT(s.stage[7].passes.forward.time, s.stage[0].passes.forward.time);
  EXPECT_GT(s.stage[1].passes.forward.time, s.stage[0].passes.forward.time);
}

// A stage's layers of each kind, of decoders with several runs of layers.
TEST(SimulatedPipeline, StagesGetTheLayersThatFallToThem) {
  hp::decoder d = small_decoders::with_experts();
  d.layers = 7;
  d.sparse = {.first = 3};
  d.attention.window = 5;
  d.full_every = 3;
  for (hp::extent_t first = 0; first < d.layers; ++first)
    for (hp::extent_t end = first + 1; end <= d.layers; ++end) {
      const hp::layer_kinds has = hp::detail::layers_between(d, first, end);
      EXPECT_EQ(has.dense, hp::larger(hp::smaller(end, hp::extent_t{3}) - first, hp::extent_t{0}));
      EXPECT_EQ(has.unwindowed, (end / 3) - (first / 3));
      const hp::decoder stage = hp::detail::decoder_with(d, has);
      EXPECT_EQ(stage.layers, end - first);
      EXPECT_EQ(hp::detail::layers_between(stage, 0, stage.layers), has);
    }
  const hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  d = small_decoders::with_experts();
  d.layers = 8;
  d.sparse = {.first = 2};
  const hp::simulated_pipeline s =
      hp::simulate_pipeline(d, {.pp = 4, .dp = 2, .batch = 16, .sequence = 8}, prices, hp::GiB);
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s.simulated, 3);
  EXPECT_EQ(s.stage[0].has.dense, 2);
  EXPECT_EQ(s.stage[1].has.dense, 0);
  EXPECT_GT(s.stage[1].passes.forward.computed, s.stage[0].passes.forward.computed);
}

// Of real size the stages hold and take about what the estimate says.
TEST(SimulatedPipeline, OfARealModelIsCloseToTheEstimate) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  for (const int pp : {2, 4, 8}) {
    const hp::decoder_plan p{
        .tp = 2, .pp = pp, .dp = 32 / pp, .zero = 1, .micro_batches = 8, .batch = 256, .sequence = 4096};
    const hp::plan_estimate e = hp::estimate_plan(hp::test::llama3_8b, p, prices);
    const hp::simulated_pipeline s = hp::simulate_pipeline(hp::test::llama3_8b, p, prices, 64 * hp::GiB);
    ASSERT_TRUE(s.ok());
    EXPECT_EQ(s.simulated, 2);
    const double ratio = static_cast<double>(s.replay.times.makespan) / static_cast<double>(e.evaluation.time);
    EXPECT_NEAR(ratio, 1.0, 0.03);
    // Gradients of parameters: one of the two products that each product of forward has in backward, and no attention.
    const hp::stage_passes& passes = s.stage[0].passes;
    const double weights = static_cast<double>(passes.weights) / static_cast<double>(passes.backward.time);
    EXPECT_GT(weights, 0.3);
    EXPECT_LT(weights, 0.5);
    EXPECT_NEAR(static_cast<double>(s.bytes()) / static_cast<double>(e.evaluation.memory), 1.0, 0.1);
  }
}

/// What the schedule has on each rank at most, against the program of all stages, unrolled: no less than 97 % of what is alive there at
/// once, and no more than its addresses take, which have the buffers of hand-overs, too.
TEST(SimulatedPipeline, RanksHoldWhatTheUnrolledProgramHolds) {
  const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder wide = hp::test::llama3_8b, deep = wide, tied = hp::test::qwen25_0_5b;
  wide.layers = tied.layers = 8;
  deep.layers = 16;
  deep.vocabulary = 4096;
  double least = 1, most = 0, fullest = 0;
  int ranks = 0;
  const auto hold = [&](const hp::decoder& d, hp::decoder_plan p) {
    if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) return;
    const hp::named_schedule& schedule = hp::schedule_of(p);
    SCOPED_TRACE(schedule.name + (", " + std::to_string(d.layers)) + " layers, pp " + std::to_string(p.pp) + ", tp " +
                 std::to_string(p.tp) + (p.recomputed ? ", recomputed" : "") + (d.tied ? ", tied, " : ", ") +
                 std::to_string(p.micro_batches) + " micro-batches of " + std::to_string(p.sequence));
    const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, hp::extent_t{1} << 50);
    ASSERT_TRUE(s.ok());
    hp::pipeline_value pipeline{.schedule = &schedule, .ranks = p.pp, .chunks = p.chunks};
    pipeline.accumulates_in_any_order = true;
    const hp::pipelined_program one = hp::partition(hp::training_graph_of(d, p, true), hp::strategy_of(p), pipeline);
    ASSERT_TRUE(one.ok());
    const hp::program_moves moves = hp::kinds_of_moves(one.program, prices.links());
    const hp::program_addresses addresses = hp::plan_addresses(one.program, moves);
    const hp::storage_uses uses(one.program);
    for (int rank = 0; rank < p.pp; ++rank) {
      hp::extent_t planned = 0;
      for (const hp::simulated_stage& stage : s.stage) planned = stage.rank == rank ? stage.least_bytes : planned;
      const double bytes = static_cast<double>(planned),
                   by_address = static_cast<double>(addresses.high_water_of(rank)),
                   alive = static_cast<double>(
                       hp::detail::memory_account_of(one.program, moves, uses, hp::detail::storage_alignment, rank)
                           .peak);
      EXPECT_GE(bytes / alive, 0.97) << "rank " << rank;
      EXPECT_LE(bytes / by_address, 1.03) << "rank " << rank;
      least = std::min(least, bytes / alive);
      most = std::max(most, bytes / by_address);
    }
    ranks += p.pp;
    const double off =
        static_cast<double>(s.least_bytes()) / static_cast<double>(addresses.alive_maximum[0]) - 1;  // with buffers
    EXPECT_LE(std::abs(off), 0.03);
    fullest = std::max(fullest, std::abs(off));
  };
  for (int schedule = 0; schedule < hp::detail::published_schedule_count; ++schedule)
    for (const int pp : {2, 4})
      for (const int chunks : {1, 2})
        for (const int tp : {1, 2}) {
          hp::decoder_plan p{.tp = tp,
                             .pp = pp,
                             .dp = tp,
                             .zero = tp - 1,
                             .micro_batches = 8,
                             .schedule = schedule,
                             .chunks = chunks,
                             .batch = 16,
                             .sequence = 4096};
          hold(wide, p);
          hold(tied, p);
          p.recomputed = true;
          hold(wide, p);
          hold(tied, p);
          p.recomputed = false;
          p.micro_batches = 1;
          hold(tied, p);
          p.micro_batches = 4;
          hold(deep, p);
          if (tp == 2) {
            p.zero = 3;
            hold(wide, p);
            if (hp::rank_of_stage(hp::schedule_of(p).placement, pp, pp * chunks - 1) != 0) hold(tied, p);
            p.zero = 1;
          }
          p.sequence = 64;  // norm and update hold the most
          hold(wide, p);
          hold(tied, p);
        }
  EXPECT_GT(ranks, 1500);
  std::printf("of %d ranks: from %.2f %% of what is alive to %.2f %% of addresses; the fullest within %.2f %%\n", ranks,
              100 * least, 100 * most, 100 * fullest);
}

/// The replay of stages, simulated one by one, against the clock of the pipeline that runs as one plan.
TEST(SimulatedPipeline, TheReplayIsTheClockOfTheOnePlan) {
  const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  double most = 0;
  const auto hold = [&](hp::decoder d, const char* name, int pp, int devices) {
    d.layers = 8;
    const hp::named_schedule* const schedule = hp::schedule_called(name);
    const int place = static_cast<int>(schedule - hp::schedule_table.item);
    const bool chunked = schedule->fixed_chunks == 2 || std::string(name) == "Interleaved1F1B";
    const hp::decoder_plan p{.tp = devices == 4 ? 2 : 1,
                             .pp = pp,
                             .dp = devices == 4 ? 2 : 1,
                             .micro_batches = 8,
                             .schedule = place,
                             .chunks = chunked ? 2 : 1,
                             .batch = 16,
                             .sequence = 4096};
    if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) return;
    const hp::simulated_pipeline replayed = hp::simulate_pipeline(d, p, prices, hp::extent_t{1} << 50);
    ASSERT_TRUE(replayed.ok()) << name;
    const hp::pipelined_program one =
        hp::partition(hp::training_graph_of(d, p, true), hp::strategy_of(p),
                      hp::pipeline_value{.schedule = schedule, .ranks = pp, .chunks = p.chunks});
    ASSERT_TRUE(one.ok()) << name;
    const hp::lowered_program l = hp::lower_training(one.program, {.topology = prices.links(), .lookahead = 4});
    const double clock = static_cast<double>(hp::simulate(l, prices.device()).makespan);
    const double off = static_cast<double>(replayed.replay.times.makespan) / clock - 1;
    EXPECT_LE(std::abs(off), 0.02) << name << ", pp " << pp << ", devices " << devices << (d.tied ? ", tied" : "");
    most = std::max(most, std::abs(off));
  };
  for (const char* name : {"GPipe", "1F1B", "Interleaved1F1B", "ZB-H1", "ZB-V"})
    for (const int devices : {1, 4})
      for (const int pp : {2, 4})
        for (const hp::decoder& d : {hp::test::llama3_8b, hp::test::qwen25_0_5b}) hold(d, name, pp, devices);
  std::printf("replay of stages within %.2f %% of the one plan\n", 100 * most);
}

}  // namespace
