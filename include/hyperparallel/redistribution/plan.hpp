// SPDX-License-Identifier: Apache-2.0
#pragma once
// The planner for partial-free layouts on one mesh: what kind of move a pair of layouts is, and what it costs.
//
// A pair whose digits are exactly one native collective *is* that collective. Every other pair is one `exchange` over
// the changed axes: each device pulls every missing box from one holder. Laws, for every pair:
//   the plan ends with every device holding its target box, and received(r) == |T_r ∖ S_r| on every rank r.
// Boxes stay implicit (exchange.hpp): a plan is a few integers and needs no table of devices.
// Sources: closed form and exchange, docs/explanation/redistribution.md; tuples of axes are the case that planners of
// single-axis steps get wrong.

#include <hyperparallel/redistribution/bound.hpp>
#include <hyperparallel/redistribution/replicas.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class plan_kind : unsigned char {
  no_op,               ///< nothing changes
  local_slice,         ///< every device drops what it no longer needs
  all_gather,          ///< digits of the source become local
  all_to_all,          ///< the gathered sub-axes are exactly the sliced ones
  collective_permute,  ///< every device needs one whole block of another
  exchange,            ///< any other combination, in one step
  fill,                ///< an axis becomes partial: one device keeps its value, the others hold the identity
  reduce_scatter,      ///< every device reduces the part that it keeps
  all_reduce,          ///< every device gets the reduced value
  reduction,           ///< terms meet and slices move
};

constexpr const char* name_of(plan_kind kind) {
  constexpr const char* names[] = {"no-op",    "local-slice", "all-gather",     "all-to-all", "collective-permute",
                                   "exchange", "fill",        "reduce-scatter", "all-reduce", "reduction"};
  return names[static_cast<int>(kind)];
}

enum class plan_code : unsigned char {
  ok,
  meshes_differ,
  source_is_refused,
  target_is_refused,
  partial_is_not_moved_here,
  reductions_do_not_commute,
  traffic_overflows
};

struct plan_status {
  plan_code code = plan_code::ok;
  layout_status layout{};  ///< of the refused side
};

/// Counts are elements; multiply by the element size for bytes.
struct redistribution_plan {
  plan_status status{};
  plan_kind kind = plan_kind::no_op;
  bool refined = true;            ///< false: cut points do not refine, the figures come from enumeration
  int steps = 0;                  ///< communication steps: 0 or 1
  extent_t fan_in = 1;            ///< boxes that make up one target box, the receiver's own included
  extent_t messages = 0;          ///< boxes that the busiest receiver pulls from others
  extent_t source_elements = 0;   ///< |S|, largest device
  extent_t target_elements = 0;   ///< |T|, largest device
  extent_t received_maximum = 0;  ///< by any device, of the boxes that the plan emits
  extent_t lower_bound = 0;       ///< what any program must receive on its worst device
  replica_choice replicas{};
  /// Known without counting: no device sends more than the busiest receiver receives.
  bool balanced = true;
};

namespace detail {

/// Whether every gathered sub-axis is also sliced, and the other way round: then an all-to-all along it does both.
constexpr bool gathers_what_it_slices(const digit_table& t) {
  for (int i = 0; i < t.count; ++i) {
    const digit x = t.digit[i];
    if (x.source_axis >= 0 && x.target_axis >= 0) continue;  // kept: nothing moves where this is asked
    const bool gathered = x.source_axis >= 0;
    bool paired = false;
    for (int j = 0; j < t.count && !paired; ++j) {
      const digit y = t.digit[j];
      if (y.size != x.size) continue;
      paired = gathered ? y.source_axis < 0 && y.target_axis == x.source_axis && y.target_stride == x.source_stride
                        : y.target_axis < 0 && y.source_axis == x.target_axis && y.source_stride == x.target_stride;
    }
    if (!paired) return false;
  }
  return true;
}

}  // namespace detail

/// What a plan has to know about one side, worked out once for all plans that it is in.
struct plan_side {
  layout_status status{};  ///< why the layout refuses the shape
  bool partial = false;
  bool whole_axes = true;  ///< no cut is a part of its axis
  extent_t elements = 1;   ///< of the largest device
  cuts_by_dim cuts{};
};

