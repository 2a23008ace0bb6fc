// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves in several steps: from state to state of a refined move (refined_move.hpp).
//
// A step *along an axis* lets the axis give up what it holds for nobody's target and take what it is to hold; an idle
// axis may at once take what is given up. Devices then differ from whom they pull only along that axis, so the step
// runs over the links of one dimension of a full mesh, or of one level of a topology. Reductions along an axis leave
// their result cut by that axis wherever a digit or a spare factor allows it (reduce-scatter); the move goes on from
// there, which for an all-reduce is the all-gather back.
// Steps that keep the size of blocks come before those that let it grow, else axes come in the order that is asked.
// Law: blocks of a stepwise move are never empty of purpose: each ends in its target state; terms of one step are
// folded in the order of positions, those of several steps axis by axis. Sources: redistribution-sota §3.1
// (hierarchies), arXiv 2112.01075 (slices first, then constant size, then gathers).

#include <hyperparallel/redistribution/refined_move.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// A move in the making. Domain of all that follows: the refined move it was begun with, whose code is ok.
struct stepwise_move {
  move_plan plan{};
  move_state state{};
  bool fits = true;  ///< false: it takes more than `max_move_steps`
};

}  // namespace detail

/// Who serves a step: any replica, so that senders are balanced, or the nearest, so that one axis is enough.
enum class serving : unsigned char { balanced, nearest };

namespace detail {

/// The same move by its states alone: what it takes to count its steps.
struct move_trail {
  move_state state{};
  bool fits = true;
  growing_array<move_state> passed;  ///< step i leads from passed[i] to passed[i + 1]
  unsigned balanced = 0;             ///< bit i: any replica serves step i
  constexpr int steps() const { return passed.size - 1; }
};

constexpr stepwise_move begin_move(const refined_move& r) {
  stepwise_move m;
  static_cast<move_axes&>(m.plan) = r.blank;
  m.plan.kind = r.blank.kind;
  m.plan.shape = r.blank.shape;
  m.state = r.source;
  return m;
}
constexpr move_trail begin_trail(const refined_move& r) {
  move_trail m;
  m.state = r.source;
  m.passed.push(r.source);
  return m;
}

/// A reduction of the axes that no longer wait, else a pull.
constexpr move_step step_between(const refined_move& r, const move_state& from, const move_state& to, serving by) {
  const layout_value held = layout_of(r, from), wanted = layout_of(r, to);
  const unsigned reduced = from.waiting & ~to.waiting;
  move_step step{reduced != 0 ? step_kind::reduce : step_kind::pull, held, wanted, {}, reduced, 0, 0, {}, {}};
  if (by == serving::balanced && reduced == 0) step.replicas = plan_move(held, wanted, r.blank.shape).step[0].replicas;
  return step;
}

/// One step to the state `to`; none where nothing changes.
constexpr void step_to(stepwise_move& m, const refined_move& r, const move_state& to, serving by) {
  if (to == m.state) return;
  if (m.plan.step_count == max_move_steps) {
    m.fits = false;
    return;
  }
  m.plan.step[m.plan.step_count++] = step_between(r, m.state, to, by);
  m.state = to;
}
constexpr void step_to(move_trail& m, const refined_move&, const move_state& to, serving by) {
  if (to == m.state) return;
  if (m.steps() == max_move_steps) {
    m.fits = false;
    return;
  }
  if (by == serving::balanced) m.balanced |= 1u << m.steps();
  m.passed.push(to);
  m.state = to;
}

/// The target itself, after all reductions: what is left to move in one step, then the axes that become partial. One
/// coordinate keeps the values where the operation has an identity, which moves nothing.
constexpr void finish_move(stepwise_move& m, const refined_move& r, serving by) {
  step_to(m, r, r.target, by);
  if (r.blank.filled == 0) return;
  if (m.plan.step_count == max_move_steps) {
    m.fits = false;
    return;
  }
  const layout_value from = layout_of(r, r.target);
  layout_value to = from;
  for (int a = 0; a < r.mesh.axis_count; ++a) to.partial[a] = r.leaving[a];
  move_step& step = m.plan.step[m.plan.step_count++];
  step = {step_kind::pull, from, to, {}, 0, 0, detail::with_identity(to, r.blank.filled), {}, {}};
}
/// The same; the step that only fills is not told, because nothing is received in it.
constexpr void finish_move(move_trail& m, const refined_move& r, serving by) {
  step_to(m, r, r.target, by);
  if (r.blank.filled != 0 && m.steps() == max_move_steps) m.fits = false;
}

/// Has `axis` take its target digits that nobody holds; whether there were any.
constexpr bool take_target(const refined_move& r, move_state& s, int axis) {
  bool any = false;
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const digit_owner& want = r.target.owner[d];
    if (want.axis != axis || s.owner[d].axis >= 0 || !is_free(r, s, want, r.blank.shape.extent[d])) continue;
    s.owner[d] = want;
    any = true;
  }
  return any;
}

