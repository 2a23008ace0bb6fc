// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves between two sides, each a layout of a shape over a list of ranks: other meshes over the same ranks, other rank
// lists, disjoint ones as between pipeline stages, other numbers of ranks, and other shapes of as many elements.
//
//   one_mesh  both lists are equal and both sides have a common mesh and shape: an ordinary move by positions, so a
//             legal view costs nothing and digits tell its figures (move_plan.hpp)
//   boxes     rank lists or meshes differ, and a common shape exists: steps between two meshes (crossing.hpp)
//   runs      pieces of one side are no boxes in a shape of the other: runs of the flat index (flat_move.hpp)
//
// Laws: without partial sources received(r) == |T_r ∖ S_r| for every rank r, in flat sets of elements, and once for the
// devices along a filled axis. With them all ranks together receive g + c − 1 − [holders ∩ targets ≠ ∅] for each
// element of g terms and c copies. Both are the least that any program needs. The terms of a partial source meet on the
// way, in one step where each element has one copy in the target, else in two; a partial target is filled.
// What a partial state means is its reduced value, so an idempotent operation that is partial on both sides is reduced
// and copied, also where its terms could have moved beside each other for less.

#include <hyperparallel/layout/unify.hpp>
#include <hyperparallel/redistribution/move_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One side of a relocation. The list names the rank of each position; its numbers are the caller's to keep alive.
struct tensor_side {
  layout_value layout{};
  hyperparallel::shape shape{};
  rank_list ranks{};
};

enum class relocation_code : unsigned char {
  ok,
  source_is_refused,  ///< by its shape, see `layout`
  target_is_refused,
  source_ranks_do_not_fit_the_mesh,  ///< see `ranks`
  target_ranks_do_not_fit_the_mesh,
  element_counts_differ,
  source_reductions_do_not_commute,  ///< that of `axis` with an earlier one
  target_reductions_do_not_commute,
  traffic_overflows,  ///< elements · devices · terms leave 64 bits
};

enum class relocation_form : unsigned char { one_mesh, boxes, runs };

/// The steps of `plan` are executed by positions of their sides; what rank a position is, `source_rank` and
/// `target_rank` say. In form `runs` they are those of flat_move.hpp, with the shapes of `from` and `to`.
struct relocation {
  relocation_code code = relocation_code::ok;
  layout_status layout{};    ///< of the refused side
  rank_list_status ranks{};  ///< of the refused list
  int axis = 0;
  extent_t source_elements = 0;  ///< of the whole tensor on either side
  extent_t target_elements = 0;
  relocation_form form = relocation_form::one_mesh;
  hyperparallel::shape target_shape{};  ///< in form `runs`; `plan.shape` is then the source's
  rank_list source_ranks{}, target_ranks{};
  move_plan plan{};
};

namespace detail {

constexpr bool same_ranks(const rank_list& a, const rank_list& b) {
  if (a.count != b.count) return false;
  if (!a.listed && !b.listed) return a.first == b.first;
  for (int p = 0; p < a.count; ++p)
    if (rank_at(a, p) != rank_at(b, p)) return false;
  return true;
}

constexpr unsigned partial_axes(const layout_value& l) {
  unsigned mask = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none) mask |= 1u << a;
  return mask;
}

/// The first axis whose reduction does not commute with one before it, or -1.
constexpr int mixed_reduction(const layout_value& l) {
  const move_axes m = sort_axes(l, l);
  return m.code == move_code::ok ? -1 : m.axis;
}

constexpr void check_sides(const tensor_side& from, const tensor_side& to, relocation& r) {
  using enum relocation_code;
  for (int i = 0; i < 2; ++i) {
    const tensor_side& side = i == 0 ? from : to;
    r.layout = check_shape(side.layout, side.shape);
    if (r.layout.code != layout_code::ok) {
      r.code = i == 0 ? source_is_refused : target_is_refused;
      return;
    }
    r.ranks = check_rank_list(side.layout.mesh, side.ranks);
    if (r.ranks.code != rank_list_code::ok) {
      r.code = i == 0 ? source_ranks_do_not_fit_the_mesh : target_ranks_do_not_fit_the_mesh;
      return;
    }
    const int axis = mixed_reduction(side.layout);
    if (axis >= 0) {
      r.axis = axis;
      r.code = i == 0 ? source_reductions_do_not_commute : target_reductions_do_not_commute;
      return;
    }
  }
  r.source_elements = element_count(from.shape).value;
  r.target_elements = element_count(to.shape).value;
  const extent_t both = extent_t{from.ranks.count} + to.ranks.count;
  const checked_extent ranks = checked_multiply(both, both);
  if (r.source_elements != r.target_elements)
    r.code = element_counts_differ;
  else if (checked_multiply(r.source_elements, ranks.value).overflow)
    r.code = traffic_overflows;
}

/// Whether `l` cuts parts of axes, which steps on one mesh do not reduce.
constexpr bool cuts_sub_axes(const layout_value& l) {
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].size != l.mesh.size[l.cut[i].axis]) return true;
  return false;
}

