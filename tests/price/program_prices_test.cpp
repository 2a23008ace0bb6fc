// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/program_prices.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

/// Calls `run(program, prices, links)` for random models under every strategy.
template <class Run>
void for_each_program(unsigned seed, int models, const Run& run) {
  std::mt19937 random(seed);
  for (int i = 0; i < models; ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    const hp::device_value device = searched::random_device(random);
    const hp::interconnect links = hp::on_topology(searched::random_topology(random));
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      const hp::sharded_program p = hp::partition(g, hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy);
      if (p.status.code != hp::strategy_code::ok) continue;
      const hp::program_moves moves = hp::kinds_of_moves(p, links);
      const hp::growing_array<hp::move_load> load = hp::detail::loads_of_moves(p, moves);
      run(p, hp::detail::program_prices{p, moves, load, device, links}, links);
    }
  }
}

/// Bytes of all moves of a bucket, joined step by step.
hp::extent_t time_of_joined(const hp::sharded_program& p, const hp::detail::program_prices& prices,
                            const hp::interconnect& links, int bucket) {
  hp::move_load all;
  for (int m = 0; m < p.move.size; ++m) {
    if (p.move[m].bucket != bucket || !prices.travels(m)) continue;
    const hp::move_load& one = prices.load_of(m);
    const hp::extent_t bytes = hp::detail::element_bytes_of(p, m);
    if (all.step.size < one.step.size) all.step.resize(one.step.size);
    for (int k = 0; k < one.step.size; ++k)
      for (int l = 0; l < hp::max_link_levels; ++l) {
        hp::level_load& sum = all.step[k].level[l];
        sum.elements += one.step[k].level[l].elements * bytes;
        sum.sent += one.step[k].level[l].sent * bytes;
        sum.messages = hp::larger(sum.messages, one.step[k].level[l].messages);
      }
  }
  return hp::time_of(all, 1, links).picoseconds;
}

TEST(ProgramPrices, OfABucketAddUpToTheTimeOfItsLoadsJoined) {
  int buckets = 0, saved = 0;
  for_each_program(
      31, 24,
      [&](const hp::sharded_program& p, const hp::detail::program_prices& prices, const hp::interconnect& links) {
        hp::detail::bucket_prices together(p, prices, links);
        std::vector<hp::extent_t> of_bucket(static_cast<std::size_t>(p.buckets), 0), alone = of_bucket;
        for (const hp::program_step& s : p.step) {
          if (!s.is_move) continue;
          const hp::time_cost time = together.of_next(s.index), own = prices.of_move(s.index);
          ASSERT_TRUE(time.ok());
          hp::extent_t steps = 0;
          for (const hp::extent_t one : together.step) {
            EXPECT_GE(one, 0);
            steps += one;
          }
          const int bucket = prices.travels(s.index) ? p.move[s.index].bucket : -1;
          if (prices.travels(s.index)) {
            EXPECT_EQ(steps, time.picoseconds);
          }
          if (bucket < 0) {
            EXPECT_EQ(time.picoseconds, own.picoseconds);
            continue;
          }
          of_bucket[static_cast<std::size_t>(bucket)] += time.picoseconds;
          alone[static_cast<std::size_t>(bucket)] += own.picoseconds;
        }
        for (int b = 0; b < p.buckets; ++b, ++buckets) {
          EXPECT_EQ(of_bucket[static_cast<std::size_t>(b)], time_of_joined(p, prices, links, b));
          saved += of_bucket[static_cast<std::size_t>(b)] < alone[static_cast<std::size_t>(b)];
        }
      });
  EXPECT_GT(buckets, 150);
  EXPECT_GT(saved, 100);
}

TEST(ProgramPrices, WhatTravelsNowhereIsACopyOrNothing) {
  int copies = 0;
  for_each_program(
      32, 6, [&](const hp::sharded_program& p, const hp::detail::program_prices& prices, const hp::interconnect&) {
        for (int m = 0; m < p.move.size; ++m) {
          if (prices.travels(m)) continue;
          const bool changes = hp::kind_of(prices.moves, m).steps > 0;
          EXPECT_EQ(prices.of_move(m).picoseconds > 0, changes);
          copies += changes;
        }
      });
  EXPECT_GT(copies, 10);
}

}  // namespace
