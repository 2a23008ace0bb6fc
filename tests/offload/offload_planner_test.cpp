// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_planner.hpp>

#include <offload/best_offload_plan.hpp>
#include <offload/small_periods.hpp>

#include "../../bench/run/offload_baselines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

/// Ratios of planned to best times.
struct ratios {
  std::vector<double> all;
  int optimal = 0, missed = 0, infeasible = 0;

  void enter(hp::extent_t planned, hp::extent_t best) {
    all.push_back(static_cast<double>(planned) / static_cast<double>(best));
    optimal += planned == best ? 1 : 0;
  }
  double mean() const {
    double sum = 0;
    for (const double r : all) sum += r;
    return sum / static_cast<double>(all.size());
  }
  double at(double part) {
    std::sort(all.begin(), all.end());
    return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
  }
  void print(const char* what) {
    std::printf("%s: %zu programs, mean %.4f, 99 %% %.4f, worst %.4f of the optimum; %d optimal, %d infeasible\n", what,
                all.size(), mean(), at(0.99), at(1.0), optimal, infeasible);
  }
};

void expect_certified(const hp::offload_program& p, const hp::planned_offload& planned) {
  ASSERT_EQ(hp::check(p, planned.plan).code, hp::offload_plan_code::ok);
  const hp::offload_certificate& c = planned.certificate;
  EXPECT_GE(c.time, c.time_bound);
  EXPECT_GE(c.bytes_in, c.bytes_in_bound);
  EXPECT_GE(c.bytes_out, c.bytes_out_bound);
  EXPECT_GE(p.tier[0].capacity, c.least_budget);
  for (int t = 0; t < p.tier.size; ++t) EXPECT_LE(c.peak[t], p.tier[t].capacity);
}

TEST(offload_planner, is_near_the_optimum_of_small_programs) {
  draw d(7);
  ratios r;
  const std::size_t wanted = exhaustive() ? 2000 : 150;
  const long most = exhaustive() ? 2'000'000 : 40'000;
  while (r.all.size() < wanted) {
    program_shape shape;
    shape.operators = d.between(5, 12);
    shape.most_gaps = d.between(2, 8);
    shape.tiers = d.one_in(8) ? 3 : d.one_in(8) ? 1 : 2;
    shape.collectives = d.one_in(3);
    shape.half_duplex = d.one_in(4);
    shape.scarce_tiers = d.one_in(8);
    const hp::offload_program p = random_program(d, shape);
    best_plan best;
    search_all(p, true, most, best);
    if (!best.complete) {
      best = {};
      search_all(p, false, most, best);
    }
    if (!best.complete) continue;
    const hp::planned_offload planned = hp::plan_offload(p);
    ASSERT_EQ(planned.status.code, hp::offload_code::ok);
    if (best.time == hp::endless) {
      ++r.infeasible;
      continue;
    }
    EXPECT_LE(planned.certificate.time_bound, best.time);
    EXPECT_TRUE(planned.certificate.feasible) << "the best takes " << best.time;
    if (!planned.certificate.feasible) continue;
    expect_certified(p, planned);
    r.enter(planned.certificate.time, best.time);
  }
  r.print("decisions and issue points");
  EXPECT_LE(r.mean(), 1.03);
  EXPECT_LE(r.at(0.99), 1.15);
  EXPECT_LE(r.at(1.0), 1.20);
}

TEST(offload_planner, orders_movable_operators_and_shares_links_with_collectives) {
  draw d(11);
  ratios fixed, refined;
  const std::size_t wanted = exhaustive() ? 400 : 60;
  const long most = exhaustive() ? 1'000'000 : 60'000;
  int better = 0;
  while (refined.all.size() < wanted) {
    program_shape shape;
    shape.operators = d.between(5, 7);
    shape.most_gaps = 4;
    shape.collectives = shape.movable = true;
    shape.half_duplex = d.one_in(2);
    const hp::offload_program p = random_program(d, shape);
    best_plan best;
    for_each_order(p, [&](const hp::growing_array<int>& order) {
      if (best.complete) search_all(hp::reordered(p, order), false, most, best);
    });
    if (!best.complete || best.time == hp::endless) continue;
    const hp::planned_offload planned = hp::plan_offload(p, {.refine_order = true});
    EXPECT_TRUE(planned.certificate.feasible);
    if (!planned.certificate.feasible) continue;
    expect_certified(p, planned);
    refined.enter(planned.certificate.time, best.time);
    const hp::planned_offload without = hp::plan_offload(p);
    if (!without.certificate.feasible) continue;
    EXPECT_LE(planned.certificate.time, without.certificate.time);
    fixed.enter(without.certificate.time, best.time);
    better += planned.certificate.time < without.certificate.time ? 1 : 0;
  }
  refined.print("with turns of movable operators");
  fixed.print("in the order given");
  EXPECT_LE(refined.mean(), 1.03);
  EXPECT_LE(refined.at(0.99), 1.15);
  EXPECT_LE(refined.at(1.0), 1.20);
  EXPECT_GT(better, 0);
}

