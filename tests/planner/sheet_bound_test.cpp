// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/sheet_bound.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/planner/legal_plans.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

using small_decoders::real;

// The search's bound has the shares that are reached, so it may be tighter; what the plan takes is above both.
TEST(SheetBound, NoEstimateIsBelowIt) {
  int plans = 0;
  double closest = 0;
  for (const hp::decoder& small : small_decoders::all()) {
    const hp::decoder d = real(small);
    hp::plan_prices prices(hp::h100::device, hp::h100::topology);
    for (const int micro_batches : {1, 4}) {
      const hp::decoder_plan from{.zero = 1, .micro_batches = micro_batches, .batch = 64, .sequence = 4096};
      hp::detail::visit_legal_degrees(d, from, 16, [&](const hp::decoder_plan& p) {
        const hp::extent_t bound = hp::sheet_bound(d, p, prices.device(), prices.links()).picoseconds();
        const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
        ASSERT_TRUE(e.ok());
        ASSERT_LE(bound, e.evaluation.time) << "tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " ep " << p.ep;
        closest = std::max(closest, static_cast<double>(bound) / static_cast<double>(e.evaluation.time));
        ++plans;
      });
    }
  }
  EXPECT_GT(plans, 80);
  EXPECT_GT(closest, 0.4) << "it says something";
}

TEST(SheetBound, NoShareLatencyOrOverheadEntersIt) {
  const hp::decoder d = real(small_decoders::grouped());
  const hp::decoder_plan p{.tp = 2, .pp = 2, .dp = 2, .cp = 2, .micro_batches = 4, .batch = 32, .sequence = 8192};
  const auto bound = [&](const hp::device_value& device, const hp::topology_value& links) {
    hp::plan_prices prices(device, links);
    return hp::sheet_bound(d, p, prices.device(), prices.links()).seconds();
  };
  const double as_it_is = bound(hp::h100::device, hp::h100::topology);
  hp::device_value device = hp::h100::device;
  device.gmm_cold = device.gmm_warm = hp::per_mille(100);
  device.tier[0].reached = hp::per_mille(100);
  device.task_overhead = device.synchronisation_latency = hp::microsecond;
  hp::topology_value links = hp::h100::topology;
  for (int l = 0; l < links.level_count; ++l) {
    links.level[l].latency = 100 * hp::microsecond;
    for (auto& share : links.level[l].by_size) share = {};
  }
  EXPECT_EQ(bound(device, links), as_it_is);
  device.matrix_flops[static_cast<int>(hp::number_format::bfloat16)] /= 2;
  EXPECT_GT(bound(device, links), as_it_is);
}

// By hand: one device of 1 Pflop/s, one layer.
TEST(SheetBound, CountsWhatCannotBeLeftOut) {
  hp::decoder d = real(small_decoders::grouped());
  const hp::decoder_plan p{.batch = 2, .sequence = 1000};
  const double tokens = 2000, causal = 6.0 * 2 * 32 * 128 * 500 * static_cast<double>(d.layers);
  const auto count = [](const hp::decoder& x) {
    const auto all = hp::detail::count_decoder<double>(x, x.experts.top_k);
    return all.total() - all.positions - all.norms - (x.tied ? 0.0 : all.embedding);
  };
  EXPECT_DOUBLE_EQ(hp::detail::least_operations_of(d, p), tokens * (6 * count(d) + causal));
  d.attention.window = 100;
  EXPECT_LT(hp::detail::least_operations_of(d, p), tokens * (6 * count(d) + causal));
  EXPECT_DOUBLE_EQ(hp::detail::mean_reach(1000, 1000), 500);
  EXPECT_DOUBLE_EQ(hp::detail::mean_reach(1, 1000), 0.9995);
}

TEST(SheetBound, GrowsWithTokensAndShrinksWithDevices) {
  const hp::decoder d = real(small_decoders::grouped());
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  const auto at = [&](const hp::decoder_plan& p) {
    return hp::sheet_bound(d, p, prices.device(), prices.links()).seconds();
  };
  const hp::decoder_plan one{.micro_batches = 4, .batch = 64, .sequence = 4096};
  hp::decoder_plan longer = one, wider = one, more = one, stages = one;
  longer.sequence *= 2;
  wider.batch *= 2;
  more.dp = 4;
  stages.pp = 2;
  EXPECT_GT(at(longer), 2 * at(one));
  EXPECT_DOUBLE_EQ(at(wider), 2 * at(one));
  EXPECT_DOUBLE_EQ(hp::sheet_bound(d, more, prices.device(), prices.links()).operations, at(one) / 4);
  EXPECT_DOUBLE_EQ(hp::sheet_bound(d, stages, prices.device(), prices.links()).operations, at(one) / 2 * 5 / 4);
  static_assert(hp::sheet_bound_value{1, 2, 3}.seconds() == 3);
}

}  // namespace