/// Has `axis` take its spare factor, unless somebody holds it.
constexpr void take_spare(const refined_move& r, move_state& s, int axis) {
  for (int d = 0; d < r.blank.shape.rank; ++d)
    if (r.spare_of[d] == axis && s.owner[d].axis < 0 && is_free(r, s, {axis, 1}, r.mesh.size[axis]))
      s.owner[d] = {axis, 1};
}

/// Whether `axis` has something to give up, or to take that nobody holds.
constexpr bool is_pending(const refined_move& r, const move_state& s, int axis) {
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const digit_owner &own = s.owner[d], &want = r.target.owner[d];
    if (own.axis == axis ? !(own == want) : own.axis < 0 && want.axis == axis) return true;
  }
  return false;
}

/// The state after a step along `axis`, the same where nothing is pending. With `parks` the axis holds its spare factor
/// while another one is in its way.
constexpr move_state after_axis(const refined_move& r, const move_state& from, int axis, bool parks) {
  move_state to = from;
  for (int d = 0; d < r.blank.shape.rank; ++d)
    if (from.owner[d].axis == axis && !(from.owner[d] == r.target.owner[d])) to.owner[d] = {};
  take_target(r, to, axis);
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const digit_owner& want = r.target.owner[d];
    const bool given_up = from.owner[d].axis == axis && to.owner[d].axis < 0;
    if (!given_up || want.axis < 0) continue;
    if (is_free(r, to, want, r.blank.shape.extent[d]))
      to.owner[d] = want;
    else if (parks)
      take_spare(r, to, axis);
  }
  return to;
}

/// Slices: axes that hold nothing take what they are to hold, and with `spares` every idle axis takes its spare factor.
constexpr move_state sliced_state(const refined_move& r, move_state s, bool spares) {
  for (int a = 0; a < r.mesh.axis_count; ++a) {
    detail::take_target(r, s, a);
    if (spares) detail::take_spare(r, s, a);
  }
  return s;
}

/// The target with its replicas put to use: what is to be gathered last stays with an axis, its own where it can.
constexpr move_state parked_state(const refined_move& r) {
  move_state s = r.target;
  for (int pass = 0; pass < 2; ++pass)
    for (int d = 0; d < r.blank.shape.rank; ++d) {
      const bool spare = r.spare_of[d] >= 0;
      if (s.owner[d].axis >= 0 || (r.source.owner[d].axis < 0 && !spare)) continue;
      const extent_t size = r.blank.shape.extent[d];
      const digit_owner own = spare ? digit_owner{r.spare_of[d], 1} : r.source.owner[d];
      if (pass == 0 && is_free(r, s, own, size)) s.owner[d] = own;
      if (pass == 0) continue;
      bool is_owned = false;
      for (int a = 0; a < r.mesh.axis_count && !is_owned; ++a) {
        is_owned = r.mesh.size[a] == size && is_free(r, s, {a, 1}, size);
        if (is_owned) s.owner[d] = {a, 1};
      }
    }
  return s;
}

/// Reduces along each waiting axis of `order` in turn, a step each.
template <class Move>
constexpr void reduce_axes(Move& m, const refined_move& r, const axis_list& order) {
  for (int i = 0; i < order.count; ++i) {
    const int axis = order.axis[i];
    if ((m.state.waiting >> axis & 1u) == 0) continue;
    move_state to = m.state;
    to.waiting &= ~(1u << axis);
    if (!detail::take_target(r, to, axis)) detail::take_spare(r, to, axis);
    step_to(m, r, to, serving::nearest);
  }
}

/// Steps along one axis each until the target is reached; axes of `order` first come first where no block grows, then
/// those that let it grow. `parks` says what axes do whose digits are for each other: hold a spare factor for a step,
/// or gather. Domain: no axis waits for its reduction. O(axes² · dims²).
template <class Move>
constexpr void move_axes_in(Move& m, const refined_move& r, const axis_list& order, bool parks = false) {
  for (bool pending = true; pending && m.fits;) {
    move_state next = m.state;
    pending = false;
    for (int i = 0; i < order.count; ++i) {
      if (!detail::is_pending(r, m.state, order.axis[i])) continue;
      const move_state to = detail::after_axis(r, m.state, order.axis[i], parks);
      if (to == m.state) continue;
      if (!pending) next = to;
      pending = true;
      if (pieces_of(r, to) < pieces_of(r, m.state)) continue;
      next = to;
      break;
    }
    step_to(m, r, next, serving::nearest);
  }
}

/// All axes, the outermost or the innermost first.
constexpr axis_list every_axis(const mesh_shape& m, bool outer_first) {
  axis_list order;
  for (int a = 0; a < m.axis_count; ++a) order.axis[order.count++] = outer_first ? a : m.axis_count - 1 - a;
  return order;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
