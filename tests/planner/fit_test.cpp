// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/fit.hpp>

#include <gtest/gtest.h>

#include <random>
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

// The order of verdicts over small worlds: strict, transitive, and by the verdict first; tight is what fits without the
// allocator's waste.
TEST(PlanFit, AnswersAreInOneOrder) {
  std::vector<hp::fit_rank> all;
  for (const auto v : {hp::fit_verdict::fits, hp::fit_verdict::tight, hp::fit_verdict::does_not_fit})
    for (hp::extent_t time = 1; time <= 3; ++time)
      for (hp::extent_t bytes = 1; bytes <= 3; ++bytes) all.push_back({v, time, bytes});
  for (const hp::fit_rank& a : all)
    for (const hp::fit_rank& b : all) {
      EXPECT_FALSE(hp::is_better(a, b) && hp::is_better(b, a));
      if (hp::is_answer(a.verdict) != hp::is_answer(b.verdict)) {
        EXPECT_EQ(hp::is_better(a, b), hp::is_answer(a.verdict));
      }
      if (a.verdict < b.verdict) {
        EXPECT_TRUE(hp::is_better(a, b));
      }
      for (const hp::fit_rank& c : all) {
        if (hp::is_better(a, b) && hp::is_better(b, c)) {
          EXPECT_TRUE(hp::is_better(a, c));
        }
        const bool ab = !hp::is_better(a, b) && !hp::is_better(b, a), bc = !hp::is_better(b, c) && !hp::is_better(c, b);
        if (ab && bc) {
          EXPECT_FALSE(hp::is_better(a, c) || hp::is_better(c, a));
        }
      }
    }
  for (hp::extent_t peak = 0; peak <= 40; ++peak)
    for (const hp::extent_t library : {0, 1, 7})
      for (const hp::extent_t waste : {0, 1, 100, 1000})
        for (hp::extent_t bytes = 0; bytes <= 100; ++bytes) {
          const hp::memory_reserve r{library, waste};
          EXPECT_EQ(hp::is_answer(hp::verdict_of(peak, r, bytes)),
                    hp::verdict_of(peak, r.without_waste(), bytes) == hp::fit_verdict::fits);
        }
}

// Against integers of 128 bits: no peak up to the largest of 64 bits wraps, and what 64 bits do not hold fits nowhere.
TEST(PlanFit, WhatIsNeededIsExactOrNotCounted) {
  __extension__ typedef __int128 wide;
  std::mt19937_64 random(49);
  const auto number = [&] { return static_cast<hp::extent_t>(random() >> (1 + random() % 63)); };
  int beyond = 0;
  for (int i = 0; i < 20'000; ++i) {
    const hp::memory_reserve reserve{.library_bytes = i % 3 == 0 ? number() : number() >> 13,
                                     .allocator_per_mille = i % 5 == 0 ? number() : number() % 1001};
    const hp::extent_t peak = i % 7 == 0 ? hp::not_counted - number() % 1000 : number(), bytes = number();
    const wide least = wide{peak} + reserve.library_bytes;
    const wide needed = least + (wide{peak} * reserve.allocator_per_mille + 999) / 1000;
    const bool counted = needed < hp::not_counted;
    beyond += !counted;
    ASSERT_EQ(reserve.needed(peak), counted ? static_cast<hp::extent_t>(needed) : hp::not_counted) << peak;
    const hp::fit_verdict expected = needed <= bytes  ? hp::fit_verdict::fits
                                     : least <= bytes ? hp::fit_verdict::tight
                                                      : hp::fit_verdict::does_not_fit;
    ASSERT_EQ(hp::verdict_of(peak, reserve, bytes), expected) << peak;
  }
  EXPECT_GT(beyond, 1000);
  constexpr hp::memory_reserve doubled{.library_bytes = 0, .allocator_per_mille = 1000};
  static_assert(hp::verdict_of(9'300'000'000'000'000, doubled, 80 * hp::GiB) == hp::fit_verdict::does_not_fit);
  static_assert(hp::verdict_of(hp::not_counted, {}, hp::not_counted) == hp::fit_verdict::does_not_fit);
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