/// Equal lists: positions are ranks, and one mesh and shape may do for both sides. Whether they do.
constexpr bool plan_on_one_mesh(const tensor_side& from, const tensor_side& to, relocation& r) {
  unified_layouts u = unify(from.layout, from.shape, to.layout, to.shape);
  if (u.status.code != refinement_code::ok) return false;
  if ((is_partial(u.source) || is_partial(u.target)) && (cuts_sub_axes(u.source) || cuts_sub_axes(u.target))) {
    if (!take_refined(u.source, with_whole_axes(u.source), u.status)) return false;
    if (!take_refined(u.target, with_whole_axes(u.target), u.status)) return false;
    unify_meshes(u);
    if (u.status.code != refinement_code::ok || cuts_sub_axes(u.source) || cuts_sub_axes(u.target)) return false;
  }
  const move_plan p = plan_move(u.source, u.target, u.shape);
  if (p.code != move_code::ok) return false;
  r.plan = p;
  return true;
}

/// Whether every receiver holds what it wants, and whether that is all that it holds.
struct at_home {
  bool held = true;
  bool same = true;
};

constexpr at_home compare_blocks(const move_step& step, const shape& s) {
  at_home h;
  for (int q = 0; q < step.target_ranks.count && h.held; ++q) {
    const box wanted = slice_at(step.target, s, coordinates_of(step.target.mesh, q));
    const int p = position_in(step.source_ranks, rank_at(step.target_ranks, q));
    const box own = p < 0 ? no_box : slice_at(step.source, s, coordinates_of(step.source.mesh, p));
    h.held = volume(wanted) == 0 || (p >= 0 && intersection(wanted, own) == wanted);
    h.same = h.same && p >= 0 && wanted == own;
  }
  h.same = h.same && h.held;
  return h;
}

constexpr plan_kind kind_of_crossing(const move_step& step, const shape& s, bool fills) {
  if (step.reduced != 0) return plan_kind::reduction;
  if (fills) return plan_kind::fill;
  const at_home h = compare_blocks(step, s);
  if (h.held) return h.same ? plan_kind::no_op : plan_kind::local_slice;
  for (int d = 0; d < s.rank; ++d)
    if (shards_of(step.source, d) != shards_of(step.target, d)) return plan_kind::exchange;
  return plan_kind::collective_permute;  // or one to many: every device needs one whole block
}

/// Steps between two meshes, by boxes where both sides have a common shape, else by runs.
constexpr void plan_between_meshes(const tensor_side& from, const tensor_side& to, relocation& r) {
  unified_layouts u{{}, from.layout, to.layout, from.shape};
  unify_shapes(u, from.shape, to.shape);
  const bool boxes = u.status.code == refinement_code::ok;
  r.form = boxes ? relocation_form::boxes : relocation_form::runs;
  if (!boxes) u = {{}, from.layout, to.layout, from.shape};
  r.target_shape = boxes ? u.shape : to.shape;
  move_plan& p = r.plan;
  p.shape = u.shape;
  p.reduced = partial_axes(u.source);
  p.filled = partial_axes(u.target);
  move_step step{step_kind::pull, u.source, u.target, {}, p.reduced, 0, with_identity(u.target, p.filled),
                 from.ranks,      to.ranks};
  p.kind = boxes            ? kind_of_crossing(step, u.shape, p.filled != 0)
           : p.reduced != 0 ? plan_kind::reduction
           : p.filled != 0  ? plan_kind::fill
                            : plan_kind::exchange;
  if (p.kind == plan_kind::no_op) return;
  const bool one_copy = digits_beside(u.target, step.filled).members == 1;
  if (p.reduced != 0) step.kind = one_copy ? step_kind::reduce : step_kind::collect;
  p.step[p.step_count++] = step;
  if (step.kind != step_kind::collect) return;
  step.kind = step_kind::spread;
  p.step[p.step_count++] = step;
}

relocation plan_relocation_in_library(const tensor_side& from, const tensor_side& to);
constexpr relocation plan_relocation_here(const tensor_side& from, const tensor_side& to) {
  relocation r;
  r.source_ranks = from.ranks;
  r.target_ranks = to.ranks;
  detail::check_sides(from, to, r);
  if (r.code != relocation_code::ok) return r;
  if (detail::same_ranks(from.ranks, to.ranks) && detail::plan_on_one_mesh(from, to, r)) return r;
  detail::plan_between_meshes(from, to, r);
  return r;
}

}  // namespace detail

/// Plans the move from one side to the other by fewest bytes. Fails naming the side.
/// O(cuts²) on one mesh where the cut points refine, else O(ranks · lookup of a rank).
constexpr relocation plan_relocation(const tensor_side& from, const tensor_side& to) {
  HYPERPARALLEL_TWIN(detail::plan_relocation_in_library(from, to));
  return detail::plan_relocation_here(from, to);
}

/// Whether the receivers of a step are positions of the source's side: the devices that reduce before values cross.
constexpr bool receives_at_source(const move_step& step) { return step.kind == step_kind::collect; }

constexpr const rank_list& receiver_ranks(const relocation& r, const move_step& step) {
  return receives_at_source(step) ? r.source_ranks : r.target_ranks;
}

}}  // namespace hyperparallel::v0_2
