// SPDX-License-Identifier: Apache-2.0
// Plans of transfers carried out on memory against copies of every element by itself.

#include <hyperparallel/transfer/kv_transfer.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "transfer/kv_world.hpp"

namespace hp = hyperparallel;
using kv_test::batch;

namespace {

constexpr int sizes[] = {1, 2, 4, 8};
constexpr int page_sizes[] = {1, 2, 4, 16};

hp::kv_pool pool(const hp::kv_cache_shape& cache, const hp::rank_list& ranks, int page_tokens) {
  return {cache, ranks, page_tokens, 0, hp::kv_cut::heads, hp::page_order::tokens_heads};
}

template <class List>
auto one_of(std::mt19937_64& random, const List& list) {
  return list[random() % std::size(list)];
}

/// Two ranks of one head each, and one that has both; pages of 2 and of 4 tokens.
constexpr hp::kv_transfer_plan small_plan() {
  const hp::kv_cache_shape cache = hp::grouped_cache(3, 2, 8, 2);
  const hp::kv_pool prefill{cache, {2, 0}, 2, 8}, decode{cache, {1, 2}, 4, 4};
  const int from[] = {5, 1, 7}, to[] = {2, 0};
  const hp::kv_sequence one{6, from, to};
  return hp::plan_kv_transfer(prefill, decode, {&one, 1});
}
static_assert(small_plan().copies.size() == 6);
static_assert(small_plan().received == std::vector<hp::extent_t>{3 * 2 * 6 * 2 * 8 * 2});
static_assert(small_plan().received == small_plan().least);
static_assert(small_plan().copies[1].source == hp::kv_address{1, 0});
static_assert(small_plan().copies[1].target == hp::kv_address{2, 2 * 2 * 8 * 2});
static_assert(small_plan().copies[1].run == 16 && small_plan().copies[1].runs == 2);
static_assert(hp::bytes_until(small_plan(), 0) * 3 == small_plan().received[0]);
static_assert(hp::sender_load(small_plan()).over_mean == 1.0);

}  // namespace

TEST(KvTransfer, EveryElementArrivesOnceForAllSmallShapes) {
  std::mt19937_64 random(20);
  int cases = 0;
  for (const int heads : sizes)
    for (const int from : sizes)
      for (const int to : sizes)
        for (const int from_page : page_sizes)
          for (const int to_page : page_sizes) {
            const hp::kv_cache_shape cache = hp::grouped_cache(1 + cases % 3, heads, 1 + cases % 2, 1 << cases % 3);
            hp::kv_pool prefill = pool(cache, {from, 0}, from_page), decode = pool(cache, {to, from}, to_page);
            const batch b = kv_test::random_batch(random, prefill, decode, 20);
            SCOPED_TRACE(std::to_string(heads) + " heads, ranks " + std::to_string(from) + " and " +
                         std::to_string(to) + ", pages " + std::to_string(from_page) + " and " +
                         std::to_string(to_page));
            kv_test::expect_laws(prefill, decode, b);
            ++cases;
          }
  EXPECT_EQ(cases, 1024);
}

TEST(KvTransfer, EveryElementArrivesOnceForRandomSides) {
  const int cases = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 40000 : 2000;
  std::mt19937_64 random(21);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const int element = one_of(random, std::vector<int>{1, 2, 4}), layers = 1 + static_cast<int>(random() % 4);
    const bool latent = random() % 3 == 0;
    const int heads = one_of(random, std::vector<int>{1, 2, 3, 4, 6, 8});
    const hp::kv_cache_shape cache =
        latent ? hp::latent_cache(layers, 3, 2, element)
               : hp::grouped_cache(layers, heads, 1 + static_cast<int>(random() % 3), element);
    std::vector<int> ranks[2];
    hp::kv_pool side[2];
    std::vector<int> numbers(12);
    std::iota(numbers.begin(), numbers.end(), 0);
    for (int k = 0; k < 2; ++k) {
      hp::kv_pool& p = side[k];
      p = pool(cache, {}, one_of(random, std::vector<int>{1, 2, 3, 4, 16}));
      p.order = random() % 2 == 0 ? hp::page_order::tokens_heads : hp::page_order::heads_tokens;
      p.cut = random() % 4 == 0 ? hp::kv_cut::tokens : hp::kv_cut::heads;
      int count = one_of(random, std::vector<int>{1, 2, 3, 4, 6, 8});
      while (p.cut == hp::kv_cut::heads && cache.heads % count != 0 && count % cache.heads != 0)
        count = one_of(random, std::vector<int>{1, 2, 3, 4, 6, 8});
      if (random() % 2 == 0) std::shuffle(numbers.begin(), numbers.end(), random);  // else the devices are the same
      ranks[k].assign(numbers.begin(), numbers.begin() + count);
      p.ranks = {count, ranks[k].data()};
    }
    const batch b = kv_test::random_batch(random, side[0], side[1], 24);
    kv_test::expect_laws(side[0], side[1], b);
  }
}

