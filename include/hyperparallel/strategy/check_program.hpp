// SPDX-License-Identifier: Apache-2.0
#pragma once
// Holds a program against the laws of sharded_program.hpp, from the steps alone.
//
// The checker knows nothing of strategies: it asks what each device would find. O(steps · operands + values).

#include <hyperparallel/strategy/hand_over.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class program_code : unsigned char {
  ok,
  value_is_read_before_it_is_written,
  value_is_read_after_it_is_replaced,  ///< another one has taken its storage
  value_is_written_twice,
  operand_lies_otherwise,  ///< than the operator's placement says
  result_lies_otherwise,
  move_changes_the_tensor,
  move_has_no_plan,  ///< and is no rotation
  operator_works_in_a_slower_tier,
  cache_operator_changes_the_layout,
  detach_keeps_no_copy,  ///< its target is not in a slower tier
  storage_holds_another_size,
  phases_are_out_of_order,
  next_value_is_not_at_home,
  value_is_in_another_part,  ///< a compute step touches it
  tiles_are_out_of_order,    ///< of a value: not each once, by rising number, all of one cut
};

constexpr const char* name_of(program_code c) {
  return detail::enum_name(
      "ok\0value_is_read_before_it_is_written\0value_is_read_after_it_is_replaced\0value_is_written_twice\0"
      "operand_lies_otherwise\0result_lies_otherwise\0move_changes_the_tensor\0move_has_no_plan\0"
      "operator_works_in_a_slower_tier\0cache_operator_changes_the_layout\0detach_keeps_no_copy\0"
      "storage_holds_another_size\0phases_are_out_of_order\0next_value_is_not_at_home\0value_is_in_another_part\0"
      "tiles_are_out_of_order",
      c);
}

/// The first broken law: the step and the value, -1 where the code speaks of none.
struct program_status {
  program_code code = program_code::ok;
  int step = -1;
  int value = -1;
  friend constexpr bool operator==(const program_status&, const program_status&) = default;
};

namespace detail {

/// Whether the same whole axes in the same order cut each dim and shard its loop, evenly or both into flat ceil chunks:
/// both boxes are the same function of the position then. What differs in that may still lie as placed.
constexpr bool is_cut_as_placed(const sharded_program& p, const program_compute& c, const tensor_factors& t,
                                int value) {
  const program_value& v = p.value.item[value];
  const graph_operator& o = p.graph.op.item[c.op];
  const shape& s = p.graph.tensor.item[v.tensor].shape;
  if (v.rotation.axis >= 0) return false;
  int k = 0;  // of the cuts, which stand by dims
  for (int d = 0; d < s.rank; ++d) {
    const int l = t.term[d];
    extent_t pieces = 1;
    for (int i = 0; i < c.placement.count; ++i) {
      const int a = c.placement.axis[i];
      if (!c.placement.shards(a, l)) continue;
      if (c.placement.turned[a] == l && o.rotation > 0) return false;
      const cut& one = v.layout.cut[k];
      if (k >= v.layout.cut_count || one.dim != d || one.axis != a || one.size != v.layout.mesh.size[a]) return false;
      pieces *= one.size;
      ++k;
    }
    if (o.loop[l].extent != s.extent[d] || (s.extent[d] % pieces != 0 && !is_padded(v.layout, d))) return false;
  }
  return k == v.layout.cut_count && v.layout.mesh == mesh_of_part(p, part_of_value(p, value));
}

/// Whether the value holds, on every device, the box of its dims' loops.
constexpr bool lies_as_placed(const sharded_program& p, const program_compute& c, const tensor_factors& t, int value) {
  if (is_cut_as_placed(p, c, t, value)) return true;
  const graph_operator& o = p.graph.op.item[c.op];
  const shape& s = p.graph.tensor.item[p.value.item[value].tensor].shape;
  const mesh_shape& m = mesh_of_part(p, part_of_value(p, value));
  for (int position = 0; position < position_count(m); ++position) {
    const box held = box_of(p, value, position);
    const coordinate at = coordinates_of(m, position);
    for (int d = 0; d < s.rank; ++d)
      if (!(held.dim[d] == loop_interval(o, c.placement, m, at, t.term[d]))) return false;
  }
  return true;
}

/// Axes along which the value waits for a sum; all bits where it waits for another reduction.
constexpr unsigned waiting_axes(const layout_value& l) {
  unsigned axes = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if (l.partial[a] == reduce_op::none) continue;
    if (l.partial[a] != reduce_op::sum) return ~0u;
    axes |= 1u << a;
  }
  return axes;
}

