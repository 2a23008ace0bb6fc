// SPDX-License-Identifier: Apache-2.0
#pragma once
// Caches of keys and values in memory, every element by itself: what tests hold plans of transfers against. Who holds
// what, and where, is said here once more, from the definitions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/transfer/kv_transfer.hpp>

namespace kv_test {

namespace hp = hyperparallel;
using hp::extent_t;

inline std::size_t at(extent_t i) { return static_cast<std::size_t>(i); }

/// Sequences with tables of their own, in any order of pages.
struct batch {
  std::vector<extent_t> tokens{};
  std::vector<std::vector<int>> prefill{}, decode{};
  std::vector<hp::kv_sequence> sequences() const {
    std::vector<hp::kv_sequence> all;
    for (std::size_t i = 0; i < tokens.size(); ++i) all.push_back({tokens[i], prefill[i], decode[i]});
    return all;
  }
};

/// Deals pages of a shuffled pool, some more than are needed, and sets the size of the pool.
inline std::vector<std::vector<int>> random_tables(std::mt19937_64& random, hp::kv_pool& p,
                                                   const std::vector<extent_t>& tokens) {
  std::vector<extent_t> needed;
  for (const extent_t t : tokens) {
    const extent_t most = p.cut == hp::kv_cut::tokens ? (t + p.ranks.count - 1) / p.ranks.count : t;
    needed.push_back((most + p.page_tokens - 1) / p.page_tokens + static_cast<extent_t>(random() % 2));
  }
  p.pages =
      static_cast<int>(std::accumulate(needed.begin(), needed.end(), extent_t{0})) + static_cast<int>(random() % 4) + 1;
  std::vector<int> pages(at(p.pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), random);
  std::vector<std::vector<int>> tables;
  auto next = pages.begin();
  for (const extent_t n : needed) {
    tables.emplace_back(next, next + n);
    next += n;
  }
  return tables;
}

inline batch random_batch(std::mt19937_64& random, hp::kv_pool& prefill, hp::kv_pool& decode, extent_t longest) {
  batch b;
  for (auto n = 1 + random() % 3; n > 0; --n)
    b.tokens.push_back(1 + static_cast<extent_t>(random() % static_cast<std::uint64_t>(longest)));
  b.prefill = random_tables(random, prefill, b.tokens);
  b.decode = random_tables(random, decode, b.tokens);
  return b;
}

/// Whether a position has a head of a token of a sequence.
inline bool has(const hp::kv_pool& p, int position, extent_t tokens, extent_t token, int head) {
  const int n = p.ranks.count, heads = p.cache.heads;
  if (p.cut == hp::kv_cut::tokens) return token / ((tokens + n - 1) / n) == position;
  return n <= heads ? head / (heads / n) == position : position / (n / heads) == head;
}

/// The first byte of that row in a plane of the position.
inline extent_t row_of(const hp::kv_pool& p, int position, extent_t tokens, const std::vector<int>& table,
                       extent_t token, int head) {
  const int n = p.ranks.count;
  const bool by_tokens = p.cut == hp::kv_cut::tokens;
  const extent_t local = by_tokens ? token - position * ((tokens + n - 1) / n) : token;
  const int heads = by_tokens ? p.cache.heads : std::max(1, p.cache.heads / n), h = by_tokens ? head : head % heads;
  const extent_t page = table[at(local / p.page_tokens)], slot = local % p.page_tokens;
  const extent_t row = p.order == hp::page_order::tokens_heads ? (page * p.page_tokens + slot) * heads + h
                                                               : (page * heads + h) * p.page_tokens + slot;
  return row * p.cache.head_dim * p.cache.element_bytes;
}

/// Bytes of every plane of every layer of every position.
using memory = std::map<std::pair<int, int>, std::vector<unsigned char>>;  // by position and plane of all layers

inline memory memory_of(const hp::kv_pool& p, unsigned char filler) {
  memory m;
  const int heads = p.cut == hp::kv_cut::tokens ? p.cache.heads : std::max(1, p.cache.heads / p.ranks.count);
  const extent_t bytes = extent_t{p.pages} * p.page_tokens * heads * p.cache.head_dim * p.cache.element_bytes;
  for (int q = 0; q < p.ranks.count; ++q)
    for (int l = 0; l < p.cache.layers * p.cache.planes; ++l) m[{q, l}].assign(at(bytes), filler);
  return m;
}

/// Writes each element of the batch where a position has it: bytes that tell plane, sequence, token, head and dim.
inline void fill(memory& m, const hp::kv_pool& p, const batch& b, const std::vector<std::vector<int>>& tables) {
  const int row = p.cache.head_dim * p.cache.element_bytes;
  for (auto& [key, bytes] : m)
    for (std::size_t s = 0; s < b.tokens.size(); ++s)
      for (extent_t t = 0; t < b.tokens[s]; ++t)
        for (int h = 0; h < p.cache.heads; ++h) {
          if (!has(p, key.first, b.tokens[s], t, h)) continue;
          const extent_t first = row_of(p, key.first, b.tokens[s], tables[s], t, h);
          std::uint64_t x = static_cast<std::uint64_t>(((key.second * 8 + static_cast<int>(s)) * 512 + t) * 16 + h) + 1;
          for (int i = 0; i < row; ++i) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            bytes[at(first + i)] = static_cast<unsigned char>(x >> 56);
          }
        }
}

