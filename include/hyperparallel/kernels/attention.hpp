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
// attention_head.hpp has the arithmetic.

#include <cmath>
#include <type_traits>

#include <hyperparallel/kernels/attention_head.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

struct attention_options {
  double scale = 0;           ///< 0 stands for 1 / √dim
  bool causal = false;        ///< a query sees keys at its own position and before
  extent_t window = 0;        ///< unless 0, a query sees only keys less than this far away
  extent_t query_offset = 0;  ///< position of the first query in the whole sequence
  extent_t key_offset = 0;    ///< position of the first key
};

namespace detail {

/// `count` elements in the computing type: where they lie, or loaded into memory of the thread.
template <int Use, class C, class X>
const C* loaded(extent_t count, const X* x) {
  if constexpr (std::is_same_v<X, C>) {
    return x;
  } else {
    C* const to = thread_memory<C, Use>(count);
    for (extent_t i = 0; i < count; ++i) to[i] = static_cast<C>(load(x[i]));
    return to;
  }
}

}  // namespace detail

/// `lse`, [batch, heads, queries], may be null. A query that sees no key gets zeros. A score of −∞ counts as unseen.
/// Domain: values are finite, those of unseen keys too: they are multiplied by 0.
template <class Q, class K, class V, class R, class C = computing<R>>
void attention(tensor_view<Q> q, tensor_view<K> k, tensor_view<V> v, tensor_view<R> out,
               std::type_identity_t<C>* lse = nullptr, const attention_options& options = {}) {
  const extent_t heads = q.extents.extent[1], key_heads = k.extents.extent[1];
  static thread_local detail::attention_geometry g;
  g.parts = 1;
  g.rows = q.extents.extent[2];
  g.keys = k.extents.extent[2];
  g.depth[0] = g.key_step[0] = q.extents.extent[3];
  g.width = g.value_step = v.extents.extent[3];
  g.per_position = 1;
  g.first_position = options.query_offset;
  g.first_key = options.key_offset;
  g.causal = options.causal;
  g.window = options.window;
  g.scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(g.depth[0]));
  for (std::vector<extent_t>* table : {&g.query_row[0], &g.out_row, &g.statistic_row})
    table->resize(static_cast<std::size_t>(g.rows));
  for (extent_t r = 0; r < g.rows; ++r) {
    g.query_row[0][static_cast<std::size_t>(r)] = r * g.depth[0];
    g.out_row[static_cast<std::size_t>(r)] = r * g.width;
    g.statistic_row[static_cast<std::size_t>(r)] = r;
  }
  for (extent_t b = 0; b < q.extents.extent[0]; ++b)
    for (extent_t h = 0; h < heads; ++h) {
      const extent_t head = b * heads + h, shared = b * key_heads + h / (heads / key_heads);
      const C* const query = detail::loaded<4, C>(g.rows * g.depth[0], q.data + head * g.rows * g.depth[0]);
      const C* const key = detail::loaded<5, C>(g.keys * g.depth[0], k.data + shared * g.keys * g.depth[0]);
      const C* const value = detail::loaded<6, C>(g.keys * g.width, v.data + shared * g.keys * g.width);
      R* const to = out.data + head * g.rows * g.width;
      C* const statistic = lse == nullptr ? detail::thread_memory<C, 8>(g.rows) : lse + head * g.rows;
      if constexpr (std::is_same_v<R, C>) {
        detail::attend_head<C>(g, &query, &key, value, to, statistic);
      } else {
        C* const wide = detail::thread_memory<C, 7>(g.rows * g.width);
        detail::attend_head<C>(g, &query, &key, value, wide, statistic);
        for (extent_t e = 0; e < g.rows * g.width; ++e) to[e] = store<R>(wide[e]);
      }
    }
}

/// out and lse of the keys of both blocks. Domain: extents of a, b and out are equal; each lse has one element a row.
/// The results may be either block's.
template <class A, class B, class R, class C = computing<R>>
void merge_attention(tensor_view<A> a, const std::type_identity_t<C>* lse_a, tensor_view<B> b,
                     const std::type_identity_t<C>* lse_b, tensor_view<R> out, std::type_identity_t<C>* lse) {
  const extent_t width = out.extents.extent[out.extents.rank - 1];
  detail::merge_rows<C>(width == 0 ? 0 : volume(out) / width, width, static_cast<const std::remove_const_t<A>*>(a.data),
                        lse_a, static_cast<const std::remove_const_t<B>*>(b.data), lse_b, out.data, lse);
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