/// Whether operand `k` may wait along `terms`, those before it along `before`: where all wait alike, or it alone.
constexpr bool may_wait(const factor_rule& rule, const operator_placement& p, int k, unsigned terms, unsigned before) {
  for (int i = 0; i < p.count; ++i)
    if ((terms >> p.axis[i] & 1u) != 0) return false;
  if (passes_sums_together(rule)) return terms != ~0u && (k == 0 || terms == before);
  return terms == 0 || (terms != ~0u && passes_sums_of(rule, k));
}

/// Whether the result waits as it has to: by the rule's reduction along axes that shard a loop which it lacks, rings
/// excepted, for a sum where operands wait, nowhere else.
constexpr bool waits_as_placed(const factor_rule& rule, const operator_placement& p, const tensor_factors& t,
                               unsigned waiting, const layout_value& l) {
  reduce_op expected[max_axes] = {};
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if ((waiting >> a & 1u) != 0) expected[a] = reduce_op::sum;
  for (int i = 0; i < p.count; ++i)
    if (const int a = p.axis[i]; p.turned[a] < 0 && !has_factor(t, p.loop[a])) expected[a] = rule.factor[p.loop[a]].op;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != expected[a]) return false;
  return true;
}

/// Of each chain of next values, the one that no other replaces ends in the home's memory, laid out as it: a home of
/// which this is not so, or -1.
constexpr int home_left_behind(const sharded_program& p, const growing_array<bool>& written) {
  growing_array<bool> replaced(p.graph.tensor.size, false),
      at_home(p.value.size, false);  // of each tensor; of each home: a last value of its tensor is there
  for (int t = 0; t < p.graph.tensor.size; ++t)
    if (p.graph.tensor.item[t].replaces >= 0) replaced[p.graph.tensor.item[t].replaces] = true;
  const auto first_of = [&](int t) {
    while (p.graph.tensor.item[t].replaces >= 0) t = p.graph.tensor.item[t].replaces;
    return t < p.home.size ? t : -1;
  };
  const auto is_last = [&](int t) { return p.graph.tensor.item[t].replaces >= 0 && !replaced[t]; };
  for (int v = 0; v < p.value.size; ++v) {
    const program_value& last = p.value.item[v];
    const int first = written[v] && is_last(last.tensor) ? first_of(last.tensor) : -1;
    if (first >= 0)
      visit_homes(p, first, [&](int h) {
        if (last.storage == p.value.item[h].storage && last.layout == p.value.item[h].layout) at_home[h] = true;
      });
  }
  int left = -1;
  for (int t = 0; t < p.graph.tensor.size; ++t)
    if (const int first = is_last(t) ? first_of(t) : -1; first >= 0)
      visit_homes(p, first, [&](int h) {
        if (left < 0 && !at_home[h]) left = h;
      });
  return left;
}

/// In an unrolled program, what one micro-batch leaves is what the next one finds in the place of `tensor`.
constexpr bool is_next_value(const sharded_program& p, int next, int tensor) {
  return p.unrolled && p.graph.tensor.item[next].replaces == tensor;
}

/// What the steps before the present one have written, and what lies in each storage.
struct written_values {
  growing_array<bool> written;
  growing_array<int> held;         ///< value of each storage, or -1
  growing_array<step_tile> tiles;  ///< of each value of which some, not all, are written: the next one

  constexpr explicit written_values(const sharded_program& p) {
    written.resize(p.value.size, false);
    held.resize(p.storage.size, -1);
    tiles.resize(p.value.size);
  }
  constexpr void write(const sharded_program& p, int v, const step_tile& tile = {}) {
    tiles[v] = tile;
    written[v] = ++tiles[v].index == tile.count;
    held[p.value.item[v].storage] = v;
  }
  constexpr program_code why_unwritable(int v, const step_tile& tile) const {
    if (written[v]) return program_code::value_is_written_twice;
    step_tile next = tiles[v];
    if (next.dim < 0) next = tile_at(tile, 0);
    return next == tile ? program_code::ok : program_code::tiles_are_out_of_order;
  }
  constexpr program_code why_unreadable(const sharded_program& p, int v, const step_tile& tile = {}) const {
    const step_tile own = tile_in(p, v, tile);
    if (!written[v] && tiles_met(tiles[v], own).end > tiles[v].index)
      return program_code::value_is_read_before_it_is_written;
    const int there = held[p.value.item[v].storage];  // another value's tiles may have come as far as this one
    return there == v || (there >= 0 && tiles_met(tiles[there], own).begin >= tiles[there].index)
               ? program_code::ok
               : program_code::value_is_read_after_it_is_replaced;
  }
};

