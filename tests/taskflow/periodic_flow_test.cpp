// SPDX-License-Identifier: Apache-2.0
// Carried numbers, banks and what a period may not be.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_flow.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

TEST(PeriodicFlow, CarriedNumbersComeApart) {
  for (int number : {0, 1, 77, hp::carried_step - 1})
    for (int distance = 0; distance <= hp::most_carried; ++distance) {
      EXPECT_EQ(hp::own_number(hp::carried(number, distance)), number);
      EXPECT_EQ(hp::distance_of(hp::carried(number, distance)), distance);
    }
  EXPECT_EQ(hp::carried(5, 0), 5);
}

TEST(PeriodicFlow, BanksTurnWithTheCopies) {
  loose_period p;
  p.banks = {1, 3, 2};
  const sealed_period q(p);
  for (int copy = 0; copy < 13; ++copy)
    for (int distance = 0; distance <= hp::most_carried; ++distance) {
      EXPECT_EQ(hp::slot_in_copy(q, hp::carried(0, distance), copy), 0);
      EXPECT_EQ(hp::slot_in_copy(q, hp::carried(1, distance), copy), 1 + (copy - distance + 9) % 3);
      EXPECT_EQ(hp::slot_in_copy(q, hp::carried(4, distance), copy), 4 + (copy - distance + 8) % 2);
    }
  EXPECT_EQ(hp::most_banks(q), 3);
  EXPECT_EQ(hp::greatest_distance(q), 0);
}

constexpr auto layer = hp::build_period<hp::measure(prefetched_layer{})>(prefetched_layer{});
static_assert(hp::check_period(layer) == hp::period_status{});
static_assert(hp::greatest_distance(layer) == 2 && hp::most_banks(layer) == 2 && layer.event_banks == 2);
static_assert(layer.size.tasks == 6 && layer.size.runs == 3 && layer.size.slots == 4);
static_assert(layer.wait[0].threshold == 4, "a carried wait is for the total of what the copy signals");

TEST(PeriodicFlow, IsTheSameAtRunTime) {
  const sealed_period p(prefetched_layer{});
  EXPECT_EQ(p.size, layer.size);
  EXPECT_EQ(p.event_banks, layer.event_banks);
  for (int w = 0; w < p.size.waits; ++w) {
    EXPECT_EQ(p.wait[w].event, layer.wait[w].event);
    EXPECT_EQ(p.wait[w].threshold, layer.wait[w].threshold);
  }
  for (int s = 0; s < p.size.slots; ++s) EXPECT_EQ(p.banks[s], layer.banks[s]);
}

TEST(PeriodicFlow, NamesWhatIsWrong) {
  using enum hp::period_code;
  const auto broken = [](auto&& change) {
    auto p = layer;
    change(p);
    return hp::check_period(p);
  };
  EXPECT_EQ(broken([](auto& p) { p.wait[1].event = 3; }), (hp::period_status{event_outside_the_period, 1, 3}));
  EXPECT_EQ(broken([](auto& p) { p.wait[1].event = -1; }), (hp::period_status{event_outside_the_period, 1, -1}));
  EXPECT_EQ(broken([](auto& p) { p.access[0].slot = hp::carried(4); }),
            (hp::period_status{slot_outside_the_period, 0, hp::carried(4)}));
  EXPECT_EQ(broken([](auto& p) { p.wait[0].event = hp::carried(1, hp::most_carried + 1); }),
            (hp::period_status{carried_too_far, 0, hp::carried(1, hp::most_carried + 1)}));
  EXPECT_EQ(broken([](auto& p) { p.access[0].slot = hp::carried(0, hp::most_carried + 1); }),
            (hp::period_status{carried_too_far, 0, hp::carried(0, hp::most_carried + 1)}));
  EXPECT_EQ(broken([](auto& p) { p.wait[0].threshold = 3; }),
            (hp::period_status{carried_wait_in_part, 0, hp::carried(1, 2)}));
  EXPECT_EQ(broken([](auto& p) { p.banks[3] = 2; }), (hp::period_status{banks_outside_the_period, -1, 3}));
  EXPECT_EQ(broken([](auto& p) { p.banks[1] = 2; }), (hp::period_status{bank_groups_overlap, -1, 1}))
      << "slots 0 and 1 are the two banks of slot 0";
  EXPECT_EQ(broken([](auto& p) { p.access[0].slot = hp::carried(1); }),
            (hp::period_status{bank_groups_overlap, 0, hp::carried(1)}));
  EXPECT_EQ(broken([](auto& p) { p.event_banks = 0; }), (hp::period_status{banks_outside_the_period}));
}

}  // namespace
