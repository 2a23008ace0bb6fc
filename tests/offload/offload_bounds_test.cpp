// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_bounds.hpp>

#include <hyperparallel/offload/offload_timeline.hpp>

#include <offload/best_offload_plan.hpp>
#include <offload/small_periods.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

TEST(offload_bounds, hold_for_every_plan) {
  draw d(1);
  int plans = 0;
  double closest = 1e9;
  for (int i = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 20'000 : 800; i > 0; --i) {
    program_shape shape = any_shape(d, 12, 8, 1);
    shape.scarce_tiers = d.one_in(5);
    hp::offload_program p = random_program(d, shape);
    for (int s = 0; s < p.storage.size; ++s)
      if (d.one_in(10)) p.storage[s].control = hp::offload_control::keep;
    const hp::offload_bounds b = hp::bounds_of(p, hp::chains_of(p));
    const hp::smallest_budget least = hp::least_budget(p, hp::chains_of(p));
    for (int k = 0; k < 30; ++k) {
      const hp::offload_plan plan = random_plan(d, p);
      const hp::offload_timeline t = hp::timeline_of(p, plan);
      if (!t.feasible) continue;
      ++plans;
      EXPECT_GE(p.tier[0].capacity, least.bytes);
      ASSERT_GE(t.makespan, b.time);
      ASSERT_GE(t.bytes_in, b.bytes_in);
      ASSERT_GE(t.bytes_out, b.bytes_out);
      closest = std::min(closest, static_cast<double>(t.makespan) / static_cast<double>(b.time));
    }
  }
  EXPECT_GT(plans, 1000);
  EXPECT_EQ(closest, 1.0);
}

TEST(offload_bounds, hold_for_every_order_where_asked) {
  draw d(2);
  for (int i = 0; i < 300; ++i) {
    program_shape shape;
    shape.operators = 8;
    shape.collectives = shape.movable = true;
    const hp::offload_program p = random_program(d, shape);
    const hp::offload_bounds b = hp::bounds_of(p, hp::chains_of(p), true);
    for (int k = 0; k < 10; ++k) {
      const hp::offload_program r = hp::reordered(p, random_order(d, p));
      EXPECT_GE(hp::times_without_copies(r, hp::chains_of(r)).total, b.time);
    }
  }
}

/// `n` values of 10 bytes, made one by one and read in falling order by operators of 5 ps.
constexpr hp::offload_program mirror(int n, hp::extent_t budget, hp::extent_t recompute) {
  hp::offload_program p = two_tiers(budget, 2 * n, 5);
  add_mirrored(p, n, {.bytes = 10, .recompute = recompute});
  return p;
}

constexpr hp::offload_bounds bounds(const hp::offload_program& p) { return hp::bounds_of(p, hp::chains_of(p)); }

// Eight values, room for three: 50 bytes leave and come back. The eighth operator starts after 50 ps at the earliest
// and as much has to come back behind it.
static_assert(bounds(mirror(8, 30, -1)) == hp::offload_bounds{100, 50, 50});
static_assert(bounds(mirror(8, 80, -1)) == hp::offload_bounds{80, 0, 0});
// With recomputation for nothing no byte has to move; dear ones are mixed with copies.
static_assert(bounds(mirror(8, 30, 0)) == hp::offload_bounds{80, 0, 0});
static_assert(bounds(mirror(8, 30, 1)).time == 80);

TEST(offload_bounds, names_the_smallest_budget) {
  const hp::offload_program p = mirror(8, 30, -1);
  const hp::smallest_budget least = hp::least_budget(p, hp::chains_of(p));
  EXPECT_EQ(least.bytes, 10);
  EXPECT_EQ(least.alive.size, 1);
  hp::offload_program pinned = p;
  pinned.storage[2].control = pinned.storage[5].control = hp::offload_control::keep;
  const hp::smallest_budget more = hp::least_budget(pinned, hp::chains_of(pinned));
  EXPECT_EQ(more.bytes, 30);
  ASSERT_EQ(more.alive.size, 3);
  EXPECT_EQ(more.alive[0], 2);
  EXPECT_EQ(more.alive[1], 5);
  EXPECT_GT(more.op, 5);
  pinned.tier.resize(1);
  EXPECT_EQ(hp::least_budget(pinned, hp::chains_of(pinned)).bytes, 80);
}

}  // namespace
