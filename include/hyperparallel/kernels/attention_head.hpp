// SPDX-License-Identifier: Apache-2.0
#pragma once
// One head of attention and its gradient: the arithmetic of all attention, of models and of distributed tensors.
//
//   o = softmax(scale · q·kᵀ + mask) · v          lse = log Σ e^(scale · q·kᵀ + mask)
//   P = e^(scale · q·kᵀ − lse), D = Σ do · o      dv = Pᵀ·do;  dS = P ∘ (do·vᵀ − D) · scale;  dq = dS·k;  dk = dSᵀ·q
//
// With a cap, scores s = scale · q·kᵀ count as c = cap · tanh(s / cap), and dS has the factor 1 − (c / cap)² more.
// Laws: a row's o, lse and dq depend on itself and the keys alone, so any cut of batch, heads and rows gives the same
// bits; dk and dv are summed over 64 rows at a time. A row that sees no key has o = 0 and lse = −∞.
// Keys are met 64 at a time, in tiles that begin at multiples of 64, with a running maximum; the gradient computes P
// again (Milakov and Gimelshein, arXiv:1805.02867; Dao, arXiv:2307.08691). O(rows · keys · (depth + width)), memory of a
// thread O(64 · (depth + width)).

#include <cstring>
#include <limits>
#include <vector>

#include <hyperparallel/kernels/blocked_product.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>
#include <hyperparallel/layout/shape.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

inline constexpr int most_score_parts = 2;
inline constexpr extent_t attention_tile_rows = 64, attention_tile_keys = 64;

/// Sizes and tables of a head. Scores are the sum of one or two products, so the second pair of latent attention is one
/// more part. Row r is of position r / per_position; `out_row` places whatever has the rows of the result,
/// `statistic_row` their sums.
struct attention_geometry {
  int parts = 1;
  extent_t rows = 0, per_position = 1, keys = 0, width = 0;
  extent_t depth[most_score_parts] = {}, key_step[most_score_parts] = {}, value_step = 0;
  extent_t first_position = 0, first_key = 0;  ///< in the whole sequence
  bool causal = false;                         ///< a query sees keys at its own position and before
  extent_t window = 0;                         ///< unless 0, a query sees only keys less than this far away
  double scale = 1;
  double cap = 0;  ///< unless 0, of scores
  std::vector<extent_t> query_row[most_score_parts], out_row, statistic_row;

  /// The keys that row r sees, from the first of the block: an interval, whose ends rise with the row.
  interval seen(extent_t r) const {
    const extent_t at = first_position + r / per_position - first_key;
    interval keys_seen{0, keys};
    if (window > 0) keys_seen = {at - window + 1, at + window};
    if (causal && at + 1 < keys_seen.end) keys_seen.end = at + 1;
    keys_seen.begin = keys_seen.begin < 0 ? 0 : keys_seen.begin < keys ? keys_seen.begin : keys;
    keys_seen.end = keys_seen.end < keys_seen.begin ? keys_seen.begin : keys_seen.end < keys ? keys_seen.end : keys;
    return keys_seen;
  }
  /// Those of the tile [first, first + count), from its first.
  interval seen(extent_t r, extent_t first, extent_t count) const {
    const interval all = seen(r);
    const auto within = [&](extent_t k) { return k < first ? 0 : k - first < count ? k - first : count; };
    return {within(all.begin), within(all.end)};
  }
  /// Where the first tile begins that row r sees a key of.
  extent_t first_tile(extent_t r) const {
    const extent_t begin = seen(r).begin;
    return begin - begin % attention_tile_keys;
  }
};

/// Rows [first, first + rows) of `from`, `width` wide and placed by `at`, side by side in `to`.
template <class T>
void gather_tile(const T* from, const extent_t* at, extent_t first, extent_t rows, extent_t width, T* to) {
  for (extent_t r = 0; r < rows; ++r)
    std::memcpy(to + r * width, from + at[first + r], static_cast<std::size_t>(width) * sizeof(T));
}

/// Scores of `rows` gathered queries against `width` keys, as the products leave them: not scaled, not masked.
template <class T>
void tile_scores(const attention_geometry& g, extent_t rows, extent_t width, const T* const* query, const T* const* key,
                 T* score) {
  for (int i = 0; i < g.parts; ++i)
    blocked_product<T>(rows, width, g.depth[i], even_matrix<const T>{query[i], {g.depth[i]}, {1}},
                       even_matrix<const T>{key[i], {1}, {g.key_step[i]}},
                       even_matrix<T>{score, {attention_tile_keys}, {1}},
                       i == 0 ? product_mode::overwrite : product_mode::accumulate);
}

/// Tiles of one thread: the first `parts` gathered queries, then what the caller needs.
template <class T>
struct attention_tiles {
  T *query[most_score_parts], *d_query[most_score_parts], *score, *d_score, *slope, *sum, *d_out;
  T largest[attention_tile_rows], total[attention_tile_rows];

