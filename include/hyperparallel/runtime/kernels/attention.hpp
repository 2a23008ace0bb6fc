// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scaled dot product attention, whole or over a block of the keys, and the merge of such blocks.
//
// q is [batch, heads, queries, dim], k [batch, key heads, keys, dim], v [batch, key heads, keys, value dim]; key heads
// divide heads, neighbouring heads share one. Masks compare positions in the whole sequence, so that a device that
// holds a slice of the queries and meets the keys block by block (the ring) masks as one device would.
//
//   out = softmax(scale · q · kᵀ + mask) · v        lse = log Σ e^(scale · q · kᵀ + mask), −∞ where no key is seen
//
// Laws: merge_attention over any split of the keys is the whole up to rounding, and commutes exactly; a row depends on
// its query and the keys alone, so any split of batch, heads and queries gives bit-equal parts.
// Keys are met in tiles with a running maximum (Milakov and Gimelshein, arXiv:1805.02867; Dao et al.,
// arXiv:2205.14135); about 70 KiB of stack hold them.

#include <cmath>
#include <type_traits>

#include <hyperparallel/runtime/kernels/contraction.hpp>
#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/reduction.hpp>
#include <hyperparallel/runtime/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::kernels {

struct attention_options {
  double scale = 0;           ///< 0 stands for 1 / √dim
  bool causal = false;        ///< a query sees keys at its own position and before
  extent_t window = 0;        ///< unless 0, a query sees only keys less than this far away
  extent_t query_offset = 0;  ///< position of the first query in the whole sequence
  extent_t key_offset = 0;    ///< position of the first key
};

namespace detail {

inline constexpr extent_t attention_queries = 16;
inline constexpr extent_t attention_keys = 32;
inline constexpr extent_t attention_depth = 64;
inline constexpr extent_t attention_columns = 256;

/// The keys, by local index, that the query at local index `query` sees: always an interval, and both ends rise with
/// the query.
constexpr interval seen_keys(const attention_options& o, extent_t query, extent_t keys) {
  const extent_t at = query + o.query_offset - o.key_offset;
  interval seen{0, keys};
  if (o.window > 0) seen = {at - o.window + 1, at + o.window};
  if (o.causal) seen.end = smaller(seen.end, at + 1);
  seen.begin = smaller(larger(seen.begin, 0), keys);
  seen.end = larger(smaller(seen.end, keys), seen.begin);
  return seen;
}

template <class Q, class K, class V>
struct attention_head {
  const Q* q;
  const K* k;
  const V* v;
  extent_t keys, dim, value_dim;
};

/// Queries [first, first + rows) against all keys, for `columns` columns of the values from `column` on.
template <class Q, class K, class V, class R, class C = computing<R>>
HYPERPARALLEL_EXACT void attend(const attention_head<Q, K, V>& h, const attention_options& o, C scale, extent_t first,
                                extent_t rows, extent_t column, extent_t columns, R* out, C* lse) {
  HYPERPARALLEL_EXACT_BODY
  constexpr extent_t tile = attention_keys, depth = attention_depth, pitch = attention_columns;
  C query[attention_queries * depth], key[depth * tile], score[attention_queries * tile];
  C sum[attention_queries * pitch], largest[attention_queries], total[attention_queries];
  C value[std::is_same_v<V, C> ? 1 : tile * pitch];
  for (extent_t r = 0; r < rows; ++r) {
    largest[r] = lowest<C>;
    total[r] = C(0);
    for (extent_t c = 0; c < columns; ++c) sum[r * pitch + c] = C(0);
  }
  const extent_t begin = seen_keys(o, first, h.keys).begin;
  const extent_t end = seen_keys(o, first + rows - 1, h.keys).end;
  // Tiles start at multiples of their size, so that a row's bits do not depend on the rows it is computed with.
  for (extent_t j = begin - begin % tile; j < end; j += tile) {
    const extent_t width = smaller(tile, h.keys - j);
    for (extent_t at = 0; at < rows * tile; ++at) score[at] = C(0);
    for (extent_t d = 0; d < h.dim; d += depth) {
      const extent_t terms = smaller(depth, h.dim - d);
      pack(rows, terms, h.q + first * h.dim + d, h.dim, extent_t{1}, query, depth);
      pack(terms, width, h.k + j * h.dim + d, extent_t{1}, h.dim, key, tile);
      block_product(rows, width, terms, query, depth, key, tile, score, tile, gemm_mode::accumulate);
    }
    for (extent_t r = 0; r < rows; ++r) {
      const interval seen = seen_keys(o, first + r, h.keys);
      C* const line = score + r * tile;
      C most = largest[r];
      for (extent_t c = 0; c < width; ++c) {
        line[c] = j + c >= seen.begin && j + c < seen.end ? line[c] * scale : lowest<C>;
        most = functions::maximum::of(most, line[c]);
      }
      if (most == lowest<C>) {  // nothing seen yet
        for (extent_t c = 0; c < width; ++c) line[c] = C(0);
        continue;
      }
      const C shrink = std::exp(largest[r] - most);
      total[r] *= shrink;
      for (extent_t c = 0; c < width; ++c) {
        line[c] = std::exp(line[c] - most);
        total[r] += line[c];
      }
      for (extent_t c = 0; c < columns; ++c) sum[r * pitch + c] *= shrink;
      largest[r] = most;
    }
    const V* const from = h.v + j * h.value_dim + column;
    if constexpr (std::is_same_v<V, C>) {
      block_product(rows, columns, width, score, tile, from, h.value_dim, sum, pitch, gemm_mode::accumulate);
    } else {
      pack(width, columns, from, h.value_dim, extent_t{1}, value, pitch);
      block_product(rows, columns, width, score, tile, value, pitch, sum, pitch, gemm_mode::accumulate);
    }
  }
  for (extent_t r = 0; r < rows; ++r) {
    const bool seen = largest[r] != lowest<C>;
    for (extent_t c = 0; c < columns; ++c)
      out[(first + r) * h.value_dim + column + c] = store<R>(seen ? sum[r * pitch + c] / total[r] : C(0));
    if (lse != nullptr) lse[first + r] = seen ? largest[r] + std::log(total[r]) : lowest<C>;
  }
}

}  // namespace detail

