// SPDX-License-Identifier: Apache-2.0
// The bound of n copies against `bound_makespan` of all copies written out, field by field.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_bounds.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

TEST(PeriodicBounds, EqualsTheExplicitOne) {
  std::mt19937 random(5);
  const int cases = random_cases(20000);
  int repeated = 0, chained = 0;
  for (int i = 0; i < cases; ++i) {
    const std::int64_t synchronisation = below(random, 3);
    const planned_period p(random_period(random, 1 + below(random, 9), 20), synchronisation);
    for (int copies : {1, 2, 3, 4, 6, 11, 40}) {
      hp::owned_taskflow f(hp::unrolled_room(p.period, copies));
      hp::unroll(f, p.period, copies);
      hp::owned_schedule_scratch x(f.size, small_queues);
      const hp::periodic_bound b = p.bound(copies, synchronisation);
      ASSERT_EQ(b.bound, hp::bound_makespan(f, small_machine, synchronisation, x)) << i << ", " << copies << " copies";
      ASSERT_LE(b.value(), p.simulated(copies, synchronisation).total.makespan) << i;
      chained += b.chain > b.bound.value ? 1 : 0;
      if (copies == 40) repeated += b.simulated < 20 ? 1 : 0;
    }
  }
  EXPECT_GT(repeated, cases / 4);
  EXPECT_GT(chained, cases / 20);
}

constexpr auto layer = hp::build_period<hp::measure(prefetched_layer{})>(prefetched_layer{});

TEST(PeriodicBounds, IsTheSameAtCompileTime) {
  constexpr hp::periodic_bound bound = hp::bound_period<layer, small_queues>(small_machine, 61);
  EXPECT_EQ(planned_period(prefetched_layer{}).bound(61), bound);
  EXPECT_EQ(planned_period(prefetched_layer{}).bound(0), hp::periodic_bound{});
  EXPECT_LE(bound.simulated, 16);
  constexpr hp::makespan_certificate certificate{
      hp::simulate_period(layer, hp::schedule_period<layer, small_queues>(small_machine), 61).total.makespan,
      bound.value()};
  static_assert(certificate.ratio() >= 10000 && certificate.ratio() <= 10150);
  static_assert(bound.gate == 2 && bound.chain == 61 * 120, "two rounds of tiles and the vector task, layer by layer");
}

}  // namespace
