// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/plan_check.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/stage_replay.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

/// Calls `visit(plan)` for every product of these degrees.
template <class Visit>
void visit_degrees(hp::decoder_plan p, const Visit& visit) {
  for (p.tp = 1; p.tp <= 6; ++p.tp)
    for (p.dp = 1; p.dp <= 3; ++p.dp)
      for (p.cp = 1; p.cp <= 2; ++p.cp)
        for (p.ep = 1; p.ep <= 3; ++p.ep) visit(p);
}

// The plan can be where the partitioner takes it, and nowhere else.
TEST(PlanCheck, CanBeWhereThePartitionerTakesIt) {
  int taken = 0, refused = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const bool sequence_parallel : {false, true})
      for (const int zero : {0, 3})
        visit_degrees({.zero = zero,
                       .recomputed = zero > 0,
                       .sequence_parallel = sequence_parallel,
                       .adapter_rank = zero > 0 && sequence_parallel ? 2 : 0,
                       .batch = 4,
                       .sequence = 8},
                      [&](const hp::decoder_plan& p) {
                        if (p.ep > 1 && !d.has_experts) return;
                        const bool said = hp::check_plan(d, p, hp::device_count_of(p)).ok();
                        const hp::graph g = hp::training_graph_of(d, p);
                        ASSERT_EQ(g.status.code, hp::graph_code::ok);
                        const hp::strategy_status s = hp::partition(g, hp::strategy_of(p)).status;
                        EXPECT_EQ(said, s.code == hp::strategy_code::ok)
                            << d.has_experts << d.has_latents << " tp " << p.tp << " dp " << p.dp << " cp " << p.cp
                            << " ep " << p.ep << " sequence parallel " << sequence_parallel << ": " << name_of(s.code)
                            << ' ' << (s.dim < 0 ? "" : g.name_of_dim(s.dim)) << ' ' << s.extent << " by " << s.pieces;
                        ++(said ? taken : refused);
                      });
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

