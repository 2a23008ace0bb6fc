// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/hardware/units.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace hp = hyperparallel;
using hp::collective;
using hp::collective_algorithm;

namespace {

constexpr hp::link_level wire{"wire", hp::unbounded_group, 100 * hp::gigabyte, 2 * hp::microsecond};

constexpr hp::collective_request request(collective kind, collective_algorithm how, int ranks, std::int64_t bytes,
                                         std::int64_t injection = 0, int chunks = 1) {
  return {kind, how, ranks, bytes, injection, chunks};
}

static_assert(hp::collective_time(request(collective::all_gather, collective_algorithm::ring, 4, 400'000), wire)
                  .picoseconds == 6 * hp::microsecond + 3 * hp::microsecond);
static_assert(hp::detail::log2_ceiling(1) == 0 && hp::detail::log2_ceiling(8) == 3 && hp::detail::log2_ceiling(9) == 4);

// The table of the header in floating point, or a negative number where it has no entry.
double closed_form(collective kind, collective_algorithm how, double p, double n, double a, double b, double k) {
  const double steps = std::ceil(std::log2(p));
  const bool ring = how == collective_algorithm::ring;
  const bool log_step = how == collective_algorithm::log_step;
  const bool mesh = how == collective_algorithm::full_mesh;
  switch (kind) {
    case collective::all_gather:
    case collective::reduce_scatter:
      if (ring) return (p - 1) * a + (p - 1) / p * n * b;
      if (log_step) return steps * a + (p - 1) / p * n * b;
      return mesh ? a + n * b / p : -1;
    case collective::all_reduce:
      if (ring) return 2 * (p - 1) * a + 2 * (p - 1) / p * n * b;
      if (log_step) return 2 * steps * a + 2 * (p - 1) / p * n * b;
      if (how == collective_algorithm::one_shot) return a + n * b;
      return mesh ? 2 * a + 2 * n * b / p : -1;
    case collective::all_to_all:
      if (ring) return (p - 1) * a + (p - 1) / p * n * b;
      if (log_step) return steps * (a + n * b / 2);
      return mesh ? a + n * b / p : -1;
    case collective::broadcast:
    case collective::reduce:
      if (ring) return (p - 2 + k) * (a + n * b / k);
      if (log_step) return steps * (a + n * b);
      return mesh ? 2 * a + 2 * n * b / p : -1;
    case collective::exchange:
      return how == collective_algorithm::direct ? (p - 1) * a + n * b : -1;
  }
  return -1;
}

constexpr int collectives = static_cast<int>(hp::collective::exchange) + 1;

TEST(CollectiveCost, EqualsTheTableAndKeepsItsBound) {
  int priced = 0;
  for (int kind = 0; kind < collectives; ++kind)
    for (int how = 0; how < hp::detail::collective_algorithm_count; ++how)
      for (int p = 1; p <= 33; ++p)
        for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4097}, hp::GiB})
          for (const int chunks : {1, 7}) {
            const auto c = static_cast<collective>(kind);
            const auto algorithm = static_cast<collective_algorithm>(how);
            const hp::time_cost t = hp::collective_time(request(c, algorithm, p, n, 0, chunks), wire);
            const double expected = closed_form(c, algorithm, p, static_cast<double>(n), 2e6, 1e12 / 100e9, chunks);
            if (expected < 0 && p > 1) {
              ASSERT_EQ(t.code, hp::cost_code::algorithm_does_not_serve_the_collective);
              continue;
            }
            if (p == 1) {
              ASSERT_EQ(t.picoseconds, 0);
              continue;
            }
            ++priced;
            ASSERT_TRUE(t.ok());
            ASSERT_NEAR(static_cast<double>(t.picoseconds), expected, 1 + 1e-12 * expected);
            // A full mesh gives every rank p-1 links, the others use one at a time.
            const bool mesh =
                algorithm == collective_algorithm::full_mesh || algorithm == collective_algorithm::one_shot;
            const std::int64_t rate = wire.bandwidth * (mesh ? p - 1 : 1);
            ASSERT_GE(t.picoseconds, hp::bandwidth_bound(c, p, n, rate).picoseconds);
          }
  EXPECT_EQ(priced, (2 * 3 + 4 + 3 + 2 * 3 + 1) * 32 * 4 * 2);
}

TEST(CollectiveCost, GrowsWithBytesAndRanksOnARing) {
  for (const collective kind : {collective::all_gather, collective::all_reduce, collective::all_to_all})
    for (int p = 2; p < 40; ++p) {
      const auto time = [&](int ranks, std::int64_t n) {
        return hp::collective_time(request(kind, collective_algorithm::ring, ranks, n), wire).picoseconds;
      };
      EXPECT_LT(time(p, hp::MiB), time(p + 1, hp::MiB));
      EXPECT_LT(time(p, hp::MiB), time(p, 2 * hp::MiB));
    }
}

TEST(CollectiveCost, AllReduceIsReduceScatterThenAllGather) {
  for (const collective_algorithm how :
       {collective_algorithm::ring, collective_algorithm::log_step, collective_algorithm::full_mesh})
    for (int p = 1; p < 40; ++p)
      EXPECT_NEAR(
          static_cast<double>(hp::collective_time(request(collective::all_reduce, how, p, hp::MiB), wire).picoseconds),
          static_cast<double>(2 *
                              hp::collective_time(request(collective::all_gather, how, p, hp::MiB), wire).picoseconds),
          1);
}

