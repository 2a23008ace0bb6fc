// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/full_mesh_cost.hpp>
#include <hyperparallel/hardware/units.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace hp = hyperparallel;

namespace {

constexpr hp::link_level link(std::int64_t gigabytes, std::int64_t latency) {
  return {"mesh", hp::unbounded_group, gigabytes * hp::gigabyte, latency};
}
constexpr hp::full_mesh_2d mesh(int x, int y, std::int64_t bx, std::int64_t by, std::int64_t latency = 0) {
  return {x, y, link(bx, latency), link(by, latency)};
}

constexpr std::int64_t n = std::int64_t{3} * 5 * 7 * 64 * 1024 * 1024;

// Square and equal: both orders at once are at the injection bound, one order takes twice as long (8×8 rack).
static_assert(hp::all_gather_two_orders(mesh(8, 8, 25, 25), n) == hp::all_gather_bound(mesh(8, 8, 25, 25), n));
static_assert(hp::all_gather_one_order(mesh(8, 8, 25, 25), n).picoseconds ==
              2 * hp::all_gather_two_orders(mesh(8, 8, 25, 25), n).picoseconds);

TEST(FullMesh, SquareMeshReachesTheInjectionBound) {
  for (int x = 2; x <= 16; ++x) {
    const hp::full_mesh_2d m = mesh(x, x, 25, 25);
    EXPECT_NEAR(static_cast<double>(hp::all_gather_two_orders(m, n).picoseconds),
                static_cast<double>(hp::all_gather_bound(m, n).picoseconds), 2);
    EXPECT_NEAR(static_cast<double>(hp::all_gather_one_order(m, n).picoseconds),
                2 * static_cast<double>(hp::all_gather_bound(m, n).picoseconds), 4);
    EXPECT_EQ(hp::all_to_all_two_orders(m, n), hp::work_time(n, 1, x, 25 * hp::gigabyte));
  }
}

TEST(FullMesh, EqualsTheClosedForms) {
  const double a = 1e6;
  for (int x = 2; x <= 8; ++x)
    for (int y = 2; y <= 8; ++y)
      for (const std::int64_t bx : {10, 25, 40})
        for (const std::int64_t by : {10, 33}) {
          const hp::full_mesh_2d m = mesh(x, y, bx, by, hp::microsecond);
          const double tx = 1e3 / static_cast<double>(bx);  // picoseconds per byte
          const double ty = 1e3 / static_cast<double>(by);
          const double bytes = static_cast<double>(n);
          const double xy = static_cast<double>(x) * y;
          const auto near = [](hp::time_cost t, double expected) {
            EXPECT_TRUE(t.ok());
            EXPECT_NEAR(static_cast<double>(t.picoseconds), expected, 2 + 1e-12 * expected);
          };
          near(hp::detail::all_gather_y_then_x(m, n), 2 * a + bytes * ty / xy + bytes * tx / x);
          near(hp::all_gather_x_then_y(m, n), 2 * a + bytes * tx / xy + bytes * ty / y);
          const double f = x * ty / (x * ty + y * tx);
          const double first = std::max(f * bytes * ty / xy, (1 - f) * bytes * tx / xy);
          near(hp::all_gather_two_orders(m, n), 2 * a + first + f * bytes * tx / x);
          near(hp::detail::all_to_all_one_order(m, n), 2 * a + bytes * (tx / x + ty / y));
          near(hp::all_to_all_two_orders(m, n), 2 * a + bytes * std::max(tx / x, ty / y));
        }
}

TEST(FullMesh, TwoOrdersLieBetweenTheBoundAndOneOrder) {
  for (int x = 1; x <= 9; ++x)
    for (int y = 1; y <= 9; ++y)
      for (const std::int64_t bx : {1, 10, 50})
        for (const std::int64_t by : {1, 10, 50}) {
          const hp::full_mesh_2d m = mesh(x, y, bx, by, hp::microsecond);
          const std::int64_t two = hp::all_gather_two_orders(m, n).picoseconds;
          EXPECT_LE(hp::all_gather_bound(m, n).picoseconds, two);
          EXPECT_LE(two, hp::all_gather_one_order(m, n).picoseconds + 2);
          EXPECT_LE(hp::all_to_all_two_orders(m, n).picoseconds,
                    hp::detail::all_to_all_one_order(m, n).picoseconds + 2);
        }
}

TEST(FullMesh, ADimensionOfOneDropsOut) {
  const hp::full_mesh_2d row = mesh(6, 1, 25, 10, hp::microsecond);
  const hp::time_cost expected = hp::then(hp::latencies(1, hp::microsecond), hp::work_time(n, 1, 6, 25 * hp::gigabyte));
  EXPECT_EQ(hp::all_gather_one_order(row, n), expected);
  EXPECT_EQ(hp::all_gather_two_orders(row, n), expected);
  EXPECT_EQ(hp::all_to_all_two_orders(row, n), expected);
  EXPECT_EQ(hp::all_gather_two_orders(mesh(1, 1, 25, 25), n), hp::time_cost{});
  EXPECT_EQ(hp::all_gather_bound(mesh(1, 1, 25, 25), n), hp::time_cost{});
}

TEST(FullMesh, NamesWhatIsWrong) {
  EXPECT_EQ(hp::all_gather_two_orders(mesh(0, 2, 1, 1), n).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::all_gather_one_order(mesh(2, 2, 1, 0), n).code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::detail::all_to_all_one_order(mesh(2, 2, 1, 1), -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::all_to_all_two_orders(mesh(2, 2, 1, 1, -1), n).code, hp::cost_code::latency_is_negative);
  const hp::link_level huge{"huge", hp::unbounded_group, INT64_MAX, 0};
  EXPECT_EQ(hp::all_gather_two_orders({2, 2, huge, huge}, n).code, hp::cost_code::overflow);
}

}  // namespace
