// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_overlap.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>
#include <hyperparallel/planner/simulation.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

const hp::stack_rules& megatron() { return *hp::find_stack("megatron"); }

TEST(StackOverlap, HidesNoMoreThanThereIs) {
  const hp::stack_overlap o{.tensor = 80, .forward = 30, .backward = 60, .reduced = 100, .gathered = 20};
  EXPECT_EQ(o.hidden(4, 1), 60 + 20);           // no part of a move along an axis of one
  EXPECT_EQ(o.hidden(4, 8), 4 * 70 + 60 + 20);  // seven eighths
  EXPECT_EQ((hp::stack_overlap{.tensor = 160, .forward = 30, .backward = 50}).hidden(1, 8), 70);  // of the computing
  EXPECT_EQ(hp::stack_overlap{}.hidden(9, 9), 0);
}

// A step takes no less than its computing and no less than its moves, no more than in the library's order, and no less than the bound of
// a search. Where nothing is cut by tp and nothing is reduced once, nothing is hidden.
TEST(StackOverlap, OfSteps) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  int hidden = 0, alike = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const int tp : {1, 2})
      for (const int dp : {1, 2})
        for (const int zero : {0, 1, 2, 3})
          for (const int micro_batches : {1, 4})
            for (const bool simulated : {false, true}) {
              const hp::decoder_plan p{
                  .tp = tp, .dp = dp, .zero = zero, .micro_batches = micro_batches, .batch = 8, .sequence = 8};
              if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) continue;
              hp::plan_estimate e = hp::estimate_plan(d, p, prices, megatron());
              hp::plan_estimate own = hp::estimate_plan(d, p, prices);
              ASSERT_TRUE(e.ok());
              const hp::extent_t estimated = e.time();
              if (simulated) e.simulated = own.simulated = hp::simulate_plan(d, p, prices, hp::GiB);
              EXPECT_GE(e.time(), estimated / 10 * 9);  // what a search leaves out unsimulated rests on
              EXPECT_EQ(e.own_time(), own.time());
              EXPECT_EQ(e.time() + e.hidden() + e.unsent(), own.time() + e.added());
              EXPECT_EQ(e.exposed() + e.hidden() + e.unsent(), own.exposed());
              EXPECT_EQ(e.computing(), own.computing() + e.added());
              EXPECT_GE(e.time(), e.computing());
              EXPECT_GE(e.time() + 1, e.moving());
              EXPECT_GE(e.hidden(), 0);
              EXPECT_LE(e.least(), e.time() + 1);
              EXPECT_LE(hp::time_bound(d, p, prices, true), e.time());
              if (tp == 1 && (dp == 1 || zero == 3)) {
                EXPECT_EQ(e.hidden(), 0);
                ++alike;
              }
              hidden += e.hidden() > 0;
            }
  EXPECT_GT(hidden, 100);
  EXPECT_GT(alike, 50);
}

// Of real size: of moves along tp one part of eight is waited for, and the reduction of a step goes beside its last backward.
TEST(StackOverlap, OfARealModel) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  const hp::decoder_plan p{.tp = 8, .dp = 8, .zero = 1, .micro_batches = 8, .batch = 64, .sequence = 8192};
  const hp::plan_estimate e = hp::estimate_plan(hp::test::llama3_8b, p, prices, megatron());
  ASSERT_TRUE(e.ok());
  EXPECT_GT(e.hidden(), e.own_exposed() / 2);
  EXPECT_GT(e.overlap.reduced, 0);
  EXPECT_GT(e.overlap.gathered, 0);
  EXPECT_GT(e.overlap.tensor, 0);
}

// Without ZeRO the gradients of several micro-batches are added up and reduced once: as much goes over links as of one micro-batch.
TEST(StackOverlap, WithoutZeroGradientsAreReducedOnce) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p{.dp = 8, .batch = 8, .sequence = 2048};
  const hp::extent_t once = hp::estimate_plan(hp::test::llama3_8b, p, prices).received[0];
  p.micro_batches = 4;
  p.batch = 32;
  EXPECT_NEAR(
      static_cast<double>(hp::estimate_plan(hp::test::llama3_8b, p, prices).received[0]) / static_cast<double>(once),
      1.0, 0.01);
}

// A token of k experts on n groups meets a group's for the first time as often as drawing k of n with repetition does: by counting all draws.
TEST(StackOverlap, TokensEnterEachGroupOnce) {
  for (int groups = 1; groups <= 4; ++groups)
    for (int each = 1; each <= 4; ++each) {
      double first = 0, draws = 1;
      for (int k = 0; k < each; ++k) draws *= groups;
      for (int draw = 0; draw < static_cast<int>(draws); ++draw) {
        unsigned met = 0;
        for (int k = 0, rest = draw; k < each; ++k, rest /= groups) met |= 1u << (rest % groups);
        first += __builtin_popcount(met);
      }
      const hp::detail::expert_routes routes{each, hp::extent_t{groups} * 8};
      EXPECT_NEAR(routes.first_share(8), groups == 1 ? 1 : first / (draws * each), 1e-12) << groups << " " << each;
    }
  EXPECT_EQ(hp::detail::expert_routes{}.first_share(8), 1);
}

// Within a node nothing is left out. Over four nodes a step is shorter by what DeepSeek-V3's eight experts share nodes for, and never shorter than
// what is computed or sent.
TEST(StackOverlap, TokensCrossNodesOnce) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  for (const int ep : {8, 32}) {
    const hp::decoder_plan p{.ep = ep, .zero = 1, .micro_batches = 2, .batch = 64, .sequence = 4096};
    hp::plan_estimate e = hp::estimate_plan(hp::test::deepseek_v3, p, prices, megatron());
    ASSERT_TRUE(e.ok());
    EXPECT_EQ(e.unsent() > 0, ep > 8);
    EXPECT_GT(e.added(), 0);
    EXPECT_LT(e.added(), e.computing() / 5);
    EXPECT_GE(e.time() + 1, e.moving());
    EXPECT_GE(e.time(), e.computing());
    EXPECT_LE(e.least(), e.time());
    EXPECT_LE(hp::time_bound(hp::test::deepseek_v3, p, prices, true), e.time());
    if (ep == 32) {
      EXPECT_GT(e.unsent(), e.own_moving() / 3);
    }
  }
}

}  // namespace
