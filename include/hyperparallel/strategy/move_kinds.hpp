// SPDX-License-Identifier: Apache-2.0
#pragma once
// The distinct moves of a program: a layer's moves recur in the next layer, and each is planned only once.
//
// Two moves are of one kind where layouts, shapes, bytes of an element and travelled places agree. A move between
// rotations of one layout pulls the whole block of another device; any other is `plan_move`'s. Laws: the kinds tell
// what each move's own plan would; received elements are those of the certificate. O(moves · kinds + kinds · plan).

#include <hyperparallel/redistribution/busiest_receiver.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Counts are elements.
struct move_kind {
  int example = -1;  ///< the first move of this kind
  int travel = 0;    ///< places along `travel_axis` that blocks travel, less than the axis' size
  int travel_axis = -1;
  plan_kind plan = plan_kind::no_op;
  move_code code = move_code::ok;
  int steps = 0;             ///< of the plan; 0: every device has what it wants
  bool nearest = false;      ///< the plan reads the nearest replicas and fills nothing
  unsigned reduced = 0;      ///< axes whose terms meet
  extent_t share = 0;        ///< of an all-reduce: what a device reduces at most
  unsigned axes = 0;         ///< bit a: along mesh axis a something is received
  extent_t received = 0;     ///< by the device that receives most
  extent_t between = 0;      ///< in blocks that lie between the plan's steps, of one device
  unsigned fingerprint = 0;  ///< of what the kind compares
};

struct program_moves {
  growing_array<move_kind> kind;
  growing_array<int> of;  ///< kind of each move
};

/// Axes along which elements or terms have to travel: those that become or cease to be partial, and of each dim those
/// that follow the first place where its two lists of axes differ, or that a change of pieces outside them moves.
constexpr unsigned travelled_axes(const layout_value& source, const layout_value& target) {
  unsigned mask = 0;
  for (int a = 0; a < source.mesh.axis_count; ++a)
    if (source.partial[a] != target.partial[a]) mask |= 1u << a;
  for (int d = 0, i = 0, k = 0; d < source.rank; ++d) {
    extent_t held_outside = 1, wanted_outside = 1;
    for (;;) {
      const bool held = i < source.cut_count && source.cut[i].dim == d;
      const bool wanted = k < target.cut_count && target.cut[k].dim == d;
      if (!held && !wanted) break;
      if (!held || !wanted || held_outside != wanted_outside || !(source.cut[i] == target.cut[k])) {
        if (held) mask |= 1u << source.cut[i].axis;
        if (wanted) mask |= 1u << target.cut[k].axis;
      }
      if (held) held_outside *= source.cut[i++].size;
      if (wanted) wanted_outside *= target.cut[k++].size;
    }
  }
  return mask;
}

