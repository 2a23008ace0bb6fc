// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/action_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/price/row_memory.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "planner/small_decoders.hpp"

namespace {

namespace hp = hyperparallel;
using part = hp::decoder_part;

const hp::interconnect links = hp::interconnect_of(hp::matrix384::topology);

hp::sharded_program program_of(const hp::decoder& d, const hp::decoder_plan& p) {
  hp::graph g = hp::training_graph_of(d, p, true);
  hp::detail::accumulate_by_part(g);
  return hp::partition(g, hp::strategy_of(p));
}

/// Calls `run(program, moves)` for decoders of every family under several plans, of one micro-batch and of several.
template <class Run>
void for_each_program(const Run& run) {
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& p :
         {hp::decoder_plan{.batch = 8, .sequence = 8},
          hp::decoder_plan{.tp = 2, .dp = 2, .zero = 1, .batch = 8, .sequence = 8},
          hp::decoder_plan{.dp = 4, .zero = 3, .micro_batches = 2, .batch = 8, .sequence = 8},
          hp::decoder_plan{
              .tp = 2, .dp = 2, .zero = 1, .micro_batches = 4, .recomputed = true, .batch = 16, .sequence = 8}}) {
      if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) continue;
      const hp::sharded_program program = program_of(d, p);
      ASSERT_EQ(program.status.code, hp::strategy_code::ok);
      run(d, p, program, hp::kinds_of_moves(program, links));
    }
}

hp::extent_t most_of(const hp::stage_holding& h) {
  hp::extent_t most = 0;
  for (const hp::action_memory& m : {h.forward, h.backward, h.norm, h.update}) most = std::max(most, m.peak);
  return most;
}

// All parts as one stage: the most is what the whole program has alive at once, but for single numbers that stay for who reads them.
TEST(ActionMemory, OfOneStageItIsTheProgram) {
  int programs = 0;
  for_each_program([&](const hp::decoder&, const hp::decoder_plan& plan, const hp::sharded_program& p,
                       const hp::program_moves& moves) {
    const hp::stage_holding h = hp::holding_of(p, moves, {part::embedding, part::head});
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
    hp::extent_t inputs = 0, shown = 0;  // inputs of all micro-batches but one; what stays to be read
    for (int i = 0; i < p.storage.size; ++i) {
      const hp::program_storage& s = p.storage[i];
      if (s.home && p.graph.tensor[s.tensor].kind == hp::graph_tensor_kind::input)
        inputs += hp::detail::aligned(s.bytes) * (plan.micro_batches - 1);
      if (!s.home && lives[i].always) shown += hp::detail::aligned(s.bytes);
    }
    const hp::extent_t alive = hp::alive_maximum(p, moves) + inputs;
    EXPECT_LE(h.home + most_of(h), alive);
    EXPECT_GE(h.home + most_of(h) + shown, alive);
    EXPECT_LE(shown, 4 * hp::detail::storage_alignment);
    ++programs;
  });
  EXPECT_GT(programs, 20);
}

// Whether W waits or not, the same is left behind it. What hands nothing back has no I, and its W is B.
TEST(ActionMemory, OfEveryStage) {
  int later = 0;
  for_each_program([&](const hp::decoder& d, const hp::decoder_plan& plan, const hp::sharded_program& p,
                       const hp::program_moves& moves) {
    for (const hp::part_range own : {hp::part_range{part::embedding, part::layers},
                                     {part::layers, part::layers},
                                     {part::layers, part::head},
                                     {part::embedding, part::head}}) {
      const hp::stage_holding h = hp::holding_of(p, moves, own);
      EXPECT_EQ(h.weight_gradient.after, h.backward.after);
      EXPECT_EQ(h.update.after, 0);
      EXPECT_EQ(h.weight_gradient.after == 0, plan.micro_batches > 1);
      for (const hp::action_memory& m :
           {h.forward, h.input_gradient, h.weight_gradient, h.backward, h.norm, h.update}) {
        EXPECT_GE(m.peak, m.after);
        EXPECT_GE(m.peak, m.taken_in);
      }
      EXPECT_GT(h.forward.after, 0);
      EXPECT_EQ(h.level(hp::action_kind::backward), h.forward.after);
      EXPECT_EQ(h.level(hp::action_kind::weight_gradient), h.input_gradient.after);
      if (own.first == part::embedding) {
        EXPECT_EQ(h.input_gradient.peak, h.forward.after);
        EXPECT_EQ(h.input_gradient.after, h.forward.after);
        EXPECT_EQ(h.weight_gradient.peak, h.backward.peak);
        EXPECT_EQ(h.shared_home, 0);
        continue;
      }
      EXPECT_EQ(h.shared_home > 0, d.tied && own.last == part::head);
      EXPECT_GT(h.input_gradient.handed_on, 0);
      EXPECT_GT(h.input_gradient.after, 0);
      // What was computed again for I is there until W.
      if (plan.recomputed) {
        EXPECT_GT(h.input_gradient.after, h.forward.after);
        ++later;
      }
    }
  });
  EXPECT_GT(later, 0);
}

