// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention and its gradient over a box of rows and keys; heads may share keys.
//
//   o = softmax(scale · q·kᵀ + mask) · v          lse = log Σ e^(scale · q·kᵀ + mask)
//   P = e^(scale · q·kᵀ − lse), D = Σ do · o      dv = Pᵀ·do;  dS = P ∘ (do·vᵀ − D) · scale;  dq = dS·k;  dk = dSᵀ·q
//
// Laws: a row's o, lse and dq depend on itself and the keys alone, so any cut of batch, heads and rows gives the same
// bits; dk and dv are summed over 64 rows at a time. A row that sees no key has o = 0 and lse = −∞.
// Keys are met 64 at a time with a running maximum; the gradient computes P again (Milakov and Gimelshein,
// arXiv:1805.02867; Dao, arXiv:2307.08691). O(rows · keys · (depth + width)), memory of a thread O(64 · (depth +
// width)).

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/model_kernels/attention_problem.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::model_kernels {

namespace detail {

/// Tiles of one thread: the first `parts` gathered queries, then what the caller needs.
template <class T>
struct attention_tiles {
  T *query[most_score_parts], *d_query[most_score_parts], *score, *d_score, *sum, *d_out;
  T largest[attention_tile_rows], total[attention_tile_rows];

  explicit attention_tiles(const attention_geometry& g) {
    const extent_t depth = g.depth[0] + (g.parts > 1 ? g.depth[1] : 0);
    T* at = thread_memory<T, 2>(attention_tile_rows * (2 * depth + 2 * g.width + 2 * attention_tile_keys));
    const auto take = [&at](extent_t width) {
      T* const taken = at;
      at += attention_tile_rows * width;
      return taken;
    };
    score = take(attention_tile_keys);
    d_score = take(attention_tile_keys);
    sum = take(g.width);
    d_out = take(g.width);
    for (int i = 0; i < g.parts; ++i) {
      query[i] = take(g.depth[i]);
      d_query[i] = take(g.depth[i]);
    }
  }
};

/// One row's scores become e^(score − maximum); sums so far are rescaled where the maximum rises.
template <class T>
void absorb_scores(T scale, extent_t seen, extent_t width, extent_t out_width, T* line, T& largest, T& total, T* sum) {
  T most = largest;
  for (extent_t s = 0; s < seen; ++s) {
    line[s] *= scale;
    most = line[s] > most ? line[s] : most;
  }
  if (seen > 0) {
    if (most > largest) {
      const T by = std::exp(largest - most);
      total *= by;
      for (extent_t e = 0; e < out_width; ++e) sum[e] *= by;
      largest = most;
    }
    for (extent_t s = 0; s < seen; ++s) line[s] = std::exp(line[s] - most);
    total += lane_sum<T>(seen, [&](extent_t s) { return line[s]; });
  }
  for (extent_t s = seen; s < width; ++s) line[s] = T(0);
}

/// One head: `key`, `value`, `query`, `out`, `log_sum` point at it.
template <class T>
void attend_head(const attention_geometry& g, const T* const* query, const T* const* key, const T* value, T* out,
                 T* log_sum) {
  attention_tiles<T> t(g);
  const extent_t width = g.width;
  const T scale = static_cast<T>(g.scale);
  for (extent_t first = 0; first < g.rows; first += attention_tile_rows) {
    const extent_t rows = g.rows - first < attention_tile_rows ? g.rows - first : attention_tile_rows;
    for (int i = 0; i < g.parts; ++i) gather_tile(query[i], g.query_row[i].data(), first, rows, g.depth[i], t.query[i]);
    for (extent_t r = 0; r < rows; ++r) {
      t.largest[r] = -std::numeric_limits<T>::infinity();
      t.total[r] = T(0);
    }
    for (extent_t i = 0; i < rows * width; ++i) t.sum[i] = T(0);
    const extent_t end = g.seen(first + rows - 1);
    for (extent_t j = 0; j < end; j += attention_tile_keys) {
      const extent_t across = g.keys - j < attention_tile_keys ? g.keys - j : attention_tile_keys;
      const T* keys[most_score_parts];
      for (int i = 0; i < g.parts; ++i) keys[i] = key[i] + j * g.key_step[i];
      tile_scores<T>(g, rows, across, t.query, keys, t.score);
      for (extent_t r = 0; r < rows; ++r) {
        const extent_t seen = g.seen(first + r) - j;
        absorb_scores(scale,
                      seen < 0        ? 0
                      : seen < across ? seen
                                      : across,
                      across, width, t.score + r * attention_tile_keys, t.largest[r], t.total[r], t.sum + r * width);
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
  const T scale = static_cast<T>(g.scale);
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
    const extent_t end = g.seen(first + rows - 1);
    for (extent_t j = 0; j < end; j += attention_tile_keys) {
      const extent_t across = g.keys - j < attention_tile_keys ? g.keys - j : attention_tile_keys;
      const T* keys[most_score_parts];
      for (int i = 0; i < g.parts; ++i) keys[i] = h.key[i] + j * g.key_step[i];
      tile_scores<T>(g, rows, across, t.query, keys, t.score);
      for (extent_t r = 0; r < rows; ++r) {
        const extent_t left = g.seen(first + r) - j, seen = left < 0 ? 0 : left < across ? left : across;
        T* const line = t.score + r * pitch;
        for (extent_t s = 0; s < seen; ++s) line[s] = std::exp(line[s] * scale - t.largest[r]);
        for (extent_t s = seen; s < across; ++s) line[s] = T(0);
      }
      const T* const value = h.value + j * g.value_step;
      blocked_product<T>(rows, across, width, read{t.d_out, {width}, {1}}, read{value, {1}, {g.value_step}},
                         write{t.d_score, {pitch}, {1}});
      blocked_product<T>(across, width, rows, read{t.score, {1}, {pitch}}, read{t.d_out, {width}, {1}},
                         write{h.d_value + j * g.value_step, {g.value_step}, {1}}, product_mode::accumulate);
      for (extent_t r = 0; r < rows; ++r)
        for (extent_t s = 0; s < across; ++s) {
          const extent_t at = r * pitch + s;
          t.d_score[at] = t.score[at] * (t.d_score[at] - t.total[r]) * scale;
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

}  // namespace detail

/// Attention with `parts` pairs of queries and keys, then the values, as operands from 0 on -> o, lse.
template <class T>
void attend(const operator_call& c, int parts) {
  const factor_rule& rule = *c.rule;
  const tensor_factors *query[most_score_parts], *key[most_score_parts];
  for (int i = 0; i < parts; ++i) {
    query[i] = &rule.operand[i];
    key[i] = &rule.operand[parts + i];
  }
  static thread_local attention_geometry g;
  read_geometry(c, parts, query, key, rule.operand[2 * parts], rule.result[0], rule.result[1], g);
  const loop_steps steps[7] = {g.query[0], g.query[1], g.key[0], g.key[1], g.value, g.out, g.statistic};
  for_each_point(c, g.heads, steps, [&](const extent_t(&at)[7]) {
    const T *queries[most_score_parts], *keys[most_score_parts];
    for (int i = 0; i < parts; ++i) {
      queries[i] = operand<T>(c, i) + at[i];
      keys[i] = operand<T>(c, parts + i) + at[2 + i];
    }
    detail::attend_head<T>(g, queries, keys, operand<T>(c, 2 * parts) + at[4], result<T>(c, 0) + at[5],
                           result<T>(c, 1) + at[6]);
  });
}

/// do, queries, keys, v, o, lse -> gradients of queries, keys and v.
template <class T>
void attend_gradient(const operator_call& c, int parts) {
  const factor_rule& rule = *c.rule;
  const tensor_factors *query[most_score_parts], *key[most_score_parts];
  for (int i = 0; i < parts; ++i) {
    query[i] = &rule.operand[1 + i];
    key[i] = &rule.operand[1 + parts + i];
  }
  const int value = 1 + 2 * parts;
  static thread_local attention_geometry g;
  read_geometry(c, parts, query, key, rule.operand[value], rule.operand[0], rule.operand[value + 2], g);
  for (int r = parts; r <= 2 * parts; ++r) {
    const extent_t n = c.result_elements(r);
    for (extent_t i = 0; i < n; ++i) result<T>(c, r)[i] = T(0);
  }
  const loop_steps steps[7] = {g.query[0], g.query[1], g.key[0], g.key[1], g.value, g.out, g.statistic};
  for_each_point(c, g.heads, steps, [&](const extent_t(&at)[7]) {
    detail::attention_gradient_head<T> h{};
    for (int i = 0; i < parts; ++i) {
      h.query[i] = operand<T>(c, 1 + i) + at[i];
      h.key[i] = operand<T>(c, 1 + parts + i) + at[2 + i];
      h.d_query[i] = result<T>(c, i) + at[i];
      h.d_key[i] = result<T>(c, parts + i) + at[2 + i];
    }
    h.value = operand<T>(c, value) + at[4];
    h.d_value = result<T>(c, 2 * parts) + at[4];
    h.d_out = operand<T>(c, 0) + at[5];
    h.out = operand<T>(c, value + 1) + at[5];
    h.log_sum = operand<T>(c, value + 2) + at[6];
    detail::attend_head_gradient(g, h);
  });
}

/// q, k, v -> o, lse.
template <class T>
void attention_kernel(const operator_call& c) {
  attend<T>(c, 1);
}

/// do, q, k, v, o, lse -> dq, dk, dv.
template <class T>
void attention_gradient_kernel(const operator_call& c) {
  attend_gradient<T>(c, 1);
}

}  // namespace hyperparallel::inline v0_2::model_kernels

namespace hyperparallel::inline v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention> = model_kernels::attention_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_gradient> = model_kernels::attention_gradient_kernel<T>;

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