TEST(KvTransfer, SharedDevicesReceiveWhatTheyLack) {
  const hp::kv_cache_shape cache = hp::grouped_cache(2, 4, 2, 2);
  hp::kv_pool prefill = pool(cache, {4, 0}, 4), decode = pool(cache, {4, 0}, 16);
  std::mt19937_64 random(22);
  batch b = kv_test::random_batch(random, prefill, decode, 20);
  kv_test::expect_laws(prefill, decode, b);
  for (const hp::extent_t r : hp::plan_kv_transfer(prefill, decode, b.sequences()).received) EXPECT_EQ(r, 0);
  decode.ranks = {2, 0};
  const hp::kv_transfer_plan half = hp::plan_kv_transfer(prefill, decode, b.sequences());
  kv_test::expect_laws(prefill, decode, b);
  EXPECT_EQ(half.received[1], half.received[0] * 2);  // rank 0 holds one head of two, rank 1 none of its own
}

TEST(KvTransfer, ReplicasOfAHeadShareTheWork) {
  // 2 heads on 8 ranks: each on 4; one decode rank reads from all of them.
  const hp::kv_cache_shape cache = hp::grouped_cache(5, 2, 4, 2);
  hp::kv_pool prefill = pool(cache, {8, 0}, 16), decode = pool(cache, {1, 8}, 64);
  std::mt19937_64 random(23);
  batch b;
  b.tokens = {64, 128, 1};
  b.prefill = kv_test::random_tables(random, prefill, b.tokens);
  b.decode = kv_test::random_tables(random, decode, b.tokens);
  const hp::kv_transfer_plan plan = hp::plan_kv_transfer(prefill, decode, b.sequences());
  const hp::kv_sender_load load = hp::sender_load(plan);
  EXPECT_EQ(load.all, plan.received[0]);
  EXPECT_LE(load.over_mean, 1.02);
}

TEST(KvTransfer, PagesOfACommonPrefixAreReadForEachSequence) {
  const hp::kv_cache_shape cache = hp::grouped_cache(1, 2, 2, 2);
  hp::kv_pool prefill = pool(cache, {2, 0}, 4), decode = pool(cache, {1, 2}, 4);
  prefill.pages = 3;
  decode.pages = 4;
  const std::vector<int> first{2, 0}, second{2, 1}, mine{0, 1}, yours{3, 2};
  const hp::kv_sequence both[] = {{6, first, mine}, {7, second, yours}};
  const hp::kv_transfer_plan plan = hp::plan_kv_transfer(prefill, decode, both);
  EXPECT_EQ(plan.received[0], 13 * 2 * 2 * 2 * 2);
}

TEST(KvTransfer, ElementsTimesRanksStayWithin64Bits) {
  const hp::kv_cache_shape cache = hp::grouped_cache(1, 1, 1, 1);
  hp::kv_pool prefill = pool(cache, {65536, 0}, 1 << 30), decode = pool(cache, {65536, 65536}, 1 << 30);
  prefill.pages = decode.pages = 1;
  const int table[] = {0};
  const hp::kv_sequence one{1 << 30, table, table};
  try {
    hp::plan_kv_transfer(prefill, decode, {&one, 1});
    FAIL();
  } catch (const hp::kv_transfer_error& e) {
    EXPECT_EQ(e.code, hp::kv_transfer_code::bytes_overflow);
  }
}