TEST(offload_planner, is_never_worse_than_a_baseline) {
  draw d(13);
  const int programs = exhaustive() ? 10'000 : 200;
  int runs = 0, alone = 0;
  double gain = 0;
  for (int i = 0; i < programs; ++i) {
    const hp::offload_program p = random_program(d, long_shape(d, exhaustive() && d.one_in(20) ? 60 : 30));
    const hp::planned_offload planned = hp::plan_offload(p, {.effort = 600'000});
    ASSERT_TRUE(planned.certificate.feasible) << "program " << i;
    expect_certified(p, planned);
    hp::extent_t least = hp::endless;
    for (const offload_baselines::baseline b : offload_baselines::baselines) {
      const hp::extent_t time = offload_baselines::run_baseline(b, p).time;
      EXPECT_LE(planned.certificate.time, time) << "program " << i << ", " << to_text(b);
      least = std::min(least, time);
    }
    alone += least == hp::endless ? 1 : 0;
    if (least == hp::endless) continue;
    ++runs;
    gain += static_cast<double>(least) / static_cast<double>(planned.certificate.time);
  }
  std::printf("%d programs: the best baseline takes %.3f of the plan's time, %d times none runs\n", programs,
              gain / std::max(1, runs), alone);
}

/// Loads per period of Belady's rule over many repetitions of a cyclic sequence of pages, the first ones left out.
double belady_loads(const std::vector<int>& pages, int frames) {
  const int length = static_cast<int>(pages.size()), periods = 60, warm = 20;
  const auto page = [&](int t) { return pages[static_cast<std::size_t>(t % length)]; };
  std::vector<int> held;
  int loads = 0;
  for (int t = 0; t < length * periods; ++t) {
    if (std::find(held.begin(), held.end(), page(t)) != held.end()) continue;
    if (t >= warm * length) ++loads;
    if (static_cast<int>(held.size()) == frames) {
      std::size_t out = 0;
      int farthest = -1;
      for (std::size_t i = 0; i < held.size(); ++i) {
        int next = t + 1;
        while (page(next) != held[i]) ++next;
        if (next > farthest) {
          farthest = next;
          out = i;
        }
      }
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(out));
    }
    held.push_back(page(t));
  }
  return static_cast<double>(loads) / (periods - warm);
}

TEST(offload_planner, copies_as_many_uniform_pages_as_belady) {
  draw d(17);
  const int programs = exhaustive() ? 2000 : 60;
  int loads = 0;
  for (int i = 0; i < programs; ++i) {
    const int count = d.between(3, 6), length = d.between(count, 16), frames = d.between(1, count - 1);
    std::vector<int> pages;
    for (int t = 0; t < length; ++t) {
      int page = t < count ? t : d.below(count);
      if (t > 0 && page == pages.back()) page = (page + 1) % count;
      pages.push_back(page);
    }
    if (pages.front() == pages.back()) continue;
    const hp::offload_link slow{1'000'000'000, 0};  // a page takes a thousand operators
    hp::offload_program p = two_tiers(frames, length, 1, slow, slow);
    for (int page = 0; page < count; ++page) {
      std::vector<hp::storage_access> accesses;
      for (int t = 0; t < length; ++t)
        if (pages[static_cast<std::size_t>(t)] == page) accesses.push_back({t, true, false});
      add_storage(p, 1, true, accesses);
    }
    const hp::planned_offload planned = hp::plan_offload(p);
    ASSERT_TRUE(planned.certificate.feasible);
    const double belady = belady_loads(pages, frames);
    EXPECT_EQ(planned.certificate.bytes_out, 0);
    EXPECT_EQ(planned.certificate.bytes_in, static_cast<hp::extent_t>(std::ceil(belady - 1e-9)))
        << "program " << i << " belady " << belady;
    loads += static_cast<int>(planned.certificate.bytes_in);
  }
  EXPECT_GT(loads, programs);
}

TEST(offload_planner, meets_every_budget_from_the_least_on) {
  draw d(19);
  for (int i = exhaustive() ? 5000 : 100; i > 0; --i) {
    hp::offload_program p = random_program(d, any_shape(d, 40, 200, 2));
    const hp::smallest_budget least = hp::least_budget(p, hp::chains_of(p));
    EXPECT_EQ(least.bytes, budgets_of(p).least);
    p.tier[0].capacity = least.bytes;
    const hp::offload_options quick{.effort = 200'000};
    EXPECT_TRUE(hp::plan_offload(p, quick).certificate.feasible) << i;
    if (least.bytes == 1) continue;
    p.tier[0].capacity = least.bytes - 1;
    const hp::planned_offload refused = hp::plan_offload(p, quick);
    EXPECT_FALSE(refused.certificate.feasible);
    EXPECT_EQ(refused.certificate.least_budget, least.bytes);
    EXPECT_EQ(refused.certificate.time, hp::not_counted) << "no limit is met by what is not planned";
    EXPECT_EQ(refused.certificate.peak[0], hp::not_counted);
    EXPECT_EQ(refused.certificate.bytes_in, hp::not_counted);
    hp::extent_t alive = 0;
    for (const int s : refused.alive) alive += p.storage[s].bytes;
    EXPECT_EQ(alive, least.bytes);
  }
}

constexpr bool same_at_compile_time(hp::extent_t time, hp::extent_t bytes_in) {
  const hp::offload_options few{.effort = 20'000, .starts = 2, .restarts = 2};
  const hp::planned_offload planned = hp::plan_offload(three_layers(70), few);
  return planned.certificate.feasible && planned.certificate.time == time && planned.certificate.bytes_in == bytes_in;
}

TEST(offload_planner, plans_in_a_constant_expression_as_at_run_time) {
  constexpr auto planned = [] {
    const hp::offload_options few{.effort = 20'000, .starts = 2, .restarts = 2};
    return hp::plan_offload(three_layers(70), few).certificate;
  }();
  static_assert(planned.feasible && planned.time >= planned.time_bound);
  EXPECT_TRUE(same_at_compile_time(planned.time, planned.bytes_in));
}

}  // namespace
