// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans a stated move and holds the plan to what it promises, whatever the vector says: every rank ends with its part
// of the tensor, value by value, and all ranks together receive the least that any program must; without a reduction
// that holds for each rank.
//
// On one mesh the planner is asked directly, between meshes over one rank list after a common refinement.

#include <hyperparallel/layout/unify.hpp>

#include <numeric>

#include "exchange_replay.hpp"
#include "move_replay.hpp"
#include "side_reading.hpp"

namespace replay {

/// What ours comes to. Counts are elements.
struct move_figures {
  hp::extent_t received_max = 0, received_sum = 0;
  hp::extent_t least_max = -1;  ///< -1: with a reduction, what the busiest rank must receive is not a matter of boxes
  hp::extent_t least_sum = 0;   ///< -1: of a tensor that was replayed in a smaller form only
  int collectives = 0;          ///< steps in which something is received; an all-reduce is one
  bool reduces = false, fills = false, keeps = false;
  bool contiguous = true;   ///< each transfer is a run of its receiver's block
  hp::extent_t factor = 1;  ///< the result is so many times the term that every contributor holds
};

/// More elements, over all ranks, are replayed on a smaller tensor of the same cuts.
inline constexpr hp::extent_t value_limit = hp::extent_t{1} << 17;

/// A tensor that both layouts cut as they cut `s`, with as few elements as that takes.
inline hp::shape small_shape(const hp::layout_value& a, const hp::layout_value& b, hp::shape s) {
  for (int d = 0; d < s.rank; ++d) {
    const hp::extent_t pieces = std::lcm(hp::shards_of(a, d), hp::shards_of(b, d));
    if (s.extent[d] % pieces == 0 && s.extent[d] > 2 * pieces) s.extent[d] = pieces * (s.extent[d] % 2 == 0 ? 2 : 1);
  }
  return s;
}

/// Both sides on a mesh in which each cut is a whole axis, as reductions ask for.
inline refusal cut_by_whole_axes(hp::layout_value& source, hp::layout_value& target) {
  bool whole = true;
  for (const hp::layout_value* l : {&source, &target})
    for (int i = 0; i < l->cut_count; ++i) whole = whole && l->cut[i].size == l->mesh.size[l->cut[i].axis];
  if (whole) return {};
  const hp::refined_layout from = hp::with_whole_axes(source), to = hp::with_whole_axes(target);
  hp::unified_layouts u{from.status, from.layout, to.layout, {}};
  if (u.status.code == hp::refinement_code::ok) u.status = to.status;
  if (u.status.code == hp::refinement_code::ok) hp::detail::unify_meshes(u);
  refusal r;
  if (u.status.code != hp::refinement_code::ok) r.text = "the sub-axes of source and target do not nest";
  source = u.source;
  target = u.target;
  return r;
}

/// Whether a spread only passes on what was collected inside the same groups: the two are one all-reduce.
inline bool completes_all_reduce(const hp::move_step& step, const hp::shape& s) {
  const unsigned group = step.reduced | step.shared;
  for (int p = 0; p < hp::position_count(step.target.mesh); ++p) {
    const hp::step_receiver r = hp::receiver_of(step, s, p);
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(step, r, k);
      if (hp::volume(t.part) > 0 && !hp::detail::agree(hp::coordinates_of(step.source.mesh, t.sender), r.at,
                                                       ~group & hp::detail::all_axes(step.source.mesh)))
        return false;
    }
  }
  return true;
}

inline bool is_run(const hp::box& part, const hp::box& frame) {
  bool narrowed = false;
  for (int d = part.rank - 1; d >= 0; --d) {
    const hp::extent_t n = part.dim[d].end - part.dim[d].begin;
    if (narrowed && n > 1) return false;
    narrowed = narrowed || !(part.dim[d] == frame.dim[d]);
  }
  return true;
}

/// Counts of the steps that the certificate does not have.
inline void look_at_steps(const hp::move_plan& p, move_figures& f) {
  for (int i = 0; i < p.step_count; ++i) {
    const hp::move_step& step = p.step[i];
    bool any = false;
    for (int q = 0; q < hp::position_count(step.target.mesh); ++q) {
      const hp::step_receiver r = hp::receiver_of(step, p.shape, q);
      const hp::box frame = hp::target_frame(step, p.shape, q);
      for (hp::extent_t k = 0; k < r.transfers; ++k) {
        const hp::transfer t = hp::transfer_at(step, r, k);
        if (hp::volume(t.part) == 0 || t.sender == r.position) continue;
        any = true;
        f.contiguous = f.contiguous && is_run(t.part, frame);
      }
    }
    const bool completes = step.kind == hp::step_kind::spread && i > 0 &&
                           p.step[i - 1].kind == hp::step_kind::collect && completes_all_reduce(step, p.shape);
    if (any && !completes) ++f.collectives;
  }
  f.reduces = p.reduced != 0;
  f.fills = p.filled != 0;
  f.keeps = p.kept != 0;
}