/// Bytes that a decode position needs and its rank does not hold, in all planes and layers.
inline extent_t lacking(const hp::kv_pool& prefill, const hp::kv_pool& decode, const batch& b, int q) {
  const int here = hp::position_in(prefill.ranks, hp::rank_at(decode.ranks, q));
  extent_t rows = 0;
  for (const extent_t tokens : b.tokens)
    for (extent_t t = 0; t < tokens; ++t)
      for (int h = 0; h < decode.cache.heads; ++h)
        if (has(decode, q, tokens, t, h) && (here < 0 || !has(prefill, here, tokens, t, h))) ++rows;
  const hp::kv_cache_shape& c = decode.cache;
  return rows * c.head_dim * c.element_bytes * c.planes * c.layers;
}

/// Carries a plan out, and counts. Each byte of a page is written once at most.
struct carried {
  std::vector<extent_t> received{}, sent{};
  std::vector<std::vector<extent_t>> sent_in_layer{};
  std::vector<extent_t> until_layer{};
  extent_t copies = 0, largest = 0;
};

inline carried carry_out(const hp::kv_transfer_plan& plan, const hp::kv_pool& prefill, const hp::kv_pool& decode,
                         const memory& source, memory& target) {
  const int layers = plan.cache.layers;
  carried c{std::vector<extent_t>(at(decode.ranks.count)),
            std::vector<extent_t>(at(prefill.ranks.count)),
            std::vector<std::vector<extent_t>>(at(layers), std::vector<extent_t>(at(prefill.ranks.count))),
            std::vector<extent_t>(at(layers)),
            0,
            0};
  const extent_t source_page = static_cast<extent_t>(source.begin()->second.size()) / prefill.pages;
  const extent_t target_page = static_cast<extent_t>(target.begin()->second.size()) / decode.pages;
  memory written = target;
  for (auto& [key, bytes] : written) std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  int last = 0;
  hp::for_each_kv_copy(plan, [&](const hp::kv_copy& x) {
    const int p = hp::position_in(prefill.ranks, x.sender), q = hp::position_in(decode.ranks, x.receiver);
    const int plane = x.layer * plan.cache.planes + x.plane;
    ASSERT_GE(x.layer, last);
    last = x.layer;
    ++c.copies;
    const std::vector<unsigned char>& in = source.at({p, plane});
    std::vector<unsigned char>& out = target.at({q, plane});
    for (extent_t k = 0; k < x.what.runs; ++k) {
      const extent_t from = x.what.source.offset + k * x.what.source_step;
      const extent_t to = x.what.target.offset + k * x.what.target_step;
      ASSERT_TRUE(from >= 0 && from + x.what.run <= source_page && to >= 0 && to + x.what.run <= target_page);
      for (extent_t i = 0; i < x.what.run; ++i) {
        const std::size_t there = at(x.what.target.page * target_page + to + i);
        ASSERT_EQ(written.at({q, plane})[there]++, 0);
        out[there] = in[at(x.what.source.page * source_page + from + i)];
      }
    }
    if (x.sender == x.receiver) return;
    const extent_t bytes = x.what.run * x.what.runs;
    c.received[at(q)] += bytes;
    c.sent[at(p)] += bytes;
    c.sent_in_layer[at(x.layer)][at(p)] += bytes;
    for (int l = x.layer; l < layers; ++l) c.until_layer[at(l)] += bytes;
  });
  return c;
}

/// Bytes of the largest block that is dealt: tokens of one page on either side, all heads that a rank has.
inline extent_t largest_block(const hp::kv_pool& prefill, const hp::kv_pool& decode) {
  const auto heads = [](const hp::kv_pool& p) {
    return p.cut == hp::kv_cut::tokens ? p.cache.heads : std::max(1, p.cache.heads / p.ranks.count);
  };
  return extent_t{std::min(prefill.page_tokens, decode.page_tokens)} * std::min(heads(prefill), heads(decode)) *
         prefill.cache.head_dim * prefill.cache.element_bytes * prefill.cache.planes;
}

/// All laws of one transfer.
inline void expect_laws(const hp::kv_pool& prefill, const hp::kv_pool& decode, const batch& b) {
  const hp::kv_transfer_plan plan = hp::plan_kv_transfer(prefill, decode, b.sequences());
  memory source = memory_of(prefill, 0xEE), target = memory_of(decode, 0xDD), expected = target;
  fill(source, prefill, b, b.prefill);
  fill(expected, decode, b, b.decode);
  const carried c = carry_out(plan, prefill, decode, source, target);
  EXPECT_TRUE(target == expected);
  EXPECT_EQ(plan.received, c.received);
  EXPECT_EQ(plan.sent, c.sent);
  for (int q = 0; q < decode.ranks.count; ++q) {
    EXPECT_EQ(c.received[at(q)], lacking(prefill, decode, b, q));
    EXPECT_EQ(plan.least[at(q)], c.received[at(q)]);
  }
  for (int l = 0; l < plan.cache.layers; ++l) {
    EXPECT_EQ(hp::bytes_until(plan, l), c.until_layer[at(l)]);
    for (std::size_t p = 0; p < c.sent.size(); p += at(plan.replicas)) {
      const auto& sent = c.sent_in_layer[at(l)];
      const auto [least, most] = std::minmax_element(sent.begin() + static_cast<std::ptrdiff_t>(p),
                                                     sent.begin() + static_cast<std::ptrdiff_t>(p) + plan.replicas);
      EXPECT_LE(*most - *least, largest_block(prefill, decode));
    }
  }
  for (std::size_t p = 0; p < c.sent.size() && plan.cache.layers % plan.replicas == 0; ++p)
    EXPECT_EQ(c.sent[p], c.sent[p / at(plan.replicas) * at(plan.replicas)]);
  EXPECT_EQ(hp::copies_until(plan, plan.cache.layers - 1), c.copies);
}

}  // namespace kv_test
