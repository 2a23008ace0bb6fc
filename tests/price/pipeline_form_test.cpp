// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/pipeline_form.hpp>

#include <gtest/gtest.h>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

TEST(PipelineForm, SharesRoundWithoutOverflow) {
  const hp::stage_share third{1, 3};
  EXPECT_EQ(third.of(10), 3);
  EXPECT_EQ(third.at_least(10), 4);
  EXPECT_EQ(third.of(9), third.at_least(9));
  const hp::stage_share large{61 * 1000, 61 * 1000 * 7};
  constexpr hp::extent_t much = hp::extent_t{7} * 1'000'000'000'000'000;
  EXPECT_EQ(large.of(much), much / 7);
  EXPECT_EQ(large.at_least(much), much / 7);
  EXPECT_EQ(large.at_least(much + 1), much / 7 + 1);
}

TEST(PipelineForm, OneStageHasTheWhole) {
  const hp::graph g = searched::small_model{.layers = 6, .micro_batches = 3}.build();
  const hp::pipeline_form form(g, 1);
  EXPECT_TRUE(form.fits());
  for (const int segment : {-1, 0})
    for (const hp::graph_phase phase : {hp::graph_phase::forward, hp::graph_phase::update}) {
      EXPECT_EQ(form.held(segment).of(1000), 1000);
      EXPECT_EQ(form.kept(segment, form.in_flight()).of(1000), 1000);
      EXPECT_EQ(form.busy(segment, phase).of(1000), 1000);
    }
  EXPECT_EQ(form.rounds(hp::graph_phase::forward), 3);
  EXPECT_EQ(form.rounds(hp::graph_phase::update), 1);
}

// 6 layers in 4 stages: the fullest has 2 of them, and 1 / 4 of what is outside the layers.
TEST(PipelineForm, StagesHaveTheirShares) {
  const hp::graph g = searched::small_model{.layers = 6, .micro_batches = 3}.build();
  const hp::pipeline_form form(g, 4);
  EXPECT_TRUE(form.fits());
  EXPECT_FALSE(hp::pipeline_form(g, 7).fits());
  EXPECT_EQ(form.held(0).of(600), 200);
  EXPECT_EQ(form.held(-1).of(600), 150);
  EXPECT_EQ(form.in_flight(), 3);  // min(4, 3)
  EXPECT_EQ(form.in_flight(2), 2);
  EXPECT_EQ(form.kept(0, form.in_flight()).of(600), 600);
  EXPECT_EQ(form.kept(0, 1).of(600), 200);
  EXPECT_EQ(form.rounds(hp::graph_phase::backward), 6);
  EXPECT_EQ(form.busy(0, hp::graph_phase::backward).of(600), 400);  // 6 rounds instead of 3
  EXPECT_EQ(form.busy(0, hp::graph_phase::update).of(600), 200);
}

}  // namespace