  explicit attention_tiles(const attention_geometry& g) {
    const extent_t depth = g.depth[0] + (g.parts > 1 ? g.depth[1] : 0);
    T* at = thread_memory<T, 2>(attention_tile_rows * (2 * depth + 2 * g.width + 3 * attention_tile_keys));
    const auto take = [&at](extent_t width) {
      T* const taken = at;
      at += attention_tile_rows * width;
      return taken;
    };
    score = take(attention_tile_keys);
    d_score = take(attention_tile_keys);
    slope = take(attention_tile_keys);
    sum = take(g.width);
    d_out = take(g.width);
    for (int i = 0; i < g.parts; ++i) {
      query[i] = take(g.depth[i]);
      d_query[i] = take(g.depth[i]);
    }
  }
};

/// A scaled score under a cap, unless this is 0.
template <class T>
T capped(T score, T cap) {
  return cap > T(0) ? cap * std::tanh(score / cap) : score;
}

/// One row's scores of the keys `seen` become e^(score − maximum), others 0; sums so far are rescaled where the maximum
/// rises. A score of −∞ is not seen.
template <class T>
void absorb_scores(T scale, T cap, interval seen, extent_t width, extent_t out_width, T* line, T& largest, T& total,
                   T* sum) {
  T most = largest;
  for (extent_t s = seen.begin; s < seen.end; ++s) {
    line[s] = capped(line[s] * scale, cap);
    most = functions::maximum::of(most, line[s]);
  }
  if (most == -std::numeric_limits<T>::infinity()) seen.end = seen.begin;
  if (seen.begin < seen.end) {
    if (!(most == largest)) {
      const T by = std::exp(largest - most);
      total *= by;
      for (extent_t e = 0; e < out_width; ++e) sum[e] *= by;
      largest = most;
    }
    for (extent_t s = seen.begin; s < seen.end; ++s) line[s] = std::exp(line[s] - most);
    total += lane_sum<T>(seen.end - seen.begin, [&](extent_t s) { return line[seen.begin + s]; });
  }
  for (extent_t s = 0; s < seen.begin; ++s) line[s] = T(0);
  for (extent_t s = seen.end; s < width; ++s) line[s] = T(0);
}

/// One head: `key`, `value`, `query`, `out`, `log_sum` point at it.
template <class T>
void attend_head(const attention_geometry& g, const T* const* query, const T* const* key, const T* value, T* out,
                 T* log_sum) {
  attention_tiles<T> t(g);
  const extent_t width = g.width;
  const T scale = static_cast<T>(g.scale), cap = static_cast<T>(g.cap);
  for (extent_t first = 0; first < g.rows; first += attention_tile_rows) {
    const extent_t rows = g.rows - first < attention_tile_rows ? g.rows - first : attention_tile_rows;
    for (int i = 0; i < g.parts; ++i) gather_tile(query[i], g.query_row[i].data(), first, rows, g.depth[i], t.query[i]);
    for (extent_t r = 0; r < rows; ++r) {
      t.largest[r] = -std::numeric_limits<T>::infinity();
      t.total[r] = T(0);
    }
    for (extent_t i = 0; i < rows * width; ++i) t.sum[i] = T(0);
    const extent_t end = g.seen(first + rows - 1).end;
    for (extent_t j = g.first_tile(first); j < end; j += attention_tile_keys) {
      const extent_t across = g.keys - j < attention_tile_keys ? g.keys - j : attention_tile_keys;
      const T* keys[most_score_parts];
      for (int i = 0; i < g.parts; ++i) keys[i] = key[i] + j * g.key_step[i];
      tile_scores<T>(g, rows, across, t.query, keys, t.score);
      for (extent_t r = 0; r < rows; ++r) {
        absorb_scores(scale, cap, g.seen(first + r, j, across), across, width, t.score + r * attention_tile_keys,
                      t.largest[r], t.total[r], t.sum + r * width);
      }
      blocked_product<T>(rows, width, across, even_matrix<const T>{t.score, {attention_tile_keys}, {1}},
                         even_matrix<const T>{value + j * g.value_step, {g.value_step}, {1}},
                         even_matrix<T>{t.sum, {width}, {1}}, product_mode::accumulate);
    }
    for (extent_t r = 0; r < rows; ++r) {
      const bool blind = !(t.total[r] > T(0));
      const T by = blind ? T(0) : T(1) / t.total[r];
      T* const to = out + g.out_row[static_cast<std::size_t>(first + r)];
      for (extent_t e = 0; e < width; ++e) to[e] = t.sum[r * width + e] * by;
      log_sum[g.statistic_row[static_cast<std::size_t>(first + r)]] =
          blind ? -std::numeric_limits<T>::infinity() : t.largest[r] + std::log(t.total[r]);
    }
  }
}

/// Operands of a gradient at one head, and the results that rows and keys add to.
template <class T>
struct attention_gradient_head {
  const T *query[most_score_parts], *key[most_score_parts], *value, *d_out, *out, *log_sum;
  T *d_query[most_score_parts], *d_key[most_score_parts], *d_value;
};