/// The multiple of one term that the reduction of as many equal terms is, as values are folded in the replay.
/// Products have none: their factor is -1.
inline hp::extent_t factor_of(const hp::layout_value& source, unsigned reduced) {
  const hp::reduce_op op = detail::operation_of(source, reduced);
  const int terms = hp::group_size(source.mesh, hp::detail::axes_of(source.mesh, reduced));
  const std::uint64_t term = field::term(1, 2);
  std::uint64_t sum = term;
  for (int i = 1; i < terms; ++i) sum = field::fold(op, sum, term);
  sum = field::times(sum, field::inverse(detail::divisor_of(source, reduced)));
  for (int factor = 1; factor <= terms; ++factor)
    if (sum == field::times(static_cast<std::uint64_t>(factor), term)) return factor;
  return -1;
}

/// A move on one mesh.
inline verdict judge_on_one_mesh(hp::layout_value source, hp::layout_value target, const hp::shape& s,
                                 move_figures& f) {
  if (!hp::is_partial(source) && !hp::is_partial(target)) {
    const hp::redistribution_plan p = hp::plan_redistribution(source, target, s);
    if (p.status.code == hp::plan_code::ok) {
      const exchange_report r = replay_exchange(source, target, s, p);
      if (!r.trouble.empty()) return fail(r.trouble);
      f.least_max = p.lower_bound;
    }
  } else if (const refusal r = cut_by_whole_axes(source, target)) {
    return fail(r.text);
  }
  const hp::move_plan p = hp::plan_move(source, target, s);
  if (p.code != hp::move_code::ok)
    return fail("the planner refuses with code " + std::to_string(static_cast<int>(p.code)) +
                (p.layout.code != hp::layout_code::ok ? ": " + refused(p.layout).text : ""));
  const int positions = hp::position_count(source.mesh);
  std::vector<hp::extent_t> tally(3 * static_cast<std::size_t>(positions));
  const hp::move_certificate c = hp::certify(p, tally.data());
  if (c.received_total != c.least_total)
    return fail("all ranks receive " + std::to_string(c.received_total) + " elements, the least is " +
                std::to_string(c.least_total));
  const bool whole = hp::element_count(s).value * positions <= value_limit;
  const hp::shape small = whole ? s : small_shape(source, target, s);
  if (whole || hp::element_count(small).value * positions <= value_limit) {
    const move_report r = replay_move(source, target, whole ? p : hp::plan_move(source, target, small));
    if (!r.trouble.empty()) return fail(r.trouble);
    if (r.received_total != r.least_total || !r.every_rank_at_least)
      return fail("the replay counts " + std::to_string(r.received_total) + " elements, the least is " +
                  std::to_string(r.least_total));
    if (whole && (r.received_total != c.received_total || r.received_max != c.received_maximum))
      return fail("the certificate does not say what the replay counts");
  } else if (hp::is_partial(source) || hp::is_partial(target)) {
    return fail("the tensor has too many elements to be replayed");
  }
  f.received_max = c.received_maximum;
  f.received_sum = c.received_total;
  f.least_sum = c.least_total;
  look_at_steps(p, f);
  f.factor = p.reduced != 0 ? factor_of(source, p.reduced) : 1;
  if (f.least_max >= 0 && f.least_max != f.received_max)
    return fail("the busiest rank receives " + std::to_string(f.received_max) + " elements, the bound is " +
                std::to_string(f.least_max));
  return pass();
}

/// Whether every position holds the same flat set of elements under both layouts.
inline bool same_flat_sets(const hp::layout_value& a, const hp::shape& sa, const hp::layout_value& b,
                           const hp::shape& sb) {
  const int positions = hp::position_count(a.mesh);
  if (positions != hp::position_count(b.mesh)) return false;
  if (hp::element_count(sa).value * positions > element_limit) return true;  // too many to list
  for (int p = 0; p < positions; ++p) {
    std::vector<hp::extent_t> flat[2];
    const hp::box box[2] = {hp::slice_at(a, sa, hp::coordinates_of(a.mesh, p)),
                            hp::slice_at(b, sb, hp::coordinates_of(b.mesh, p))};
    detail::for_each_element(box[0], box[0], sa, [&](hp::extent_t i, hp::extent_t) { flat[0].push_back(i); });
    detail::for_each_element(box[1], box[1], sb, [&](hp::extent_t i, hp::extent_t) { flat[1].push_back(i); });
    if (flat[0] != flat[1]) return false;  // both row-major, so both ascending where the sets agree
  }
  return true;
}

/// A move over one rank list, whose meshes and shapes may differ.
inline verdict judge_unified(const hp::layout_value& from, const hp::shape& from_shape, const hp::layout_value& to,
                             const hp::shape& to_shape, move_figures& f) {
  if (from.mesh == to.mesh && from_shape == to_shape) return judge_on_one_mesh(from, to, from_shape, f);
  const hp::unified_layouts u = hp::unify(from, from_shape, to, to_shape);
  if (u.status.code != hp::refinement_code::ok)
    return fail("not unifiable, code " + std::to_string(static_cast<int>(u.status.code)));
  if (!same_flat_sets(from, from_shape, u.source, u.shape) || !same_flat_sets(to, to_shape, u.target, u.shape))
    return fail("a rank's flat set of elements changed in the refinement");
  return judge_on_one_mesh(u.source, u.target, u.shape, f);
}

}  // namespace replay
