// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations and bytes of compute steps, on one device: what times and utilisations are reckoned from.
//
// Operations are what the operator says of its loops on the device (operators/local_work.hpp), else its operations a
// point times their product. Bytes are those of operands and results, each once; of a table of which rows are taken,
// the rows.
// Law: where no device repeats another's work and no dim is padded, devices · work on one of them = work on a single
// device. Where one is padded, the device is the one that has most.

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int compute_unit_count = 2;

constexpr const char* name_of(compute_unit u) { return u == compute_unit::matrix ? "matrix" : "vector"; }

struct operator_work {
  compute_unit unit = compute_unit::vector;
  extent_t flops = 0;
  extent_t bytes_read = 0;
  extent_t bytes_written = 0;
  friend constexpr bool operator==(const operator_work&, const operator_work&) = default;
};

namespace detail {

/// What an operator's own cost is reckoned from: its loops on one device under a placement, or in a tile of these.
/// O(loops · axes).
constexpr local_work local_work_of(const graph& g, const graph_operator& o, const operator_placement& p,
                                   const mesh_shape& m, const step_tile& tile = {}) {
  local_work w;
  w.rule = &g.rule_of(o);
  w.attribute = o.integer;
  w.flops_per_point = g.value_of(o).flops_per_point;
  const tile_parts parts(tile);
  for (int l = 0; l < o.loop_count; ++l) {
    w.whole[l] = o.loop[l].extent;
    w.extent[l] = ceil_divide(w.whole[l], pieces_of_loop(p, m, l));
    for (const step_tile& cut : parts.cut)
      if (cut.dim >= 0 && o.loop[l].dim == cut.dim) w.extent[l] /= cut.count;
    w.points *= w.extent[l];
  }
  w.turns = o.rotation;
  for (int a = m.axis_count; a-- > 0;)
    if (p.turned[a] >= 0) w.ring_size = m.size[a];
  return w;
}

/// Operations of one operator on one device under a placement, or in a tile of that. O(loops · axes).
constexpr extent_t flops_of(const graph& g, const graph_operator& o, const operator_placement& p, const mesh_shape& m,
                            const step_tile& tile = {}) {
  const operator_value& value = g.value_of(o);
  if (value.has_flops) return value.flops(local_work_of(g, o, p, m, tile));
  extent_t points = value.flops_per_point;
  for (int l = 0; l < o.loop_count; ++l) points *= ceil_divide(o.loop[l].extent, pieces_of_loop(p, m, l));
  return points / tile.count;
}

}  // namespace detail

/// What a compute step does on one device, once; of a tile what that does, which reads again what has not its dim.
constexpr operator_work work_of(const sharded_program& p, const program_compute& c, const step_tile& tile = {}) {
  const graph_operator& o = p.graph.op.item[c.op];
  const operator_value& value = p.graph.value_of(o);
  const mesh_shape& m = p.value.item[c.result[0]].layout.mesh;
  const auto bytes_in_tile = [&](int v) { return local_bytes(p, v) / detail::tile_in(p, v, tile).count; };
  operator_work w;
  w.unit = value.unit;
  w.flops = detail::flops_of(p.graph, o, c.placement, m, tile);
  for (int r = 0; r < o.result_count; ++r) w.bytes_written += bytes_in_tile(c.result[r]);
  for (int i = 0; i < o.operand_count; ++i) {
    const extent_t all = bytes_in_tile(c.operand[i]);
    w.bytes_read += is_in(value.gathered, i) ? smaller(all, bytes_in_tile(c.result[0])) : all;
  }
  if (value.has_scratch) {
    const extent_t scratch = value.scratch_bytes(detail::local_work_of(p.graph, o, c.placement, m, tile));
    w.bytes_read += scratch;
    w.bytes_written += scratch;
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

  /// Of a program that is refused: `not_counted` everywhere.
  static constexpr work_total of_nothing() {
    work_total t;
    for (int u = 0; u < compute_unit_count; ++u) t.flops[u] = t.bytes[u] = not_counted;
    return t;
  }
};

namespace detail {

/// What one device does in a step of training: repeated segments and micro-batches included; of a refused program
/// `work_total::of_nothing()`. O(steps).
constexpr work_total total_work(const sharded_program& p) {
  if (p.status.code != strategy_code::ok) return work_total::of_nothing();
  work_total total;
  for (int i = 0; i < p.step.size; ++i)
    if (!p.step.item[i].is_move)
      total.add(work_of(p, p.compute.item[p.step.item[i].index], p.step.item[i].tile), times_of(p, p.step.item[i]));
  return total;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
