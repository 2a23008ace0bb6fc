// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/changes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

namespace hp = hyperparallel;

std::vector<hp::decoder_plan> moves_of(const hp::decoder_plan& p) {
  std::vector<hp::decoder_plan> moves;
  hp::visit_plan_changes(p, [&](const hp::decoder_plan& q) { moves.push_back(q); });
  return moves;
}

/// All plans on so many devices, whatever a model allows.
std::vector<hp::decoder_plan> all_plans(int devices, hp::extent_t batch) {
  std::vector<hp::decoder_plan> all;
  hp::decoder_plan p{.batch = batch, .sequence = 8};
  for (p.tp = 1; p.tp <= devices; ++p.tp)
    for (p.pp = 1; p.pp <= devices; ++p.pp)
      for (p.dp = 1; p.dp <= devices; ++p.dp)
        for (p.cp = 1; p.cp <= devices; ++p.cp)
          for (p.ep = 1; p.ep <= devices; ++p.ep)
            for (p.micro_batches = 1; p.micro_batches <= batch; ++p.micro_batches) {
              if (hp::device_count_of(p) != devices || batch % p.micro_batches != 0) continue;
              for (p.zero = 0; p.zero <= 3; ++p.zero)
                for (const bool recomputed : {false, true})
                  for (const bool sequence_parallel : {false, true}) {
                    p.recomputed = recomputed;
                    p.sequence_parallel = sequence_parallel;
                    all.push_back(p);
                  }
              p.zero = 0;
            }
  return all;
}

// A move is another plan of the same devices and batch, comes once, and goes back; moves join all plans.
TEST(PlanChanges, GoBackAndReachAllPlans) {
  for (const int devices : {1, 4, 6}) {
    const std::vector<hp::decoder_plan> all = all_plans(devices, 6);
    const auto number_of = [&](const hp::decoder_plan& p) {
      return static_cast<std::size_t>(std::find(all.begin(), all.end(), p) - all.begin());
    };
    std::vector<std::vector<std::size_t>> to(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const hp::decoder_plan& q : moves_of(all[i])) {
        const std::size_t k = number_of(q);
        ASSERT_LT(k, all.size());
        ASSERT_NE(k, i);
        ASSERT_EQ(std::count(to[i].begin(), to[i].end(), k), 0);
        to[i].push_back(k);
      }
    std::vector<bool> reached(all.size(), false);
    std::vector<std::size_t> open = {0};
    reached[0] = true;
    for (std::size_t at = 0; at < open.size(); ++at)
      for (const std::size_t k : to[open[at]]) {
        ASSERT_EQ(std::count(to[k].begin(), to[k].end(), open[at]), 1);
        if (!reached[k]) open.push_back(k);
        reached[k] = true;
      }
    EXPECT_EQ(open.size(), all.size());
  }
}

static_assert([] {
  int moves = 0;
  hp::visit_plan_changes({.batch = 4}, [&](const hp::decoder_plan&) { ++moves; });
  return moves;
}() == 2 * 16 - 1);

}  // namespace
