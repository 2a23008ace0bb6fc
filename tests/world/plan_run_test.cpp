// SPDX-License-Identifier: Apache-2.0
// Plans of decoders, run: the losses of one device, whatever is recomputed, copied or frozen.
#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "planner/small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

hp::graph graph_of(const hp::decoder& d, const hp::decoder_plan& p) {
  return hp::in_floats(hp::training_graph_of(d, p, true), hp::f64);
}

std::vector<double> losses(const hp::graph& g, const hp::strategy_value& s) {
  hp::model_run<double> run(g, s);
  std::vector<double> all;
  for (int step = 0; step < 3; ++step)
    all.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * step + micro)); }));
  return all;
}
std::vector<double> losses(const hp::decoder& d, const hp::decoder_plan& p) {
  EXPECT_TRUE(hp::check_plan(d, p, hp::device_count_of(p)).ok());
  return losses(graph_of(d, p), hp::strategy_of(p));
}
std::vector<double> of_one_device(const hp::decoder& d, const hp::decoder_plan& p) {
  return losses(graph_of(d, p), hp::strategy_called("single", 1).strategy);
}
void expect_near(const std::vector<double>& many, const std::vector<double>& one) {
  ASSERT_EQ(many.size(), one.size());
  for (std::size_t step = 0; step < one.size(); ++step) {
    ASSERT_TRUE(std::isfinite(one[step]));
    EXPECT_NEAR(many[step], one[step], 1e-9 * std::abs(one[step])) << step;
  }
}

constexpr hp::decoder_plan plans[] = {
    {.batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .zero = 1, .batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .zero = 3, .micro_batches = 2, .batch = 8, .sequence = 8},
    {.dp = 2, .cp = 2, .zero = 2, .micro_batches = 2, .batch = 8, .sequence = 8},
};

// What is computed again is the same: no bit of a loss changes.
TEST(PlanRun, SelectiveRecomputationChangesNoBit) {
  for (const hp::decoder& d : {small_decoders::dense(), small_decoders::with_experts(), small_decoders::latent()})
    for (hp::decoder_plan p : plans) {
      const std::vector<double> kept = losses(d, p);
      expect_near(kept, of_one_device(d, p));
      p.recomputed = true;
      EXPECT_EQ(losses(d, p), kept);
      p.selective = true;
      EXPECT_EQ(losses(d, p), kept);
    }
}

TEST(PlanRun, CopiesOfShardsAreOneDevice) {
  for (const hp::decoder& d : {small_decoders::dense(), small_decoders::with_experts()})
    for (const int zero : {1, 2, 3})
      for (const int micro_batches : {1, 2}) {
        hp::decoder_plan p{.tp = 2, .dp = 4, .zero = zero, .copies = 2, .micro_batches = micro_batches};
        p.batch = 8;
        p.sequence = 8;
        expect_near(losses(d, p), of_one_device(d, p));
      }
}

TEST(PlanRun, AdaptersAreThoseOfOneDevice) {
  for (const hp::decoder& d :
       {small_decoders::dense(), small_decoders::with_experts(), small_decoders::latent(), small_decoders::biased()})
    for (hp::decoder_plan p : plans)
      for (const hp::adapted_products adapted : {hp::adapted_products::all, hp::adapted_products::attention_inputs}) {
        const double plain = of_one_device(d, {.batch = 8, .sequence = 8})[0];
        p.adapter_rank = 2;
        p.adapted = adapted;
        const std::vector<double> one = of_one_device(d, p);
        expect_near(losses(d, p), one);
        // Untrained they add nothing.
        EXPECT_TRUE(p.micro_batches > 1 || std::abs(one[0] - plain) <= 1e-12 * plain);
        EXPECT_NE(one[1], one[2]);
        p.recomputed = p.selective = true;
        expect_near(losses(d, p), one);
      }
}

}  // namespace