/// `lse`, [batch, heads, queries], may be null. A query that sees no key gets zeros. A score of −∞ counts as unseen.
/// Domain: values are finite, those of unseen keys too: they are multiplied by 0.
template <class Q, class K, class V, class R, class C = computing<R>>
void attention(tensor_view<Q> q, tensor_view<K> k, tensor_view<V> v, tensor_view<R> out,
               std::type_identity_t<C>* lse = nullptr, const attention_options& options = {}) {
  const extent_t heads = q.extents.extent[1], queries = q.extents.extent[2], dim = q.extents.extent[3];
  const extent_t key_heads = k.extents.extent[1], keys = k.extents.extent[2], value_dim = v.extents.extent[3];
  const C scale = static_cast<C>(options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(dim)));
  for (extent_t b = 0; b < q.extents.extent[0]; ++b)
    for (extent_t h = 0; h < heads; ++h) {
      const extent_t head = b * heads + h, shared = b * key_heads + h / (heads / key_heads);
      const detail::attention_head<std::remove_const_t<Q>, std::remove_const_t<K>, std::remove_const_t<V>> one{
          q.data + head * queries * dim,
          k.data + shared * keys * dim,
          v.data + shared * keys * value_dim,
          keys,
          dim,
          value_dim};
      for (extent_t i = 0; i < queries; i += detail::attention_queries)
        for (extent_t c = 0; c < value_dim; c += detail::attention_columns)
          detail::attend(one, options, scale, i, smaller(detail::attention_queries, queries - i), c,
                         smaller(detail::attention_columns, value_dim - c), out.data + head * queries * value_dim,
                         lse == nullptr ? nullptr : lse + head * queries);
    }
}

/// out and lse of the keys of both blocks. Domain: extents of a, b and out are equal; each lse has one element a row.
/// The results may be either block's.
template <class A, class B, class R, class C = computing<R>>
HYPERPARALLEL_EXACT void merge_attention(tensor_view<A> a, const std::type_identity_t<C>* lse_a, tensor_view<B> b,
                                         const std::type_identity_t<C>* lse_b, tensor_view<R> out,
                                         std::type_identity_t<C>* lse) {
  HYPERPARALLEL_EXACT_BODY
  const extent_t width = out.extents.extent[out.extents.rank - 1];
  const extent_t rows = width == 0 ? 0 : volume(out) / width;
  for (extent_t r = 0; r < rows; ++r) {
    const C most = functions::maximum::of(lse_a[r], lse_b[r]);
    const bool seen = most != detail::lowest<C>;
    const C by_a = seen ? std::exp(lse_a[r] - most) : C(0), by_b = seen ? std::exp(lse_b[r] - most) : C(0);
    const C both = seen ? by_a + by_b : C(1);
    for (extent_t c = r * width; c < (r + 1) * width; ++c)
      out.data[c] = store<R>((by_a * static_cast<C>(load(a.data[c])) + by_b * static_cast<C>(load(b.data[c]))) / both);
    lse[r] = seen ? most + std::log(both) : most;
  }
}

}  // namespace hyperparallel::inline v0_2::kernels

HYPERPARALLEL_EXACT_END
