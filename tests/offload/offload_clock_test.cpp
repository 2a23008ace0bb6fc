// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_clock.hpp>

#include <offload/random_offload_program.hpp>
#include <offload/small_periods.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

/// Five operators of 10 ps; a value of 6 bytes from the first to the last, and one of 5 at the third. A byte takes a
/// picosecond on the link out, two on the link in.
constexpr hp::offload_program five_operators(hp::extent_t budget) {
  hp::offload_program p = two_tiers(budget, 5, 10, {500'000'000'000, 0});
  add_accessed(p, {.bytes = 6}, {{0, false, true}, {4, true, false}});
  add_accessed(p, {.bytes = 5}, {{2, false, true}});
  return p;
}

constexpr hp::extent_t time_of(const hp::offload_program& p, const hp::gap_decision& first) {
  hp::offload_clock clock(p);
  hp::offload_plan plan = hp::keep_all(clock.chains.gap.size);
  plan.gap[0] = first;
  return clock.run(plan.gap.item);
}

using enum hp::gap_choice;

static_assert(time_of(five_operators(11), {keep}) == 50);
static_assert(time_of(five_operators(10), {keep}) == hp::endless, "both do not fit");
static_assert(time_of(five_operators(10), {offload, 1, 0, 3}) == 62, "the copy in is seen in full");
static_assert(time_of(five_operators(10), {offload, 1, 0, 2}) == 52, "ten of twelve are hidden");
static_assert(time_of(five_operators(11), {offload, 1, 0, 1}) == 50, "it is hidden");
static_assert(time_of(five_operators(10), {offload, 1, 0, 1}) == 52, "it waits until the third operator gives room");
static_assert(time_of(five_operators(6), {offload, 1, 0, 3}) == 62);
static_assert(time_of(five_operators(5), {offload, 1, 0, 3}) == hp::endless);

constexpr hp::offload_program with_recomputation() {
  hp::offload_program p = five_operators(10);
  p.storage[0].recompute = 7;
  return p;
}
static_assert(time_of(with_recomputation(), {recompute}) == 57);

constexpr hp::offload_program with_collective() {
  hp::offload_program p = five_operators(10);
  p.op[3].link = 0;  // shares the link in, and runs beside operator 4, but for the value that the latter reads
  return p;
}
static_assert(time_of(with_collective(), {offload, 1, 0, 3}) == 52, "the collective has run beside the third operator");
static_assert(time_of(with_collective(), {offload, 1, 0, 2}) == 52, "the copy stands before the collective");

TEST(offload_clock, starts_anew_each_time) {
  draw d(1);
  for (int i = 0; i < 300; ++i) {
    program_shape shape;
    shape.tiers = 3;
    shape.collectives = d.one_in(2);
    const hp::offload_program p = random_program(d, shape);
    hp::offload_clock clock(p);
    for (int k = 0; k < 10; ++k) {
      const hp::offload_plan plan = random_plan(d, p);
      hp::offload_clock fresh(p);
      const hp::extent_t time = fresh.run(plan.gap.item);
      EXPECT_EQ(clock.run(plan.gap.item), time);
      EXPECT_EQ(clock.stuck, fresh.stuck);
      EXPECT_EQ(time == hp::endless, fresh.stuck >= 0);
      for (int t = 0; t < p.tier.size; ++t) EXPECT_EQ(clock.peak[t], fresh.peak[t]);
    }
  }
}

TEST(offload_clock, takes_the_time_of_the_operators_where_all_fits) {
  draw d(2);
  for (int i = 0; i < 500; ++i) {
    program_shape shape;
    shape.collectives = d.one_in(2);
    hp::offload_program p = random_program(d, shape);
    p.tier[0].capacity = 1'000'000;
    hp::offload_clock clock(p);
    const hp::offload_plan plan = hp::keep_all(clock.chains.gap.size);
    EXPECT_EQ(clock.run(plan.gap.item), hp::times_without_copies(p, clock.chains).total);
    EXPECT_LE(clock.peak[0], 1'000'000);
  }
}

TEST(offload_clock, says_where_it_stuck) {
  hp::offload_clock clock(five_operators(10));
  const hp::offload_plan plan = hp::keep_all(1);
  EXPECT_EQ(clock.run(plan.gap.item), hp::endless);
  EXPECT_EQ(clock.stuck, 2);
}

}  // namespace
