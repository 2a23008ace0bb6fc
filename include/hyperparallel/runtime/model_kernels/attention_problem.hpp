// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all attention kernels share: which loops are heads, rows and keys, and where rows lie.
//
// Heads are the loops that queries, values and result share; rows those that the queries and the result share and the
// values lack, positions first; keys the one that the values have and the queries lack; depths the last dims. Scores
// are the sum of one or two products, so the second pair of latent attention is one more part.
// Law: row r of a head sees, when causal, the keys at global positions up to its own. O(rows) of tables.

#include <limits>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/model_kernels/block_steps.hpp>
#include <hyperparallel/runtime/model_kernels/blocked_product.hpp>
#include <hyperparallel/runtime/model_kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::model_kernels {

inline constexpr int most_score_parts = 2;

/// Sizes and tables of one call. `out` stands for whatever has the rows of the result, `statistic` for their sums.
struct attention_geometry {
  int parts = 1;
  loop_list heads;
  extent_t rows = 0, per_position = 1, keys = 0, width = 0;
  extent_t depth[most_score_parts] = {}, key_step[most_score_parts] = {}, value_step = 0;
  extent_t first_position = 0, first_key = 0;
  bool causal = false;
  double scale = 1;
  loop_steps query[most_score_parts], key[most_score_parts], value, out, statistic;
  std::vector<extent_t> query_row[most_score_parts], out_row, statistic_row;

  /// How many of the keys, from the first, row r sees.
  extent_t seen(extent_t r) const {
    if (!causal) return keys;
    const extent_t n = first_position + r / per_position - first_key + 1;
    return n < 0 ? 0 : n < keys ? n : keys;
  }
};

/// Reads the geometry of `c` into `g`, whose tables keep their memory from call to call.
inline void read_geometry(const operator_call& c, int parts, const tensor_factors* const* query,
                          const tensor_factors* const* key, const tensor_factors& value, const tensor_factors& out,
                          const tensor_factors& statistic, attention_geometry& g) {
  g.parts = parts;
  g.heads = loops_of(*query[0], {&value, &out}, {});
  const loop_list rows = loops_of(*query[0], {&out}, {&value}), keys = loops_of(value, {}, {&out});
  expect(rows.count > 0 && keys.count == 1, c, "needs one dim of positions and one of keys");
  g.rows = points_of(c, rows);
  g.per_position = g.rows / c.loop[rows.loop[0]].extent;
  g.first_position = c.loop[rows.loop[0]].begin;
  g.keys = c.loop[keys.loop[0]].extent;
  g.first_key = c.loop[keys.loop[0]].begin;
  g.causal = c.attributes->integer[0] != 0;
  g.scale = c.attributes->real[0];
  g.value = steps_of(c, value);
  g.value_step = g.value.of[keys.loop[0]];
  g.width = c.loop[last_loop(c, value)].extent;
  g.out = steps_of(c, out);
  g.statistic = steps_of(c, statistic);
  offsets_of(c, rows, g.out, g.out_row);
  offsets_of(c, rows, g.statistic, g.statistic_row);
  expect(last_loop(c, value) == last_loop(c, out), c, "the last dims of values and result differ");
  for (int i = 0; i < parts; ++i) {
    g.query[i] = steps_of(c, *query[i]);
    g.key[i] = steps_of(c, *key[i]);
    g.key_step[i] = g.key[i].of[keys.loop[0]];
    g.depth[i] = c.loop[last_loop(c, *query[i])].extent;
    expect(last_loop(c, *query[i]) == last_loop(c, *key[i]), c, "the last dims of queries and keys differ");
    offsets_of(c, rows, g.query[i], g.query_row[i]);
  }
}

inline constexpr extent_t attention_tile_rows = 64, attention_tile_keys = 64;

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

}  // namespace hyperparallel::inline v0_2::model_kernels

HYPERPARALLEL_EXACT_END
