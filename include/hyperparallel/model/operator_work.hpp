// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations and bytes of compute steps, on one device: what times and utilisations are reckoned from.
//
//   contract            2 · product of the local loops
//   attention           2 · pairs · (D + E), pairs of a query and a key in every head; its gradient computes the scores
//                       again: 2 · pairs · (3D + 2E). D includes the rotary part of latent attention. Causal: half of
//                       the pairs, as devices have on average
//   a block of a ring   its pairs, or their average over the ring's n devices where it is causal: half of the diagonal
//                       block, (n - k) / n of the block that has travelled k places
//   expert slots        per chosen row: the capacity is not computed on, and each device has its experts' share
//   muon                five Newton-Schulz iterations of 4·m²·n + 2·m³ for an m × n matrix, m ≤ n, and three passes
//   any other           flops_per_point of its row · product of the local loops
//
// Bytes are those of operands and results, each once; of a table of which rows are taken, the rows.
// Law: where no device repeats another's work, devices · work on one of them = work on a single device.
// Source: Dao, FlashAttention-2, 2023, section 4; Jordan et al., "Muon", 2024.

#include <hyperparallel/model/sharded_program.hpp>

namespace hyperparallel::inline v0_2 {

inline constexpr int compute_unit_count = 2;
inline constexpr int newton_schulz_iterations = 5;

constexpr const char* name_of(compute_unit u) { return u == compute_unit::matrix ? "matrix" : "vector"; }

struct operator_work {
  compute_unit unit = compute_unit::vector;
  extent_t flops = 0;
  extent_t bytes_read = 0;
  extent_t bytes_written = 0;
  friend constexpr bool operator==(const operator_work&, const operator_work&) = default;
};

namespace detail {

/// Extents of an operator's loops on one device.
struct local_loops {
  int count = 0;
  extent_t extent[max_operator_loops] = {};
  extent_t points = 1;  ///< their product