/// Only the status where the layout refuses the shape. O(dims + cuts² + axes).
constexpr plan_side side_of(const layout_value& l, const shape& s) {
  const shape_result local = local_shape(l, s);
  if (local.status.code != layout_code::ok) return {local.status, false, true, 1, {}};
  plan_side side{local.status, is_partial(l), true, 1, detail::index_cuts(l)};
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].size != l.mesh.size[l.cut[i].axis]) side.whole_axes = false;
  for (int d = 0; d < s.rank; ++d) side.elements *= local.shape.extent[d];
  return side;
}

namespace detail {

/// The planner with both sides at hand: `held` and `wanted` are those of `source` and `target` for `s`, `same_mesh`
/// says whether their meshes are equal.
constexpr redistribution_plan plan_sides(const layout_value& source, const plan_side& held, const layout_value& target,
                                         const plan_side& wanted, const shape& s, bool same_mesh) {
  redistribution_plan p;
  if (held.status.code != layout_code::ok) {
    p.status = {plan_code::source_is_refused, held.status};
    return p;
  }
  if (wanted.status.code != layout_code::ok) {
    p.status = {plan_code::target_is_refused, wanted.status};
    return p;
  }
  if (!same_mesh || held.partial || wanted.partial) {
    p.status.code = same_mesh ? plan_code::partial_is_not_moved_here : plan_code::meshes_differ;
    return p;
  }
  p.source_elements = held.elements;
  p.target_elements = wanted.elements;
  const digit_figures f = compare_cuts(source, held.cuts, target, wanted.cuts, s);
  p.refined = f.refinable && wanted.elements > 0;  // an empty tensor has no boxes, whatever its digits say
  if (p.refined) {
    // The boxes in closed form: the gathered digits enumerate them, all of one size. Where a digit moves, the busiest
    // receiver owns none of them; otherwise each receiver owns exactly one.
    p.fan_in = f.gathered;
    p.messages = f.moved ? f.gathered : f.gathered - 1;
    p.received_maximum = p.messages * (wanted.elements / f.gathered);
    p.lower_bound = closed_form_bound(f, wanted.elements);
    if (f.moved) {
      p.kind = f.gathered > 1 || f.sliced ? plan_kind::exchange : plan_kind::collective_permute;
      // Where all that is moved into shards the source, pieces leave receivers no choice, and load their senders alike.
      const unsigned heads = held.whole_axes ? f.moved_into & ~held.cuts.axes : f.moved_into;
      if (heads != 0) {
        if ((f.moved_into & ~f.movers) != 0)
          p.balanced = detail::link_replicas(source, heads, refine(f, source, target, s), p.replicas);
        else
          detail::choose_replicas(heads & ~held.cuts.axes, f, p.replicas);
      }
    } else if (f.gathered == 1) {
      p.kind = f.sliced ? plan_kind::local_slice : plan_kind::no_op;
    } else if (!f.sliced) {
      p.kind = plan_kind::all_gather;
    } else {
      const bool may_pair = held.cuts.axes == wanted.cuts.axes;  // the digits are looked at only where they might
      p.kind = may_pair && detail::gathers_what_it_slices(refine(f, source, target, s)) ? plan_kind::all_to_all
                                                                                        : plan_kind::exchange;
    }
  } else {
    // Each receiver pulls the boxes that it does not hold, so what it receives is the bound.
    const received_bound b = enumerate_bound(source, target, s, changed_axes(source, target));
    p.balanced = b.maximum == 0;
    p.lower_bound = p.received_maximum = b.maximum;
    p.kind = source == target ? plan_kind::no_op : b.maximum == 0 ? plan_kind::local_slice : plan_kind::exchange;
    p.fan_in = larger(1, b.boxes);
    p.messages = b.messages;
  }
  p.steps = p.kind == plan_kind::no_op || p.kind == plan_kind::local_slice ? 0 : 1;
  return p;
}

}  // namespace detail

/// Plans `source` → `target` for a tensor of shape `s`. O(cuts²) where the cut points refine, else O(positions · cuts).
/// Fails, naming the side, when a layout refuses the shape, is partial, or the meshes differ.
constexpr redistribution_plan plan_redistribution(const layout_value& source, const layout_value& target,
                                                  const shape& s) {
  return detail::plan_sides(source, side_of(source, s), target, side_of(target, s), s, source.mesh == target.mesh);
}

}}  // namespace hyperparallel::v0_2
