// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/simulated_rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hp = hyperparallel;

namespace {

struct row {
  hp::extent_t estimate = 0,
               clock = 0;  ///< a negative clock: its addresses exceed the memory; 0: it cannot be simulated
  hp::simulated_plan simulated{};
  constexpr hp::extent_t time() const { return simulated.ok() ? simulated.times.makespan : estimate; }
};

constexpr void simulate(row& r) {
  r.simulated.code = r.clock < 0    ? hp::simulated_plan_code::exceeds_memory
                     : r.clock == 0 ? hp::simulated_plan_code::is_a_pipeline
                                    : hp::simulated_plan_code::ok;
  r.simulated.times.makespan = r.clock;
}

hp::growing_array<row> random_rows(std::mt19937& random) {
  hp::growing_array<row> rows;
  for (int i = 0, n = static_cast<int>(random() % 7); i < n; ++i) {
    const hp::extent_t estimate = 1 + static_cast<hp::extent_t>(random() % 6), slip = random() % 8;
    rows.push({estimate, slip == 0 ? -1 : slip == 1 ? 0 : estimate + slip - 3 > 0 ? estimate + slip - 3 : 1});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const row& a, const row& b) { return a.estimate < b.estimate; });
  return rows;
}

// The first row was simulated or cannot be, none takes less, those that do not fit are gone, and none is lost else.
TEST(SimulatedRows, NoRowTakesLessThanTheFirst) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    hp::growing_array<row> rows = random_rows(random);
    const int before = rows.size;
    int asked = 0, gone = 0;
    hp::simulate_rows(
        rows,
        [&](row& r) {
          simulate(r);
          gone += r.clock < 0;
        },
        [&] {
          ++asked;
          return true;
        });
    EXPECT_EQ(rows.size, before - gone);
    EXPECT_LE(asked, before);
    if (rows.empty()) continue;
    EXPECT_NE(rows[0].simulated.code, hp::simulated_plan_code::not_asked);
    for (int k = 0; k < rows.size; ++k) {
      EXPECT_LE(rows[0].time(), rows[k].time());
      if (k > 0) {
        EXPECT_LE(rows[k - 1].time(), rows[k].time());
      }
      EXPECT_NE(rows[k].simulated.code, hp::simulated_plan_code::exceeds_memory);
      // What was not simulated was estimated to take no less.
      if (rows[k].simulated.code == hp::simulated_plan_code::not_asked) {
        EXPECT_GE(rows[k].estimate, rows[0].time());
      }
    }
  }
}

TEST(SimulatedRows, EndWhereTheyAreToldTo) {
  hp::growing_array<row> rows;
  for (const hp::extent_t t : {1, 2, 3}) rows.push({t, 10 * t});
  int left = 1;
  hp::simulate_rows(rows, simulate, [&] { return left-- > 0; });
  EXPECT_EQ(rows[0].estimate, 2);
  EXPECT_EQ(rows[2].time(), 10);
  EXPECT_TRUE(hp::simulate_row(rows, 1, simulate));
  EXPECT_EQ(rows[2].time(), 30);
}

TEST(SimulatedRows, CountsWhatWasSimulated) {
  hp::simulation_counts c;
  for (const auto code : {hp::simulated_plan_code::ok, hp::simulated_plan_code::replayed,
                          hp::simulated_plan_code::exceeds_memory, hp::simulated_plan_code::is_not_lowered})
    c.add({.code = code}, code == hp::simulated_plan_code::replayed);
  EXPECT_EQ(c, (hp::simulation_counts{3, 1, 1}));
}

constexpr bool ends_at_compile_time() {
  hp::growing_array<row> rows;
  for (const hp::extent_t t : {1, 2, 3}) rows.push({t, 7 - 2 * t});
  hp::simulate_rows(rows, simulate, [] { return true; });
  return rows[0].time() == 1 && rows[1].time() == 3 && rows[2].time() == 5;
}
static_assert(ends_at_compile_time());

}  // namespace