// Homes of layers and head are those of both; each part's are somewhere, a tied table in two.
TEST(ActionMemory, HomesAreEachParts) {
  for_each_program([](const hp::decoder&, const hp::decoder_plan&, const hp::sharded_program& p,
                      const hp::program_moves& moves) {
    const auto home = [&](part first, part last) {
      const hp::stage_holding h = hp::holding_of(p, moves, {first, last});
      return h.home - h.shared_home;
    };
    EXPECT_GE(home(part::embedding, part::layers) + home(part::head, part::head), home(part::embedding, part::head));
    EXPECT_LE(home(part::layers, part::layers), home(part::layers, part::head));
    EXPECT_LE(home(part::layers, part::head), home(part::embedding, part::head));
  });
}

// The gradient of a tied table crosses to the first stage: of several micro-batches once, before norm, and in backward as much is
// handed over as of a decoder that is not tied; of one micro-batch in backward.
TEST(ActionMemory, GradientsOfATiedTableCrossOnceAStep) {
  int once = 0, in_backward = 0;
  for_each_program(
      [&](hp::decoder d, const hp::decoder_plan& plan, const hp::sharded_program& p, const hp::program_moves& moves) {
        if (!d.tied) return;
        const hp::extent_t shard = 4 * d.vocabulary * d.hidden / hp::device_count_of(plan);
        d.tied = false;
        const hp::sharded_program untied = program_of(d, plan);
        const hp::program_moves untied_moves = hp::kinds_of_moves(untied, links);
        constexpr hp::part_range begin{part::embedding, part::layers}, end{part::layers, part::head};
        const hp::stage_holding first = hp::holding_of(p, moves, begin), last = hp::holding_of(p, moves, end),
                                alone = hp::holding_of(untied, untied_moves, begin),
                                other = hp::holding_of(untied, untied_moves, end);
        EXPECT_EQ(first.home, alone.home);
        if (plan.micro_batches > 1) {
          EXPECT_EQ(first.backward.taken_in, alone.backward.taken_in);
          EXPECT_EQ(last.backward.handed_on, other.backward.handed_on);
          EXPECT_GE(first.norm.taken_in, shard);
          ++once;
        } else {
          EXPECT_GE(first.backward.taken_in, alone.backward.taken_in + shard);
          EXPECT_GE(last.backward.handed_on, other.backward.handed_on + shard);
          EXPECT_LE(first.norm.taken_in, alone.norm.taken_in);
          ++in_backward;
        }
      });
  EXPECT_GT(once, 3);
  EXPECT_GT(in_backward, 3);
}

/// Calls `run(schedule, chunks of a rank)` for schedules that hold each stage once.
template <class Run>
void for_each_schedule(const Run& run) {
  for (const hp::named_schedule& one : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 5; ++ranks)
      for (int chunks = 1; chunks <= 3; ++chunks)
        for (int m = 1; m <= 12; ++m)
          if (const hp::pipeline_shape n{ranks, chunks, m};
              hp::copies_of_stages(one.placement) == 1 && one.check(n).ok())
            run(one.generate(n, false));
}

