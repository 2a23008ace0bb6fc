// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/serving_plan.hpp>

#include <gtest/gtest.h>

#include <layers/decoder_shapes.hpp>
#include <set>
#include <string>
#include <tuple>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

// By the compiler. Of 8 key heads each of 16 devices has one; 12 devices have no whole number of heads.
static_assert(hp::check_serving(hp::test::llama3_8b, {.tp = 16}, 16).ok());
static_assert(hp::share_of(hp::test::llama3_8b, {.tp = 16}).attention.key_heads == 1);
static_assert(hp::check_serving(hp::test::llama3_8b, {.tp = 12}, 12).code ==
              hp::decoder_plan_code::dim_does_not_divide);
static_assert(hp::check_serving(hp::test::llama3_8b, {.ep = 2}, 2).code == hp::decoder_plan_code::model_has_no_experts);
static_assert(hp::check_serving(hp::test::llama3_8b, {.pp = 33}, 33).code ==
              hp::decoder_plan_code::fewer_layers_than_stages);
static_assert(hp::check_serving(hp::test::llama3_8b, {.tp = 2}, 4).code ==
              hp::decoder_plan_code::degrees_are_not_the_devices);
static_assert(hp::check_serving(hp::test::llama3_8b, {.weight_bits = 17}, 1).code ==
              hp::decoder_plan_code::number_is_out_of_range);
static_assert(hp::check_serving(hp::test::gpt2, {.context = 1025}, 1).pieces == 1024, "learned positions");

// Where a plan can be, shares make the whole again: every size that tp cuts, and the layers of the stages.
TEST(ServingPlan, SharesAreWhole) {
  for (const hp::decoder& d : small_decoders::all())
    for (int tp = 1; tp <= 6; ++tp)
      for (int pp = 1; pp <= 4; ++pp)
        for (int ep = 1; ep <= 6; ++ep) {
          const hp::serving_plan p{.tp = tp, .pp = pp, .ep = ep, .batch = 7};
          if (!hp::check_serving(d, p, tp * pp * ep).ok()) continue;
          const hp::decoder s = hp::share_of(d, p);
          EXPECT_EQ(s.vocabulary * tp, d.vocabulary);
          if (!d.has_latents) {
            EXPECT_EQ(s.attention.query_heads * tp, d.attention.query_heads);
            EXPECT_EQ(s.attention.query_heads % s.attention.key_heads, 0);
            EXPECT_GE(s.attention.key_heads * tp, d.attention.key_heads);
          }
          EXPECT_EQ(d.experts.experts % ep, 0);
          hp::extent_t layers = 0;
          for (int stage = 0; stage < pp; ++stage) {
            const hp::stage_layers range = hp::detail::layers_of_stage(d, p, stage);
            EXPECT_EQ(range.first, layers);
            EXPECT_GT(range.end, range.first);
            layers = range.end;
          }
          EXPECT_EQ(layers, d.layers);
          EXPECT_GE(p.sequences() * p.data_ranks(), p.batch);
          EXPECT_GE(p.sequences_at_once() * pp, p.sequences());
        }
}

// The visit finds all plans that can be, each once.
TEST(ServingPlan, VisitsAllThatCanBe) {
  for (const hp::decoder& d : small_decoders::all())
    for (int devices = 1; devices <= 24; ++devices) {
      std::set<std::tuple<int, int, int, int>> visited, all;
      hp::visit_serving_plans(d, {}, devices, [&](const hp::serving_plan& p) {
        EXPECT_TRUE(visited.insert({p.tp, p.pp, p.dp, p.ep}).second);
      });
      for (int tp = 1; tp <= devices; ++tp)
        for (int pp = 1; pp <= devices; ++pp)
          for (int dp = 1; dp <= devices; ++dp)
            for (int ep = 1; ep <= devices; ++ep)
              if (hp::check_serving(d, {.tp = tp, .pp = pp, .dp = dp, .ep = ep}, devices).ok())
                all.insert({tp, pp, dp, ep});
      EXPECT_EQ(visited, all);
    }
}

}  // namespace