/// Adds the head's part to d_key and d_value, and writes d_query.
template <class T>
void attend_head_gradient(const attention_geometry& g, const attention_gradient_head<T>& h) {
  attention_tiles<T> t(g);
  const extent_t width = g.width;
  const T scale = static_cast<T>(g.scale), cap = static_cast<T>(g.cap);
  using read = even_matrix<const T>;
  using write = even_matrix<T>;
  constexpr extent_t pitch = attention_tile_keys;
  for (extent_t first = 0; first < g.rows; first += attention_tile_rows) {
    const extent_t rows = g.rows - first < attention_tile_rows ? g.rows - first : attention_tile_rows;
    gather_tile(h.out, g.out_row.data(), first, rows, width, t.sum);
    gather_tile(h.d_out, g.out_row.data(), first, rows, width, t.d_out);
    for (extent_t r = 0; r < rows; ++r) {
      t.total[r] = dot(width, t.d_out + r * width, t.sum + r * width);
      t.largest[r] = h.log_sum[g.statistic_row[static_cast<std::size_t>(first + r)]];
    }
    for (int i = 0; i < g.parts; ++i) {
      gather_tile(h.query[i], g.query_row[i].data(), first, rows, g.depth[i], t.query[i]);
      for (extent_t x = 0; x < rows * g.depth[i]; ++x) t.d_query[i][x] = T(0);
    }
    const extent_t end = g.seen(first + rows - 1).end;
    for (extent_t j = g.first_tile(first); j < end; j += attention_tile_keys) {
      const extent_t across = g.keys - j < attention_tile_keys ? g.keys - j : attention_tile_keys;
      const T* keys[most_score_parts];
      for (int i = 0; i < g.parts; ++i) keys[i] = h.key[i] + j * g.key_step[i];
      tile_scores<T>(g, rows, across, t.query, keys, t.score);
      for (extent_t r = 0; r < rows; ++r) {
        const interval seen = g.seen(first + r, j, across);
        T* const line = t.score + r * pitch;
        for (extent_t s = 0; s < across; ++s) {
          const T score = capped(line[s] * scale, cap), share = cap > T(0) ? score / cap : T(0);
          line[s] = s >= seen.begin && s < seen.end ? std::exp(score - t.largest[r]) : T(0);
          t.slope[r * pitch + s] = scale * (T(1) - share * share);
        }
      }
      const T* const value = h.value + j * g.value_step;
      blocked_product<T>(rows, across, width, read{t.d_out, {width}, {1}}, read{value, {1}, {g.value_step}},
                         write{t.d_score, {pitch}, {1}});
      blocked_product<T>(across, width, rows, read{t.score, {1}, {pitch}}, read{t.d_out, {width}, {1}},
                         write{h.d_value + j * g.value_step, {g.value_step}, {1}}, product_mode::accumulate);
      for (extent_t r = 0; r < rows; ++r)
        for (extent_t s = 0; s < across; ++s) {
          const extent_t at = r * pitch + s;
          t.d_score[at] = t.score[at] * (t.d_score[at] - t.total[r]) * t.slope[at];
        }
      for (int i = 0; i < g.parts; ++i) {
        const extent_t depth = g.depth[i], step = g.key_step[i];
        blocked_product<T>(rows, depth, across, read{t.d_score, {pitch}, {1}}, read{keys[i], {step}, {1}},
                           write{t.d_query[i], {depth}, {1}}, product_mode::accumulate);
        blocked_product<T>(across, depth, rows, read{t.d_score, {1}, {pitch}}, read{t.query[i], {depth}, {1}},
                           write{h.d_key[i] + j * step, {step}, {1}}, product_mode::accumulate);
      }
    }
    for (int i = 0; i < g.parts; ++i)
      for (extent_t r = 0; r < rows; ++r)
        std::memcpy(h.d_query[i] + g.query_row[i][static_cast<std::size_t>(first + r)], t.d_query[i] + r * g.depth[i],
                    static_cast<std::size_t>(g.depth[i]) * sizeof(T));
  }
}

/// Two blocks of keys joined, row by row: lse = log(e^lse₁ + e^lse₂), o = e^(lse₁ − lse)·o₁ + e^(lse₂ − lse)·o₂. Blocks
/// that a row does not see (lse = −∞) change nothing; the order of the two does not matter. Results may be either's.
template <class C, class A, class B, class R>
HYPERPARALLEL_EXACT void merge_rows(extent_t rows, extent_t width, const A* a, const C* lse_a, const B* b,
                                    const C* lse_b, R* out, C* lse) {
  HYPERPARALLEL_EXACT_BODY
  for (extent_t r = 0; r < rows; ++r, a += width, b += width, out += width) {
    const C most = functions::maximum::of(lse_a[r], lse_b[r]);
    const bool seen = most != -std::numeric_limits<C>::infinity();
    const C by_a = seen ? std::exp(lse_a[r] - most) : C(0), by_b = seen ? std::exp(lse_b[r] - most) : C(0);
    const C both = seen ? by_a + by_b : C(1), part_a = by_a / both, part_b = by_b / both;
    for (extent_t e = 0; e < width; ++e)
      out[e] = store<R>(part_a * static_cast<C>(load(a[e])) + part_b * static_cast<C>(load(b[e])));
    lse[r] = seen ? most + std::log(both) : most;
  }
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