namespace detail {

constexpr unsigned mixed(unsigned hash, extent_t number) {
  return (hash ^ static_cast<unsigned>(number ^ (number >> 32))) * 0x01000193u;
}
constexpr unsigned fingerprint_of(unsigned hash, const layout_value& l) {
  for (int i = 0; i < l.cut_count; ++i) hash = mixed(hash, l.cut[i].dim * 4096 + l.cut[i].axis * 64 + l.cut[i].size);
  for (int a = 0; a < l.mesh.axis_count; ++a) hash = mixed(hash, static_cast<int>(l.partial[a]));
  return hash;
}

/// Everything of a kind that the plan does not tell.
constexpr move_kind key_of_move(const sharded_program& p, int move) {
  const program_value &from = p.value.item[p.move.item[move].source], &to = p.value.item[p.move.item[move].target];
  move_kind k;
  k.example = move;
  if (!(from.rotation == to.rotation)) {
    k.travel_axis = to.rotation.axis >= 0 ? to.rotation.axis : from.rotation.axis;
    const int n = to.layout.mesh.size[k.travel_axis];
    k.travel = ((to.rotation.by - from.rotation.by) % n + n) % n;
  }
  const shape& s = p.graph.tensor.item[from.tensor].shape;
  unsigned hash = mixed(mixed(0x811c9dc5u, s.rank), k.travel);
  for (int d = 0; d < s.rank; ++d) hash = mixed(hash, s.extent[d]);
  k.fingerprint = fingerprint_of(fingerprint_of(hash, from.layout), to.layout);
  return k;
}

constexpr bool is_of_kind(const sharded_program& p, const move_kind& a, const move_kind& b) {
  if (a.fingerprint != b.fingerprint || a.travel != b.travel || a.travel_axis != b.travel_axis) return false;
  const program_move &x = p.move.item[a.example], &y = p.move.item[b.example];
  const graph_tensor &one = p.graph.tensor.item[p.value.item[x.source].tensor],
                     &other = p.graph.tensor.item[p.value.item[y.source].tensor];
  return one.shape == other.shape && bytes_of(one.type) == bytes_of(other.type) &&
         p.value.item[x.source].layout == p.value.item[y.source].layout &&
         p.value.item[x.target].layout == p.value.item[y.target].layout;
}

/// A reducer of an all-reduce takes all other terms of its share, then all other shares: the first share is largest,
/// even or not. Any other plan is asked.
constexpr extent_t most_received_in(const move_plan& plan, move_kind& k) {
  const move_step& first = plan.step[0];
  const mesh_shape& m = first.source.mesh;
  k.reduced = plan.reduced;
  if (plan.kind != plan_kind::all_reduce || plan.step_count != 2) return most_received(plan);
  const box block = source_frame(first, plan.shape, 0);
  k.share = volume(part_of(block, 0, group_size(m, axes_of(m, first.shared))));
  return volume(block) + (group_size(m, axes_of(m, plan.reduced)) - 2) * k.share;
}

constexpr void plan_kind_of_move(const sharded_program& p, move_kind& k) {
  const program_value &from = p.value.item[p.move.item[k.example].source],
                      &to = p.value.item[p.move.item[k.example].target];
  if (k.travel_axis >= 0) {
    k.plan = k.travel > 0 ? plan_kind::collective_permute : plan_kind::no_op;
    k.steps = k.travel > 0 ? 1 : 0;
    k.axes = k.travel > 0 ? 1u << k.travel_axis : 0u;
    k.received = k.travel > 0 ? local_elements(p, p.move.item[k.example].target) : 0;
    return;
  }
  const shape& s = p.graph.tensor.item[from.tensor].shape;
  const move_plan plan = plan_move(from.layout, to.layout, s);
  k.code = plan.code;
  k.plan = plan.kind;
  k.steps = plan.step_count;
  if (plan.step_count == 0) return;
  k.nearest = reads_nearest(plan);
  k.received = most_received_in(plan, k);
  if (k.received > 0) k.axes = travelled_axes(from.layout, to.layout);
  for (int i = 0; i < plan.step_count && k.received > 0; ++i)  // idle replicas help
    k.axes |= plan.step[i].shared | plan.step[i].replicas.split;
  for (int a = 0; a < from.layout.mesh.axis_count; ++a)
    if (from.layout.mesh.size[a] == 1) k.axes &= ~(1u << a);
  for (int i = 0; i + 1 < plan.step_count; ++i) k.between += volume(target_frame(plan.step[i], s, 0));
}

}  // namespace detail

/// Sorts the program's moves into kinds.
constexpr program_moves kinds_of_moves(const sharded_program& p) {
  program_moves m;
  m.of.reserve(p.move.size);
  for (int i = 0; i < p.move.size; ++i) {
    move_kind key = detail::key_of_move(p, i);
    int k = 0;
    while (k < m.kind.size && !detail::is_of_kind(p, m.kind[k], key)) ++k;
    if (k == m.kind.size) {
      detail::plan_kind_of_move(p, key);
      m.kind.push(key);
    }
    m.of.push(k);
  }
  return m;
}

/// The kind of move `i`.
constexpr const move_kind& kind_of(const program_moves& m, int i) { return m.kind[m.of[i]]; }

}}  // namespace hyperparallel::v0_2