constexpr program_status check_move_step(const sharded_program& p, int i, written_values& w) {
  const program_move& m = p.move.item[p.step.item[i].index];
  const step_tile& tile = p.step.item[i].tile;
  const program_value &from = p.value.item[m.source], &to = p.value.item[m.target];
  if (const program_code c = w.why_unreadable(p, m.source, tile); c != program_code::ok) return {c, i, m.source};
  if (m.detaches) {
    if (const program_code c = w.why_unreadable(p, m.target); c != program_code::ok) return {c, i, m.target};
    if (from.tensor != to.tensor || tier_of(p, m.target) <= tier_of(p, m.source))
      return {program_code::detach_keeps_no_copy, i, m.source};
    w.held[from.storage] = -1;
    return {};
  }
  if (const program_code c = w.why_unwritable(m.target, tile); c != program_code::ok) return {c, i, m.target};
  if (cache_operator_of(p, m) != cache_operator::within_tier &&
      !(from.layout == to.layout && from.rotation == to.rotation))
    return {program_code::cache_operator_changes_the_layout, i, m.target};
  if (from.tensor != to.tensor && !is_next_value(p, from.tensor, to.tensor))
    return {program_code::move_changes_the_tensor, i, m.target};
  const shape& whole = p.graph.tensor.item[to.tensor].shape;
  const bool turns = !(from.rotation == to.rotation);
  if (is_hand_over(p, m) ? turns || (!is_by_position(p, m) && plan_of_hand_over(p, m).code != move_code::ok)
      : turns            ? !(from.layout == to.layout)
                         : plan_move(from.layout, to.layout, whole).code != move_code::ok)
    return {program_code::move_has_no_plan, i, m.target};
  w.write(p, m.target, tile);
  return {};
}

constexpr program_status check_compute_step(const sharded_program& p, int i, written_values& w) {
  const program_step& s = p.step.item[i];
  const program_compute& c = p.compute.item[s.index];
  const graph_operator& o = p.graph.op.item[c.op];
  const factor_rule& rule = p.graph.rule_of(o);
  unsigned waiting = 0;
  for (int k = 0; k < o.operand_count; ++k) {
    const int v = c.operand[k];
    if (const program_code u = w.why_unreadable(p, v, s.tile); u != program_code::ok) return {u, i, v};
    if (tier_of(p, v) != 0) return {program_code::operator_works_in_a_slower_tier, i, v};
    if (part_of_value(p, v) != part_of_step(p, s)) return {program_code::value_is_in_another_part, i, v};
    if (!(p.value.item[v].tensor == o.operand[k] || is_next_value(p, p.value.item[v].tensor, o.operand[k])) ||
        !lies_as_placed(p, c, rule.operand[k], v))
      return {program_code::operand_lies_otherwise, i, v};
    const unsigned terms = waiting_axes(p.value.item[v].layout);
    if (!may_wait(rule, c.placement, k, terms, waiting)) return {program_code::operand_lies_otherwise, i, v};
    waiting |= terms;
  }
  for (int r = 0; r < o.result_count; ++r) {
    const int v = c.result[r];
    if (const program_code u = w.why_unwritable(v, s.tile); u != program_code::ok) return {u, i, v};
    if (tier_of(p, v) != 0) return {program_code::operator_works_in_a_slower_tier, i, v};
    if (part_of_value(p, v) != part_of_step(p, s)) return {program_code::value_is_in_another_part, i, v};
    if (p.value.item[v].tensor != o.result[r] || !lies_as_placed(p, c, rule.result[r], v) ||
        !waits_as_placed(rule, c.placement, rule.result[r], waiting, p.value.item[v].layout))
      return {program_code::result_lies_otherwise, i, v};
    w.write(p, v, s.tile);
  }
  return {};
}

constexpr program_status check_program_here(const sharded_program& p) {
  written_values w(p);
  for (int t = 0; t < p.home.size; ++t) visit_homes(p, t, [&](int v) { w.write(p, v); });
  graph_phase phase = graph_phase::forward;
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step.item[i];
    const bool interleaves = p.unrolled && is_in(s.phase, micro_phases) == is_in(phase, micro_phases);
    if (s.phase < phase && !interleaves) return {program_code::phases_are_out_of_order, i, -1};
    phase = s.phase;
    const program_status status = s.is_move ? check_move_step(p, i, w) : check_compute_step(p, i, w);
    if (status.code != program_code::ok) return status;
  }
  for (int v = 0; v < p.value.size; ++v)
    if (p.storage.item[p.value.item[v].storage].bytes != local_bytes(p, v))
      return {program_code::storage_holds_another_size, -1, v};
  if (const int home = home_left_behind(p, w.written); home >= 0)
    return {program_code::next_value_is_not_at_home, -1, home};
  return {};
}
program_status check_program_in_library(const sharded_program& p);

}  // namespace detail

/// Whether the program keeps every law. Domain: the program's status is ok. O(steps · operands · devices).
constexpr program_status check_program(const sharded_program& p) {
  HYPERPARALLEL_TWIN(detail::check_program_in_library(p));
  return detail::check_program_here(p);
}

}}  // namespace hyperparallel::v0_2
