// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/plan_fit.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

constexpr hp::memory_reserve no_reserve{.library_bytes = 0, .allocator_per_mille = 0};

TEST(PlanFit, ReservesDecideBetweenTightAndFitting) {
  constexpr hp::memory_reserve reserve{.library_bytes = 100, .allocator_per_mille = 50};
  EXPECT_EQ(reserve.needed(1000), 1150);
  EXPECT_EQ(hp::verdict_of(1000, reserve, 1150), hp::fit_verdict::fits);
  EXPECT_EQ(hp::verdict_of(1000, reserve, 1149), hp::fit_verdict::tight);
  EXPECT_EQ(hp::verdict_of(1000, reserve, 1100), hp::fit_verdict::tight);
  EXPECT_EQ(hp::verdict_of(1000, reserve, 1099), hp::fit_verdict::does_not_fit);
}

struct found {
  std::vector<hp::plan_estimate> plan;
  std::vector<int> changes;
  hp::extent_t devices = 0;
};

found plans_within(const hp::decoder& d, const hp::decoder_plan& from, hp::extent_t bytes) {
  hp::device_value device = hp::matrix384::device;
  device.tier[0].bytes = bytes;
  hp::plan_prices prices(device, hp::matrix384::topology);
  found f;
  f.devices = hp::visit_plans_that_fit(d, from, prices, no_reserve, [&](const hp::plan_estimate& e, int changes) {
    f.plan.push_back(e);
    f.changes.push_back(changes);
  });
  return f;
}

// One change where one suffices, and every plan that is told can be and fits.
TEST(PlanFit, TellsTheSmallestChange) {
  hp::decoder d = small_decoders::dense();
  const hp::decoder_plan from{.dp = 2, .batch = 8, .sequence = 64};
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::extent_t held = hp::estimate_plan(d, from, prices).evaluation.memory;
  hp::decoder_plan again = from;
  again.recomputed = true;
  const hp::extent_t less = hp::simulate_plan(d, again, prices, hp::GiB).least_bytes;
  ASSERT_LT(less, held);
  const found one = plans_within(d, from, less);
  EXPECT_EQ(one.devices, 2);
  bool recomputed = false;
  for (std::size_t i = 0; i < one.plan.size(); ++i) {
    EXPECT_EQ(one.changes[i], 1);
    EXPECT_LE(one.plan[i].memory(), less);
    recomputed = recomputed || one.plan[i].plan == again;
  }
  EXPECT_TRUE(recomputed);
  hp::extent_t last = 1;
  for (hp::extent_t bytes = less; bytes > 256; bytes = bytes * 4 / 5) {
    const found f = plans_within(d, from, bytes);
    EXPECT_EQ(f.plan.empty(), f.devices == 0);
    for (const hp::plan_estimate& e : f.plan) {
      EXPECT_TRUE(e.simulated.ok());
      EXPECT_LE(e.memory(), bytes);
      EXPECT_EQ(hp::device_count_of(e.plan), f.devices);
      EXPECT_TRUE(hp::check_plan(d, e.plan, f.devices).ok());
    }
    if (f.devices == 0) {
      last = 0;
      continue;
    }
    EXPECT_GE(f.devices,
              last);  // less memory never needs fewer devices, and where nothing fits, nothing does with less
    EXPECT_NE(last, 0);
    last = f.devices;
  }
  EXPECT_EQ(last, 0);
}

}  // namespace