  constexpr local_loops(const graph_operator& o, const operator_placement& p, const mesh_shape& m)
      : count(o.loop_count) {
    for (int l = 0; l < count; ++l) {
      extent[l] = o.loop[l].extent / pieces_of_loop(p, m, l);
      points *= extent[l];
    }
  }
};

/// Extent of the last dim of operand `i`, which is whole.
constexpr extent_t width_of(const graph& g, const graph_operator& o, int i) {
  const shape& s = g.tensor[o.operand[i]].shape;
  return s.extent[s.rank - 1];
}

/// Product of the local loops but those of operands' widths: pairs of queries and keys, and the causal share of them.
constexpr extent_t attention_pairs(const graph_operator& o, const operator_placement& p, const mesh_shape& m,
                                   const local_loops& loops, extent_t widths) {
  const extent_t pairs = loops.points / widths;
  if (o.integer[0] == 0) return pairs;
  const bool is_block = o.kind == model_op::attention_block || o.kind == model_op::attention_block_gradient;
  if (is_block && o.rotation > 0)
    for (int a = 0; a < m.axis_count; ++a)
      if (p.turned[a] >= 0) return pairs / m.size[a] * (m.size[a] - o.rotation % m.size[a]);
  return pairs / 2;
}

/// Rows that a device takes to or from expert slots. `slots` is the operand, or result, (…, experts, capacity, hidden).
constexpr extent_t rows_in_slots(const graph_operator& o, const tensor_factors& slots, const local_loops& loops) {
  const int experts = slots.term[slots.rank - 3], capacity = slots.term[slots.rank - 2];
  const extent_t pieces = o.loop[experts].extent / loops.extent[experts];
  return loops.points / (loops.extent[experts] * loops.extent[capacity]) / pieces;
}

constexpr extent_t muon_flops(const graph_operator& o, const tensor_factors& matrix, const local_loops& loops) {
  extent_t batch = 1, rows = 1, columns = 1;
  for (int d = 0; d < matrix.rank; ++d) {
    extent_t& side = d < o.integer[0] ? batch : d < o.integer[1] ? rows : columns;
    side *= loops.extent[matrix.term[d]];
  }
  const extent_t small = smaller(rows, columns), large = larger(rows, columns);
  return batch * (newton_schulz_iterations * (4 * small * small * large + 2 * small * small * small) +
                  row_of(model_op::muon).flops_per_point * small * large);
}

}  // namespace detail

/// Operations of one operator on one device under a placement. O(loops · axes).
constexpr extent_t flops_of(const graph& g, const graph_operator& o, const operator_placement& p, const mesh_shape& m) {
  using detail::width_of;
  const detail::local_loops loops(o, p, m);
  const extent_t per_point = g.row_of(o).flops_per_point;
  switch (o.kind) {
    case model_op::attention:
    case model_op::attention_block: {
      const extent_t d = width_of(g, o, 0), e = width_of(g, o, 2);
      return 2 * detail::attention_pairs(o, p, m, loops, d * e) * (d + e);
    }
    case model_op::attention_gradient:
    case model_op::attention_block_gradient: {
      const extent_t d = width_of(g, o, 1), e = width_of(g, o, 3);
      return 2 * detail::attention_pairs(o, p, m, loops, d * e) * (3 * d + 2 * e);
    }
    case model_op::latent_attention: {
      const extent_t d = width_of(g, o, 0), r = width_of(g, o, 1), e = width_of(g, o, 4);
      return 2 * detail::attention_pairs(o, p, m, loops, d * r * e) * (d + r + e);
    }
    case model_op::latent_attention_gradient: {
      const extent_t d = width_of(g, o, 1), r = width_of(g, o, 2), e = width_of(g, o, 5);
      return 2 * detail::attention_pairs(o, p, m, loops, d * r * e) * (3 * (d + r) + 2 * e);
    }
    case model_op::undispatch:
    case model_op::combine:
      return per_point * detail::rows_in_slots(o, g.rule_of(o).operand[0], loops);
    case model_op::dispatch_weighted:
      return per_point * detail::rows_in_slots(o, g.rule_of(o).result[0], loops);
    case model_op::combine_weight_gradient:
      return per_point * detail::rows_in_slots(o, g.rule_of(o).operand[1], loops);
    case model_op::muon:
      return detail::muon_flops(o, g.rule_of(o).operand[0], loops);
    default:
      return per_point * loops.points;
  }
}

/// What a compute step does on one device, once.
constexpr operator_work work_of(const sharded_program& p, const program_compute& c) {
  const graph_operator& o = p.graph.op.item[c.op];
  operator_work w;
  w.unit = p.graph.row_of(o).unit;
  w.flops = flops_of(p.graph, o, c.placement, p.mesh.shape);
  for (int i = 0; i < o.operand_count; ++i) w.bytes_read += local_bytes(p, c.operand[i]);
  for (int r = 0; r < o.result_count; ++r) w.bytes_written += local_bytes(p, c.result[r]);
  if (o.kind == model_op::embed) {
    const extent_t table = local_bytes(p, c.operand[1]);
    w.bytes_read += smaller(table, local_bytes(p, c.result[0])) - table;
  }
  return w;
}

/// Sums by unit.
struct work_total {
  extent_t flops[compute_unit_count] = {};
  extent_t bytes[compute_unit_count] = {};  ///< read and written

  constexpr void add(const operator_work& w, extent_t times) {
    flops[static_cast<int>(w.unit)] += w.flops * times;
    bytes[static_cast<int>(w.unit)] += (w.bytes_read + w.bytes_written) * times;
  }
  friend constexpr bool operator==(const work_total&, const work_total&) = default;
};

/// What one device does in a step of training: repeated segments and micro-batches included. O(steps).
constexpr work_total total_work(const sharded_program& p) {
  work_total total;
  for (int i = 0; i < p.step.size; ++i)
    if (!p.step.item[i].is_move)
      total.add(work_of(p, p.compute.item[p.step.item[i].index]), times_of(p, p.step.item[i]));
  return total;
}

}  // namespace hyperparallel::inline v0_2
