// SPDX-License-Identifier: Apache-2.0
#pragma once
// The planner for any pair of layouts on one mesh, partial states included, by fewest bytes.
//
//   reduced  axes that are partial in the source and not by the same operation in the target: their terms meet
//   filled   axes that become partial. Sum and prod put an element on one device and the identity on the others, so a
//            shard becomes a term without moving; the other operations are their own term and are copied
//   kept     axes that are partial by the same operation on both sides: their terms move beside each other
//
// Laws: what is partial means its reduced value, so a → b → a is the identity on values. Without reduced axes every
// rank receives |T_r ∖ S_r|; with them all ranks together receive the element-wise least (certificate.hpp). A pair
// that is one native collective is that collective. Terms are folded in the order of positions.

#include <hyperparallel/redistribution/padded_move.hpp>
#include <hyperparallel/redistribution/plan.hpp>
#include <hyperparallel/redistribution/sender_balance.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class move_code : unsigned char {
  ok,
  layouts_are_on_different_meshes,
  source_is_refused,
  target_is_refused,
  reductions_do_not_commute,
  traffic_overflows,            ///< elements · devices · terms leave 64 bits
  filled_axis_is_cut_in_parts,  ///< the source cuts a part of `axis`, which becomes partial: see relocation.hpp
};

inline constexpr int max_move_steps = 8;

/// What happens to the axes of a move; bit a of a mask is axis a.
struct move_axes {
  move_code code = move_code::ok;
  int axis = 0;          ///< whose reduction does not commute with an earlier axis', or that is cut in parts
  unsigned reduced = 0;  ///< axes whose terms meet
  unsigned filled = 0;   ///< axes that become partial
  unsigned kept = 0;     ///< axes that stay partial
};

/// The steps of a move, in order: the target of each is the source of the next.
struct move_plan : move_axes {
  layout_status layout{};  ///< of the refused side
  plan_kind kind = plan_kind::no_op;
  hyperparallel::shape shape{};
  move_padding padding{};  ///< elements of `shape` that are not there
  int step_count = 0;
  move_step step[max_move_steps] = {};
};

/// Sorts the axes of a move on one mesh. Fails where reductions wait, or are to wait, that do not commute. O(axes).
constexpr move_axes sort_axes(const layout_value& source, const layout_value& target) {
  move_axes m;
  reduce_op waiting = reduce_op::none, leaving = reduce_op::none;
  for (int a = 0; a < source.mesh.axis_count; ++a) {
    const reduce_op from = source.partial[a], to = target.partial[a];
    if ((from != reduce_op::none && waiting != reduce_op::none && !commute(waiting, from)) ||
        (to != reduce_op::none && leaving != reduce_op::none && !commute(leaving, to))) {
      m.code = move_code::reductions_do_not_commute;
      m.axis = a;
      return m;
    }
    if (from != reduce_op::none) waiting = from;
    if (to != reduce_op::none) leaving = to;
    const unsigned bit = 1u << a;
    if (from == to && from != reduce_op::none) m.kept |= bit;
    if (from != to && from != reduce_op::none) m.reduced |= bit;
    if (from != to && to != reduce_op::none) m.filled |= bit;
  }
  return m;
}

namespace detail {

/// Whether every receiver takes from the nearest replicas, and nothing is filled.
constexpr bool reads_nearest(const move_plan& p) {
  for (int i = 0; i < p.step_count; ++i) {
    const replica_choice& replicas = p.step[i].replicas;
    if (p.step[i].filled != 0 || replicas.split != 0 || replicas.link_count > 0) return false;
    for (int a = 0; a < max_axes; ++a)
      if (replicas.axis[a] != a) return false;
  }
  return true;
}

/// `l` without the partial states along the axes of `mask`.
constexpr layout_value without_partial(layout_value l, unsigned mask) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if ((mask >> a & 1u) != 0) l.partial[a] = reduce_op::none;
  return l;
}

constexpr unsigned all_axes(const mesh_shape& m) { return (1u << m.axis_count) - 1u; }

/// The first axis of `mask` of which `l` cuts a part, or -1.
constexpr int axis_in_parts(const layout_value& l, unsigned mask) {
  for (int i = 0; i < l.cut_count; ++i)
    if ((mask >> l.cut[i].axis & 1u) != 0 && l.cut[i].size != l.mesh.size[l.cut[i].axis]) return l.cut[i].axis;
  return -1;
}

/// Axes of `mask` whose fill has an identity.
constexpr unsigned with_identity(const layout_value& target, unsigned mask) {
  unsigned identity = 0;
  for (int a = 0; a < target.mesh.axis_count; ++a)
    if ((mask >> a & 1u) != 0 && !is_idempotent(target.partial[a])) identity |= 1u << a;
  return identity;
}