TEST(CollectiveCost, OneShotWinsExactlyBelowItsLimit) {
  for (int p = 3; p <= 16; ++p) {
    const std::int64_t limit = hp::one_shot_limit(wire, p);
    const auto time = [&](collective_algorithm how, std::int64_t n) {
      return hp::collective_time(request(collective::all_reduce, how, p, n), wire).picoseconds;
    };
    EXPECT_LE(time(collective_algorithm::one_shot, limit - 1), time(collective_algorithm::full_mesh, limit - 1));
    EXPECT_GE(time(collective_algorithm::one_shot, limit + 1), time(collective_algorithm::full_mesh, limit + 1));
    EXPECT_EQ(hp::cheapest_algorithm(request(collective::all_reduce, {}, p, limit / 2), wire, true).algorithm,
              collective_algorithm::one_shot);
    EXPECT_EQ(hp::cheapest_algorithm(request(collective::all_reduce, {}, p, limit * 2), wire, true).algorithm,
              collective_algorithm::full_mesh);
  }
  EXPECT_EQ(hp::one_shot_limit(wire, 2), INT64_MAX);
  EXPECT_EQ(hp::one_shot_limit(wire, 4), 400'000);  // 2 us · 100 GB/s · 4/2
}

TEST(CollectiveCost, TheNicCapsInjection) {
  const int p = 8;
  const std::int64_t n = hp::GiB;
  for (const collective kind : {collective::all_gather, collective::all_reduce, collective::all_to_all}) {
    const hp::collective_request capped = request(kind, collective_algorithm::full_mesh, p, n, 50 * hp::gigabyte);
    EXPECT_EQ(hp::collective_time(capped, wire), hp::bandwidth_bound(kind, p, n, 50 * hp::gigabyte));
    const hp::collective_request wide = request(kind, collective_algorithm::full_mesh, p, n, 7000 * hp::gigabyte);
    const hp::collective_request uncapped = request(kind, collective_algorithm::full_mesh, p, n);
    EXPECT_EQ(hp::collective_time(wide, wire), hp::collective_time(uncapped, wire));
  }
  const hp::collective_request one_shot =
      request(collective::all_reduce, collective_algorithm::one_shot, p, n, 100 * hp::gigabyte);
  EXPECT_EQ(hp::collective_time(one_shot, wire), hp::work_time(n, p - 1, 1, 100 * hp::gigabyte));
}

TEST(CollectiveCost, CheapestIsTheMinimum) {
  for (int kind = 0; kind < collectives; ++kind)
    for (const bool mesh : {false, true})
      for (int p = 2; p < 20; ++p)
        for (std::int64_t n = 1; n < hp::GiB; n *= 16) {
          hp::collective_request q = request(static_cast<collective>(kind), {}, p, n);
          const hp::algorithm_choice best = hp::cheapest_algorithm(q, wire, mesh);
          ASSERT_TRUE(best.cost.ok());
          for (int how = 0; how < hp::detail::collective_algorithm_count; ++how) {
            q.algorithm = static_cast<collective_algorithm>(how);
            const hp::time_cost t = hp::collective_time(q, wire);
            if (!t.ok() || (!mesh && (how == 2 || how == 3))) continue;
            ASSERT_LE(best.cost.picoseconds, t.picoseconds);
          }
        }
}

TEST(CollectiveCost, HierarchyRelievesTheOuterLinks) {
  const hp::link_level slow{"slow", hp::unbounded_group, 10 * hp::gigabyte, 5 * hp::microsecond};
  const std::int64_t n = hp::GiB;
  for (int g = 1; g <= 8; ++g)
    for (int h = 1; h <= 8; ++h) {
      const double bytes = static_cast<double>(n);
      const double expected = 2.0 * (g - 1) / g * bytes * 10 + 2.0 * (h - 1) / h * bytes / g * 100 +
                              2.0 * (g - 1) * 2e6 + 2.0 * (h - 1) * 5e6;
      const hp::time_cost t = hp::hierarchical_all_reduce_time(wire, g, slow, h, n);
      ASSERT_TRUE(t.ok());
      EXPECT_NEAR(static_cast<double>(t.picoseconds), expected, 1 + 1e-12 * expected);
      if (g > 1 && h > 1) {
        const hp::collective_request flat = request(collective::all_reduce, collective_algorithm::ring, g * h, n);
        EXPECT_LT(t.picoseconds, hp::collective_time(flat, slow).picoseconds);
      }
    }
  EXPECT_EQ(hp::hierarchical_all_reduce_time(wire, 0, slow, 1, n).code, hp::cost_code::count_is_not_positive);
}

TEST(CollectiveCost, NamesWhatIsWrong) {
  const auto ring = collective_algorithm::ring;
  EXPECT_EQ(hp::collective_time(request(collective::all_gather, ring, 0, 1), wire).code,
            hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::collective_time(request(collective::broadcast, ring, 4, 1, 0, 0), wire).code,
            hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::collective_time(request(collective::all_gather, ring, 4, -1), wire).code,
            hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::collective_time(request(collective::all_gather, ring, 4, 1, -1), wire).code,
            hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::collective_time(request(collective::all_gather, ring, 4, 1), hp::link_level{}).code,
            hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::collective_time(request(collective::broadcast, ring, 1000, INT64_MAX), {"slow", 2, 1, 0}).code,
            hp::cost_code::overflow);
}

}  // namespace
