// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all attention kernels share: which loops are heads, rows and keys, and where rows lie.
//
// Heads are the loops that queries, values and result share; rows those that the queries and the result share and the
// values lack, positions first; keys the one that the values have and the queries lack; depths the last dims. Scores
// are the sum of one or two products, so the second pair of latent attention is one more part.
// Law: row r of a head sees, when causal, the keys at global positions up to its own. O(rows) of tables.

#include <hyperparallel/kernels/attention_head.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// A head's geometry, and where heads lie in the blocks of the call.
struct attention_problem : attention_geometry {
  loop_list heads;
  loop_steps query[most_score_parts], key[most_score_parts], value, out, statistic;
};

/// Reads the geometry of `c` into `g`, whose tables keep their memory from call to call.
inline void read_geometry(const operator_call& c, int parts, const tensor_factors* const* query,
                          const tensor_factors* const* key, const tensor_factors& value, const tensor_factors& out,
                          const tensor_factors& statistic, attention_problem& g) {
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
  g.window = c.attributes->integer[1];
  g.scale = c.attributes->real[0];
  g.cap = c.attributes->real[1];
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

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
