// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/address_plan.hpp>

#include <models/random_program.hpp>

#include <models/stacked_model.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct block {
  int first, last;
  hp::extent_t begin, bytes;
};

/// All blocks of a planned program that have bytes.
std::vector<block> blocks_of(const hp::sharded_program& p, const hp::program_addresses& a) {
  std::vector<block> all;
  const auto lives = hp::lifetimes_of(p);
  for (int s = 0; s < p.storage.size; ++s)
    if (lives[s].first <= lives[s].last && p.storage[s].bytes > 0)
      all.push_back({lives[s].first, lives[s].last, a.storage[s], p.storage[s].bytes});
  const hp::program_moves moves = hp::kinds_of_moves(p);
  for (int i = 0; i < p.step.size; ++i) {
    if (!p.step[i].is_move) continue;
    const int m = p.step[i].index;
    const hp::extent_t bytes = hp::kind_of(moves, m).staged_bytes;
    EXPECT_EQ(a.staged[m] >= 0, bytes > 0);
    if (bytes > 0) all.push_back({i, i, a.staged[m], bytes});
  }
  return all;
}

void expect_laws(const hp::sharded_program& p, const hp::program_addresses& a) {
  const std::vector<block> all = blocks_of(p, a);
  hp::extent_t highest = 0, most_alive = 0;
  for (int step = 0; step < p.step.size; ++step) {
    hp::extent_t alive = 0;
    for (const block& b : all)
      if (b.first <= step && step <= b.last) alive += (b.bytes + 63) / 64 * 64;
    most_alive = std::max(most_alive, alive);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].begin % hp::detail::storage_alignment, 0);
    highest = std::max(highest, (all[i].begin + all[i].bytes + 63) / 64 * 64);
    for (std::size_t k = 0; k < i; ++k) {
      const bool together = all[i].first <= all[k].last && all[k].first <= all[i].last;
      const bool overlap = all[i].begin < all[k].begin + all[k].bytes && all[k].begin < all[i].begin + all[i].bytes;
      ASSERT_FALSE(together && overlap);
    }
  }
  EXPECT_EQ(a.high_water[0], highest);
  EXPECT_EQ(a.alive_maximum[0], most_alive);
  EXPECT_EQ(a.alive_maximum[0], hp::alive_maximum(p));
  EXPECT_GE(a.high_water[0], a.alive_maximum[0]);
}

// What is alive may fit where no address plan that is found does.
TEST(address_plan, fits_counts_addresses_and_not_bytes_alive) {
  std::mt19937 random(11);
  int gaps = 0, found_by_search = 0;
  for (int round = 0; round < 40; ++round) {
    const hp::sharded_program p = programs::random_program(random, {.steps = 60, .most_elements = 40});
    const hp::program_addresses a = hp::plan_addresses(p);
    EXPECT_TRUE(hp::fits(p, a.high_water[0]));
    EXPECT_FALSE(hp::fits(p, a.alive_maximum[0] - 1));
    hp::extent_t least = a.alive_maximum[0];
    while (!hp::fits(p, least)) least += hp::detail::storage_alignment;
    gaps += a.alive_maximum[0] < least ? 1 : 0;
    found_by_search += least < a.high_water[0] ? 1 : 0;
    const hp::program_addresses within = hp::plan_addresses(p, {.budget = least});
    expect_laws(p, within);
    EXPECT_EQ(within.high_water[0], least);
  }
  EXPECT_GT(gaps, 0);
  EXPECT_GT(found_by_search, 0);
}

TEST(address_plan, blocks_alive_together_never_overlap) {
  std::mt19937 random(3);
  const int rounds = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 5000 : 200;
  double worst = 1, sum = 0;
  for (int round = 0; round < rounds; ++round) {
    programs::random_program_sizes sizes;
    sizes.steps = 1 + static_cast<int>(random() % 120);
    sizes.most_elements = round % 3 == 0 ? 40 : 4000;
    const hp::sharded_program p = programs::random_program(random, sizes);
    const hp::program_addresses a = hp::plan_addresses(p);
    expect_laws(p, a);
    if (HasFatalFailure()) return;
    const double ratio = static_cast<double>(a.high_water[0]) / static_cast<double>(a.alive_maximum[0]);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  RecordProperty("worst_ratio", std::to_string(worst));
  RecordProperty("mean_ratio", std::to_string(sum / rounds));
  EXPECT_LT(sum / rounds, 1.03);
}

TEST(address_plan, real_programs_need_hardly_more_than_is_alive_at_once) {
  double worst = 1;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int micro_batches : {1, 2}) {
      const char* const name = hp::named_strategy_at(i).name;
      programs::stacked_model model;
      model.unrolled = true;
      model.key_heads = 4;
      model.micro_batches = micro_batches;
      const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called(name, 4).strategy);
      if (p.status.code != hp::strategy_code::ok) continue;  // the model has no experts
      const hp::program_addresses a = hp::plan_addresses(p);
      expect_laws(p, a);
      const double ratio = static_cast<double>(a.high_water[0]) / static_cast<double>(a.alive_maximum[0]);
      EXPECT_LE(ratio, 1.05) << name;
      worst = std::max(worst, ratio);
    }
  RecordProperty("worst_ratio", std::to_string(worst));
}

}  // namespace
