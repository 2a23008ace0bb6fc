// SPDX-License-Identifier: Apache-2.0
#pragma once
// Caches of keys and values in pages: what a token leaves, how ranks hold it, and where it lies in their memory.
//
// One plane of one layer (its keys, its values, or its latent vectors) is a tensor (tokens, heads, head_dim) of each
// sequence. Ranks cut it as engines do:
//   heads   n ranks of h heads, n ≤ h: h / n neighbouring heads each; n > h: each head on n / h neighbouring ranks.
//           A latent vector is one head, so every rank has all of it
//   tokens  each rank has ⌈tokens / n⌉ neighbouring tokens of each sequence, the last ones fewer
// A rank has a pool of pages in each plane of each layer; the block table of a sequence, the same on all ranks of a
// side, names the page of each block of `page_tokens` tokens that a rank has. A page is row-major.
//
// Laws: `kv_side` is a layout of layout_value.hpp, so slices and moves are those of any tensor; holders of equal slices
// are `kv_replicas` neighbouring positions; `kv_address` is one-to-one from tokens and heads of a rank to rows of pages.
// Sources: vLLM, vllm/v1/attention/backends (NHD, HND) and vllm/v1/worker/block_table.py; Megatron-LM, grouped queries.
// Units: elements in shapes, bytes in pages.

#include <cstddef>
#include <span>

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/redistribution/relocation.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct kv_cache_shape {
  int layers = 0;
  int planes = 2;  ///< tensors of a layer: keys and values; 1: latent vectors
  int heads = 0;   ///< of keys; of a latent vector 1
  int head_dim = 0;
  int element_bytes = 2;
  friend constexpr bool operator==(const kv_cache_shape&, const kv_cache_shape&) = default;
};

/// Of grouped queries, and with as many heads of keys as of queries.
constexpr kv_cache_shape grouped_cache(int layers, int key_heads, int head_dim, int element_bytes) {
  return {layers, 2, key_heads, head_dim, element_bytes};
}

/// Of latent attention: a latent vector and a rotary key, one behind the other.
constexpr kv_cache_shape latent_cache(int layers, int latent_rank, int rope_dim, int element_bytes) {
  return {layers, 1, 1, latent_rank + rope_dim, element_bytes};
}

enum class kv_cut : unsigned char { heads, tokens };

/// Dims of a page, outermost first, then the elements of a head: NHD and HND.
enum class page_order : unsigned char { tokens_heads, heads_tokens };

/// How the ranks of a side hold a cache. The rank list's numbers are the caller's to keep alive.
struct kv_pool {
  kv_cache_shape cache{};
  rank_list ranks{};
  int page_tokens = 16;
  int pages = 0;  ///< of each plane of each layer on each rank
  kv_cut cut = kv_cut::heads;
  page_order order = page_order::tokens_heads;
};

/// A sequence that is handed over. Tables may be longer than its tokens need.
struct kv_sequence {
  extent_t tokens = 0;
  std::span<const int> prefill_table{};
  std::span<const int> decode_table{};
};

namespace detail {

/// Into how many pieces the heads are cut. Domain of this and the following: the pool is accepted.
constexpr int kv_head_pieces(const kv_pool& p) {
  if (p.cut == kv_cut::tokens) return 1;
  return p.ranks.count < p.cache.heads ? p.ranks.count : p.cache.heads;
}

/// Ranks that hold the same: positions k · replicas to (k + 1) · replicas − 1.
constexpr int kv_replicas(const kv_pool& p) { return p.cut == kv_cut::tokens ? 1 : p.ranks.count / kv_head_pieces(p); }

/// A plane of one sequence as a tensor (tokens, heads, head_dim) over the ranks. O(1).
constexpr tensor_side kv_side(const kv_pool& p, extent_t tokens) {
  tensor_side s{{}, {tokens, p.cache.heads, p.cache.head_dim}, p.ranks};
  s.layout.mesh.axis_count = 1;
  s.layout.mesh.size[0] = p.ranks.count;
  s.layout.rank = 3;
  if (p.cut == kv_cut::tokens) s.layout.padded = 1;
  append_cut(s.layout, p.cut == kv_cut::tokens ? cut{0, 0, 1, p.ranks.count} : cut{1, 0, 1, kv_head_pieces(p)});
  return s;
}

/// What a position holds of it. O(1).
constexpr box kv_slice(const kv_pool& p, extent_t tokens, int position) {
  const tensor_side s = kv_side(p, tokens);
  return slice_at(s.layout, s.shape, coordinates_of(s.layout.mesh, position));
}

/// Blocks that the block table of a sequence needs: those of the rank with the most tokens.
constexpr extent_t kv_blocks(const kv_pool& p, extent_t tokens) {
  const extent_t most = p.cut == kv_cut::tokens ? ceil_divide(tokens, p.ranks.count) : tokens;
  return ceil_divide(most, p.page_tokens);
}

/// Bytes from one head, and from one token, to the next in a page, and of a page.
struct kv_page_form {
  extent_t row = 0;  ///< bytes of a head of a token
  extent_t head = 0;
  extent_t token = 0;
  extent_t bytes = 0;
};

constexpr kv_page_form page_form(const kv_pool& p) {
  const extent_t heads = p.cache.heads / kv_head_pieces(p), row = extent_t{p.cache.head_dim} * p.cache.element_bytes;
  kv_page_form f{row, row, row * heads, row * heads * p.page_tokens};
  if (p.order == page_order::heads_tokens) {
    f.token = row;
    f.head = row * p.page_tokens;
  }
  return f;
}

}  // namespace detail

struct kv_address {
  int page = 0;
  extent_t offset = 0;  ///< bytes
  friend constexpr bool operator==(const kv_address&, const kv_address&) = default;
};

namespace detail {

/// Where a position that holds `own` has a head of a token. Domain: it has it, and `table` its block. O(1).
constexpr kv_address address_of(const kv_pool& p, const kv_page_form& f, std::span<const int> table, const box& own,
                                extent_t token, extent_t head) {
  const extent_t at = token - own.dim[0].begin;
  return {table[static_cast<std::size_t>(at / p.page_tokens)],
          at % p.page_tokens * f.token + (head - own.dim[1].begin) * f.head};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