/// The native collective whose pair this is, whatever steps carry it out.
constexpr plan_kind kind_of_reduction(const layout_value& held, const layout_value& wanted, plan_kind bare,
                                      const move_axes& axes) {
  if (axes.filled != 0) return plan_kind::reduction;
  if (wanted == held) return plan_kind::all_reduce;
  const unsigned added = cut_axes(wanted) & ~cut_axes(held);
  return bare == plan_kind::local_slice && added == axes.reduced ? plan_kind::reduce_scatter : plan_kind::reduction;
}

/// Terms meet: in one step where nobody has to pass a reduced value on, or where passing it on saves nothing.
constexpr void plan_reduction(const layout_value& source, const layout_value& target, const layout_value& held,
                              const layout_value& wanted, const redistribution_plan& bare, move_plan& p) {
  const unsigned sharding = cut_axes(source), slicing = cut_axes(target), identity = with_identity(target, p.filled);
  const unsigned free = all_axes(source.mesh) & ~sharding & ~slicing & ~p.kept;
  const unsigned copied = all_axes(source.mesh) & ~slicing & ~p.kept & ~identity;
  move_step step{step_kind::reduce, source, target, {}, p.reduced, 0, identity, {}, {}};
  step.shared = free & ~(identity & ~p.reduced);
  const bool stays = bare.kind == plan_kind::no_op || bare.kind == plan_kind::local_slice;
  const int shares = group_size(source.mesh, axes_of(source.mesh, step.shared));
  const int copies = group_size(source.mesh, axes_of(source.mesh, copied));
  if (shares == 1 && (stays || copies == 1)) {
    step.replicas = bare.replicas;
    if (!bare.balanced) balance_senders(step, p.shape);
    p.step[p.step_count++] = step;
  } else {
    step.kind = step_kind::collect;
    if (const unsigned idle = slicing & ~sharding & ~p.reduced; idle != 0)
      turn_to_idle_replicas(held, wanted, refine(held, wanted, p.shape), idle, step.replicas);
    p.step[p.step_count++] = step;
    step.kind = step_kind::spread;
    step.replicas = {};
    p.step[p.step_count++] = step;
  }
  p.kind = kind_of_reduction(held, wanted, bare.kind, p);
}

move_plan plan_move_in_library(const layout_value& source, const layout_value& target, const shape& s);
constexpr move_plan plan_move_here(const layout_value& source, const layout_value& target, const shape& s) {
  move_plan p;
  p.shape = s;
  if (!(source.mesh == target.mesh)) {
    p.code = move_code::layouts_are_on_different_meshes;
    return p;
  }
  plan_side from = side_of(source, s), to = side_of(target, s);
  if (from.status.code != layout_code::ok || to.status.code != layout_code::ok) {
    const bool at_source = from.status.code != layout_code::ok;
    p.code = at_source ? move_code::source_is_refused : move_code::target_is_refused;
    p.layout = at_source ? from.status : to.status;
    return p;
  }
  const unsigned all = detail::all_axes(source.mesh);
  const layout_value held = detail::without_partial(source, all), wanted = detail::without_partial(target, all);
  from.partial = to.partial = false;
  static_cast<move_axes&>(p) = sort_axes(source, target);
  if (p.code != move_code::ok) return p;
  if (const int axis = detail::axis_in_parts(source, detail::with_identity(target, p.filled)); axis >= 0) {
    p.code = move_code::filled_axis_is_cut_in_parts;
    p.axis = axis;
    return p;
  }
  const extent_t terms = group_size(source.mesh, detail::axes_of(source.mesh, p.reduced));
  const checked_extent copies = checked_multiply(larger(from.elements, to.elements), position_count(source.mesh));
  if (copies.overflow || checked_multiply(copies.value, terms + 1).overflow) {
    p.code = move_code::traffic_overflows;
    return p;
  }
  const redistribution_plan bare = plan_sides(held, from, wanted, to, s, true);
  if (p.reduced != 0) {
    detail::plan_reduction(source, target, held, wanted, bare, p);
    return p;
  }
  p.kind = p.filled != 0 ? plan_kind::fill : bare.kind;
  if (p.kind == plan_kind::no_op) return p;
  p.step[0] = {step_kind::pull, source, target, bare.replicas, 0, 0, detail::with_identity(target, p.filled), {}, {}};
  p.step_count = 1;
  if (!bare.balanced) balance_senders(p.step[0], s);
  return p;
}

}  // namespace detail

/// Plans `source` → `target` for a tensor of shape `s` by fewest bytes. Fails naming the side, or the axis.
/// O(cuts²) where the cut points refine, else O(positions · cuts) and, up to `max_counted_positions`, what it takes to
/// balance senders; beyond them `balance_senders` does so with scratch of the caller.
constexpr move_plan plan_move(const layout_value& source, const layout_value& target, const shape& s) {
  HYPERPARALLEL_TWIN(detail::plan_move_in_library(source, target, s));
  return detail::plan_move_here(source, target, s);
}

}}  // namespace hyperparallel::v0_2