// The same of experts along tp, cp or both; widths of experts are then whole.
TEST(PlanCheck, DealsExpertsAlongOtherDegrees) {
  int taken = 0, refused = 0;
  for (const hp::decoder& d : small_decoders::all()) {
    if (!d.has_experts) continue;
    for (const int along : {1, 2, 3})
      visit_degrees({.sequence_parallel = along < 3,
                     .experts_along_tp = along % 2 == 1,
                     .experts_along_cp = along >= 2,
                     .batch = 4,
                     .sequence = 8},
                    [&](const hp::decoder_plan& p) {
                      const bool said = hp::check_plan(d, p, hp::device_count_of(p)).ok();
                      const hp::sharded_program made = hp::partition(hp::training_graph_of(d, p), hp::strategy_of(p));
                      EXPECT_EQ(said, made.status.code == hp::strategy_code::ok)
                          << "tp " << p.tp << " dp " << p.dp << " cp " << p.cp << " ep " << p.ep << " along " << along;
                      ++(said ? taken : refused);
                      if (!said) return;
                      for (int v = 0; v < made.value.size; ++v) {
                        const hp::graph_tensor& t = made.graph.tensor[made.value[v].tensor];
                        if (t.kind != hp::graph_tensor_kind::parameter ||
                            !hp::detail::name_matches("*experts.gate.weight", made.graph.text_at(t.name)))
                          continue;
                        hp::extent_t pieces = 1;
                        for (int c = 0; c < made.value[v].layout.cut_count; ++c)
                          if (made.value[v].layout.cut[c].dim == t.shape.rank - 3)
                            pieces *= made.value[v].layout.cut[c].size;
                        EXPECT_EQ(pieces, hp::detail::expert_ranks_of(p));
                      }
                    });
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(refused, 20);
  const hp::decoder_plan none{.tp = 2, .experts_along_tp = true, .batch = 4, .sequence = 8};
  EXPECT_EQ(hp::check_plan(small_decoders::dense(), none, 2).code, hp::decoder_plan_code::model_has_no_experts);
}

TEST(PlanCheck, SaysWhichDimDoesNotDivide) {
  const hp::decoder d = small_decoders::dense();  // 4 query heads, 2 of keys
  const auto said = [&](const hp::decoder_plan& p) { return hp::check_plan(d, p, hp::device_count_of(p)); };
  const hp::decoder_plan_status heads = said({.tp = 3, .batch = 4, .sequence = 9});
  EXPECT_EQ(heads.code, hp::decoder_plan_code::dim_does_not_divide);
  EXPECT_STREQ(heads.degree, "tp");
  EXPECT_STREQ(heads.dim, "attention heads");
  EXPECT_EQ(heads.extent, 4);
  EXPECT_EQ(heads.pieces, 3);
  EXPECT_STREQ(said({.tp = 4, .batch = 4, .sequence = 8}).dim, "key and value heads");
  EXPECT_STREQ(said({.dp = 3, .batch = 4, .sequence = 8}).dim, "sequences of a micro-batch");
  EXPECT_STREQ(said({.tp = 2, .cp = 2, .batch = 4, .sequence = 6}).degree, "cp x tp");
  EXPECT_STREQ(said({.micro_batches = 3, .batch = 4, .sequence = 8}).degree, "micro_batches");
  EXPECT_EQ(said({.pp = 3, .batch = 4, .sequence = 8}).code, hp::decoder_plan_code::fewer_layers_than_stages);
  EXPECT_EQ(said({.ep = 2, .batch = 4, .sequence = 8}).code, hp::decoder_plan_code::model_has_no_experts);
  EXPECT_EQ(said({.zero = 4, .batch = 4, .sequence = 8}).code, hp::decoder_plan_code::number_is_out_of_range);
  EXPECT_EQ(said({.tp = 0, .batch = 4, .sequence = 8}).code, hp::decoder_plan_code::number_is_out_of_range);
  const hp::decoder_plan_status devices = hp::check_plan(d, {.tp = 2, .dp = 2, .batch = 4, .sequence = 8}, 8);
  EXPECT_EQ(devices.code, hp::decoder_plan_code::degrees_are_not_the_devices);
  EXPECT_EQ(devices.extent, 4);
  EXPECT_EQ(devices.pieces, 8);
}

// Where a schedule exists, and has as many layers as stages, the plan can be.
TEST(PlanCheck, SchedulesAreThoseThatExist) {
  hp::decoder d = small_decoders::dense();
  d.layers = 8;
  int taken = 0;
  for (int schedule = 0; schedule < hp::detail::published_schedule_count; ++schedule)
    for (int pp = 1; pp <= 4; ++pp)
      for (int chunks = 1; chunks <= 4; ++chunks)
        for (const int m : {1, 2, 4, 8}) {
          const hp::decoder_plan p{
              .pp = pp, .micro_batches = m, .schedule = schedule, .chunks = chunks, .batch = 8, .sequence = 8};
          const hp::decoder_plan_status s = hp::check_plan(d, p, pp);
          const bool exists = hp::schedule_of(p).check({pp, chunks, m}).ok() &&
                              hp::copies_of_stages(hp::schedule_table.item[schedule].placement) == 1;
          EXPECT_EQ(s.ok(), exists && (pp > 1 || chunks == 1) && (pp * chunks <= 8 || (pp * chunks == 10)))
              << hp::schedule_of(p).name << ' ' << pp << ' ' << chunks << ' ' << m;
          taken += s.ok() ? 1 : 0;
        }
  EXPECT_GT(taken, 100);
  const hp::decoder_plan_status few = hp::check_plan(
      d, {.pp = 4, .micro_batches = 2, .schedule = hp::schedule_place<hp::zero_bubble_h1>, .batch = 8, .sequence = 8},
      4);
  EXPECT_EQ(few.code, hp::decoder_plan_code::schedule_is_refused);
  EXPECT_EQ(few.schedule, hp::pipeline_code::too_few_micro_batches);
  EXPECT_EQ(few.extent, 4);
}

// A layer that differs from its neighbours is no stage's own: the partitioner's pipeline has only those that repeat.
TEST(PlanCheck, StagesAreDealtLayersThatRepeat) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (hp::decoder d : small_decoders::all())
    for (d.layers = 1; d.layers <= 4; ++d.layers)
      for (int pp = 1; pp <= 5; ++pp) {
        const hp::decoder_plan p{.pp = pp, .batch = 4, .sequence = 8};
        EXPECT_EQ(hp::check_plan(d, p, pp).ok(),
                  hp::evaluate_plan(hp::training_graph_of(d, p), hp::strategy_of(p), pp, prices).ok())
            << d.layers << " layers, " << pp << " stages";
      }
}

}  // namespace