// Of stages that hold one unit from F to W, or to I, ranks hold as many as the replay counts.
TEST(ActionMemory, RowsHoldWhatTheReplayCounts) {
  int schedules = 0;
  for_each_schedule([&](const hp::pipeline_schedule& s) {
    hp::growing_array<hp::stage_holding> until_weights, until_inputs;
    for (int t = 0; t < s.stages; ++t) {
      until_weights.push({.home = 100,
                          .forward = {.peak = 1, .after = 1},
                          .input_gradient = {.peak = 1, .after = 1},
                          .weight_gradient = {.peak = 1},
                          .backward = {.peak = 1}});
      until_inputs.push({.forward = {.peak = 1, .after = 1}, .input_gradient = {.peak = 1}, .backward = {.peak = 1}});
    }
    const hp::pipeline_account a = hp::replay(s);
    ASSERT_TRUE(a.ok());
    const hp::growing_array<hp::extent_t> held = hp::peaks_of_ranks(until_weights, s),
                                          forward = hp::peaks_of_ranks(until_inputs, s);
    ASSERT_EQ(held.size, s.ranks);
    for (int r = 0; r < s.ranks; ++r) {
      EXPECT_EQ(held[r] % 100, a.rank[r].peak_until_weight_gradient);
      EXPECT_EQ(held[r] / 100, s.stages / s.ranks);
      EXPECT_EQ(forward[r], a.rank[r].peak_until_input_gradient);
    }
    ++schedules;
  });
  EXPECT_GT(schedules, 300);
}

// On the row F B F B of one rank, counted by hand: buffers stand beside the action before, or behind.
TEST(ActionMemory, HandOversStandBesideTheNextAction) {
  const hp::pipeline_schedule s = hp::generate<hp::one_forward_one_backward, hp::growing_pipeline_sizes>({1, 1, 2});
  hp::growing_array<hp::stage_holding> one;
  one.push({.home = 1000,
            .forward = {.peak = 10, .after = 4, .taken_in = 1, .handed_on = 2},
            .backward = {.peak = 10, .taken_in = 5}});
  EXPECT_EQ(hp::peaks_of_ranks(one, s)[0], 1000 + 10 + 5);
  one[0].backward.peak = 20;
  EXPECT_EQ(hp::peaks_of_ranks(one, s)[0], 1000 + 20 + 2 + 1);
  one[0].norm = {.peak = 50, .after = 3};
  EXPECT_EQ(hp::peaks_of_ranks(one, s)[0], 1000 + 50);
}

// Stages of one rank are normed one after the other; what norm leaves of all is there when the first one is updated.
TEST(ActionMemory, UpdatesOfOneRankStandBesideEachOther) {
  const hp::pipeline_schedule s = hp::generate<hp::gpipe, hp::growing_pipeline_sizes>({1, 3, 1});
  hp::growing_array<hp::stage_holding> three;
  for (int t = 0; t < 3; ++t) three.push({.norm = {.peak = 7, .after = 5}, .update = {.peak = 8}});
  EXPECT_EQ(hp::peaks_of_ranks(three, s)[0], 8 + 2 * 5);
}

// What the last stage has accumulated takes memory of its own in the norm of the first one, but where one rank has both.
TEST(ActionMemory, WhatOneRankAccumulatesIsThereForItsFirstStage) {
  hp::growing_array<hp::stage_holding> two;
  two.push({.norm = {.peak = 9, .after = 2, .taken_in = 5}});
  two.push({.norm = {.peak = 1, .after = 1}});
  EXPECT_EQ(hp::peaks_of_ranks(two, hp::generate<hp::gpipe, hp::growing_pipeline_sizes>({2, 1, 6}))[0], 9);
  EXPECT_EQ(hp::peaks_of_ranks(two, hp::generate<hp::gpipe, hp::growing_pipeline_sizes>({1, 2, 6}))[0], 9 - 5);
  two[0].norm.after = 8;
  EXPECT_EQ(hp::peaks_of_ranks(two, hp::generate<hp::gpipe, hp::growing_pipeline_sizes>({1, 2, 6}))[0], 8 + 1);
}

}  // namespace
