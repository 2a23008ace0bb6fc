// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/hardware/expert_all_to_all.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;

namespace {

// What one rank of the published case holds: 4096 tokens, top-8, hidden 7168, two bytes each.
constexpr std::int64_t payload = std::int64_t{4096} * 8 * 7168 * 2;

TEST(ExpertAllToAll, FollowsItsLaw) {
  // The published constant: 469.8 MB · 7/8 / 192 GB/s + 8 · 0.06 ms.
  EXPECT_EQ(hp::expert_all_to_all_time(469'800'000, 8).picoseconds, 2'621'015'625);
  EXPECT_EQ(hp::expert_all_to_all_time(payload, 1), hp::time_cost{});
  for (int ep = 1; ep < 64; ++ep)
    EXPECT_LT(hp::expert_all_to_all_time(payload, ep).picoseconds,
              hp::expert_all_to_all_time(payload, ep + 1).picoseconds);
  // Never below what the link of the preset must carry.
  for (int ep = 2; ep <= 16; ++ep)
    EXPECT_GT(hp::expert_all_to_all_time(payload, ep).picoseconds,
              hp::bandwidth_bound(hp::collective::all_to_all, ep, payload, hp::matrix384::topology.level[1].bandwidth)
                  .picoseconds);
  EXPECT_EQ(hp::expert_all_to_all_time(payload, 0).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::expert_all_to_all_time(-1, 8).code, hp::cost_code::amount_is_negative);
}

}  // namespace
