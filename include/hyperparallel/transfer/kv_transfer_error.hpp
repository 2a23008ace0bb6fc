// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a cache of keys and values is not handed over: pools, tables and batches that are refused, in one line each.
//
// Laws: what is accepted has its blocks in pages of the pools; no page of the decode side is written for two blocks, and
// no byte count leaves 64 bits. A page of the prefill side may be that of several sequences, as of a common prefix.

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/transfer/kv_cache.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class kv_transfer_code : unsigned char {
  batch_is_empty,
  size_is_not_positive,
  caches_differ,
  ranks_are_refused,
  heads_do_not_divide,
  bytes_overflow,
  table_is_too_short,
  page_is_out_of_range,
  page_is_used_twice,
};

struct kv_transfer_error : std::invalid_argument {
  kv_transfer_code code;
  kv_transfer_error(kv_transfer_code why, const std::string& text) : std::invalid_argument(text), code(why) {}
};

namespace detail {

/// A side and what its lines call it.
struct named_pool {
  const kv_pool& pool;
  const char* name;
  bool reads;
};

[[noreturn]] inline void refuse_kv(kv_transfer_code code, const std::string& text) {
  throw kv_transfer_error(code, text);
}
[[noreturn]] inline void refuse_size(const char* side, const char* what, extent_t value) {
  refuse_kv(kv_transfer_code::size_is_not_positive,
            std::string(side) + ": " + what + " are " + std::to_string(value) + ", expected 1 or more");
}
[[noreturn]] inline void refuse_difference(const char* what, int prefill, int decode) {
  refuse_kv(kv_transfer_code::caches_differ, std::string(what) + " differ: " + std::to_string(prefill) +
                                                 " of prefill, " + std::to_string(decode) + " of decode");
}
[[noreturn]] inline void refuse_ranks(const named_pool& n, const rank_list_status& s) {
  const bool twice = s.code == rank_list_code::rank_is_listed_twice;
  refuse_kv(kv_transfer_code::ranks_are_refused, std::string(n.name) + ": rank " +
                                                     std::to_string(rank_at(n.pool.ranks, s.position)) +
                                                     (twice ? " is listed twice" : " is no number of a rank"));
}
[[noreturn]] inline void refuse_heads(const named_pool& n) {
  refuse_kv(kv_transfer_code::heads_do_not_divide, std::string(n.name) + ": " + std::to_string(n.pool.cache.heads) +
                                                       " heads over " + std::to_string(n.pool.ranks.count) +
                                                       " ranks: neither divides the other");
}
[[noreturn]] inline void refuse_overflow() {
  refuse_kv(kv_transfer_code::bytes_overflow, "the transfer has more bytes than 64 bits count");
}
[[noreturn]] inline void refuse_table(const named_pool& n, std::size_t s, extent_t needed, std::size_t there) {
  refuse_kv(kv_transfer_code::table_is_too_short, std::string(n.name) + ": sequence " + std::to_string(s) + " takes " +
                                                      std::to_string(needed) + " pages of " +
                                                      std::to_string(n.pool.page_tokens) +
                                                      " tokens, its block table has " + std::to_string(there));
}
[[noreturn]] inline void refuse_page(const named_pool& n, std::size_t s, int page) {
  refuse_kv(kv_transfer_code::page_is_out_of_range,
            std::string(n.name) + ": sequence " + std::to_string(s) + " has a block in page " + std::to_string(page) +
                ", the pool has pages 0 to " + std::to_string(n.pool.pages - 1));
}
[[noreturn]] inline void refuse_reuse(const named_pool& n, int page, std::size_t first, std::size_t second) {
  refuse_kv(kv_transfer_code::page_is_used_twice,
            std::string(n.name) + ": page " + std::to_string(page) + " has two blocks, of " +
                (first == second ? "sequence " + std::to_string(first)
                                 : "sequences " + std::to_string(first) + " and " + std::to_string(second)));
}

constexpr void check_kv_cache(const kv_cache_shape& a, const kv_cache_shape& b) {
  if (a.layers != b.layers) refuse_difference("layers", a.layers, b.layers);
  if (a.planes != b.planes) refuse_difference("planes of a layer", a.planes, b.planes);
  if (a.heads != b.heads) refuse_difference("heads", a.heads, b.heads);
  if (a.head_dim != b.head_dim) refuse_difference("elements of a head", a.head_dim, b.head_dim);
  if (a.element_bytes != b.element_bytes) refuse_difference("bytes of an element", a.element_bytes, b.element_bytes);
}

constexpr extent_t checked_product(extent_t a, extent_t b) {
  const checked_extent c = checked_multiply(a, b);
  if (c.overflow) refuse_overflow();
  return c.value;
}

constexpr void check_pool(const named_pool& n) {
  const kv_pool& p = n.pool;
  const std::pair<const char*, int> sizes[] = {{"layers", p.cache.layers},
                                               {"planes of a layer", p.cache.planes},
                                               {"heads", p.cache.heads},
                                               {"elements of a head", p.cache.head_dim},
                                               {"bytes of an element", p.cache.element_bytes},
                                               {"ranks", p.ranks.count},
                                               {"tokens of a page", p.page_tokens},
                                               {"pages", p.pages}};
  for (const auto& [what, value] : sizes)
    if (value < 1) refuse_size(n.name, what, value);
  mesh_shape line;
  line.axis_count = 1;
  line.size[0] = p.ranks.count;
  if (const rank_list_status s = check_rank_list(line, p.ranks); s.code != rank_list_code::ok) refuse_ranks(n, s);
  const bool divides = p.cache.heads % p.ranks.count == 0 || p.ranks.count % p.cache.heads == 0;
  if (p.cut == kv_cut::heads && !divides) refuse_heads(n);
  extent_t bytes = checked_product(p.cache.heads, checked_product(p.cache.head_dim, p.cache.element_bytes));
  bytes = checked_product(checked_product(bytes, p.page_tokens), p.pages);
  checked_product(checked_product(bytes, p.ranks.count), extent_t{p.cache.layers} * p.cache.planes);
}

/// Blocks of all sequences on one side. O(pages · log pages).
constexpr void check_tables(const named_pool& n, std::span<const kv_sequence> sequences) {
  std::vector<std::pair<int, std::size_t>> used;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::span<const int> table = n.reads ? sequences[s].prefill_table : sequences[s].decode_table;
    const extent_t needed = kv_blocks(n.pool, sequences[s].tokens);
    if (needed > static_cast<extent_t>(table.size())) refuse_table(n, s, needed, table.size());
    for (const int page : table.first(static_cast<std::size_t>(needed))) {
      if (page < 0 || page >= n.pool.pages) refuse_page(n, s, page);
      used.emplace_back(page, s);
    }
  }
  std::sort(used.begin(), used.end());
  for (std::size_t i = 1; i < used.size(); ++i)
    if (used[i].first == used[i - 1].first && (!n.reads || used[i].second == used[i - 1].second))
      refuse_reuse(n, used[i].first, used[i - 1].second, used[i].second);
}

/// Throws kv_transfer_error where the cache of these sequences cannot be handed over. O(pages · log pages).
constexpr void check_kv_transfer(const kv_pool& prefill, const kv_pool& decode,
                                 std::span<const kv_sequence> sequences) {
  detail::check_kv_cache(prefill.cache, decode.cache);
  const detail::named_pool sides[] = {{prefill, "prefill", true}, {decode, "decode", false}};
  for (const detail::named_pool& n : sides) detail::check_pool(n);
  if (sequences.empty()) detail::refuse_kv(kv_transfer_code::batch_is_empty, "the batch has no sequences");
  for (const kv_sequence& s : sequences)
    if (s.tokens < 1) detail::refuse_size("the batch", "tokens of a sequence", s.tokens);
  for (const detail::named_pool& n : sides) detail::check_tables(n, sequences);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
