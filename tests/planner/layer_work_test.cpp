// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/layer_work.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/neighbours.hpp>

#include <layers/decoder_shapes.hpp>

namespace {

namespace hp = hyperparallel;

constexpr const hp::device_value& device = hp::matrix384::device;

// Never above what the estimate computes, and close to it: products, slots and attention are nearly all.
TEST(LayerWork, IsAtMostWhatTheEstimateComputes) {
  for (const hp::decoder& d : {hp::test::llama3_8b, hp::test::qwen3_30b_a3b, hp::test::deepseek_v3,
                               hp::test::gpt_oss_20b, hp::test::qwen3_next}) {
    hp::plan_prices prices(device, hp::matrix384::topology);
    double closest = 0;
    for (const bool recomputed : {false, true})
      for (const int micro_batches : {1, 4}) {
        const hp::decoder_plan from{
            .micro_batches = micro_batches, .recomputed = recomputed, .batch = 64, .sequence = 4096};
        hp::detail::visit_legal_degrees(d, from, 16, [&](const hp::decoder_plan& p) {
          if (p.pp > 1) return;
          const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
          ASSERT_TRUE(e.ok());
          const double least = hp::layer_work_of(d, p, device).sum() * micro_batches,
                       computed = static_cast<double>(e.evaluation.times.compute_busy) * 1e-12;
          ASSERT_LE(least, computed) << "tp " << p.tp << " cp " << p.cp << " ep " << p.ep;
          closest = std::max(closest, least / computed);
        });
      }
    EXPECT_GT(closest, 0.75) << d.layers;
  }
}

// A product with few rows takes as long as its table does, and one with many as long as its operations.
TEST(LayerWork, ProductsAreBoundByTheLongerOfBoth) {
  const hp::detail::roofline at(device, {});
  const double few = at.product(16, 4096, 4096), many = at.product(65536, 4096, 4096);
  EXPECT_DOUBLE_EQ(few, (2.0 * 16 * 8192 + 4.0 * 4096 * 4096) * at.byte + at.task);
  EXPECT_DOUBLE_EQ(many, 2.0 * 65536 * 4096 * 4096 * at.operation + at.task);
  EXPECT_DOUBLE_EQ(at.pass(1e9), 1e9 * at.byte + at.task);
  // As many rows by more tables.
  EXPECT_GT(at.product(4096, 4096, 4096, 64), at.product(4096, 4096, 4096));
}

// What cuts the batch cuts slots, and so does cp where it divides those of an expert; tp leaves them whole but where experts are dealt along it. Joint ones
// may be fewer.
TEST(LayerWork, SlotsAreCutByWhatCutsTheBatch) {
  hp::decoder d = hp::test::qwen3_30b_a3b;
  const hp::decoder_plan one{.micro_batches = 2, .batch = 64, .sequence = 4096};
  const double slots = hp::detail::expert_slots_of(d, one);
  EXPECT_EQ(slots, 32.0 * 4096 * 8);
  for (int hp::decoder_plan::* const degree : {&hp::decoder_plan::dp, &hp::decoder_plan::ep, &hp::decoder_plan::cp}) {
    hp::decoder_plan p = one;
    p.*degree = 8;
    EXPECT_EQ(hp::detail::expert_slots_of(d, p), slots / 8);
  }
  hp::decoder_plan p = one;
  p.cp = 3;
  EXPECT_EQ(hp::detail::expert_slots_of(d, p), slots);
  p.cp = 2;
  p.tp = 4;
  EXPECT_EQ(hp::detail::expert_slots_of(d, p), slots / 2);
  p.experts_along_tp = true;
  EXPECT_EQ(hp::detail::expert_slots_of(d, p), slots / 8);
  d.experts.slots = hp::expert_slots::dropless;
  EXPECT_EQ(hp::detail::expert_slots_of(d, one), 32.0 * 4096 * 128);
  d.experts.slots = hp::expert_slots::joint;
  d.experts.capacity_factor = 0.5;
  EXPECT_EQ(hp::detail::expert_slots_of(d, one), slots / 2);
}

TEST(LayerWork, PartsAreOfTheirPhases) {
  hp::decoder_plan p{.tp = 2, .dp = 4, .recomputed = true, .batch = 64, .sequence = 4096};
  const hp::layer_work again = hp::layer_work_of(hp::test::deepseek_v3, p, device);
  EXPECT_GT(again.again, again.shared_again);
  EXPECT_LT(again.again, again.forward);
  EXPECT_GT(again.forward, again.shared);
  EXPECT_GT(again.shared, again.shared_again);
  EXPECT_GT(again.backward, again.gradients);
  p.recomputed = false;
  const hp::layer_work kept = hp::layer_work_of(hp::test::deepseek_v3, p, device);
  EXPECT_EQ(kept.again, 0);
  EXPECT_EQ(kept.shared_again, 0);
  EXPECT_DOUBLE_EQ(kept.sum(), again.sum() - again.again);
  EXPECT_EQ(hp::layer_work_of(hp::test::llama3_8b, p, device).shared, 0);
}

}  // namespace
