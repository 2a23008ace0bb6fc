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
#include <hyperparallel/redistribution/exchange.hpp>

namespace hyperparallel {

enum class plan_kind : unsigned char {
  no_op,               ///< nothing changes
  local_slice,         ///< every device drops what it no longer needs
  all_gather,          ///< digits of the source become local
  all_to_all,          ///< the gathered sub-axes are exactly the sliced ones
  collective_permute,  ///< every device needs one whole block of another
  exchange,            ///< any other combination, in one step
};

constexpr const char* name_of(plan_kind kind) {
  constexpr const char* names[] = {"no-op",      "local-slice",        "all-gather",
                                   "all-to-all", "collective-permute", "exchange"};
  return names[static_cast<int>(kind)];
}

enum class plan_code : unsigned char {
  ok,
  meshes_differ,
  source_is_refused,
  target_is_refused,
  partial_is_not_moved_here
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

constexpr plan_kind classify(const digit_table& t) {
  const bool gathered = t.gathered > 1;
  if (t.moved) return gathered || t.sliced ? plan_kind::exchange : plan_kind::collective_permute;
  if (!gathered) return t.sliced ? plan_kind::local_slice : plan_kind::no_op;
  if (!t.sliced) return plan_kind::all_gather;
  return gathers_what_it_slices(t) ? plan_kind::all_to_all : plan_kind::exchange;
}

/// Spreads receivers over replicas. A receiver that takes digit (u → a), i.e. reads coordinate u of its own for axis a,
/// leaves its coordinate a unread; following such moves from the source-free axis u to the end of the chain finds an
/// unread coordinate, and using it for the free axis makes receiver → sender one-to-one along the chain. A receiver
/// that holds the data has equal coordinates along the chain, so it still picks itself.
constexpr void choose_replicas(int axes, const digit_table& t, redistribution_plan& p) {
  for (int a = 0; a < axes; ++a) {
    if ((t.sources >> a & 1u) != 0) continue;
    int end = a;
    for (int hop = 0; t.moved_from[end] > 0 && hop < max_axes; ++hop) end = t.moved_from[end] - 1;
    p.replicas.axis[a] = end;
  }
}

}  // namespace detail

/// The planner with the two fits at hand: `held` and `wanted` are those of `source` and `target` to `s`.
constexpr redistribution_plan plan_fitted(const layout_value& source, const layout_value& target, const shape& s,
                                          const shape_result& held, const shape_result& wanted) {
  redistribution_plan p;
  if (held.status.code != layout_code::ok || wanted.status.code != layout_code::ok) {
    const bool at_source = held.status.code != layout_code::ok;
    p.status.code = at_source ? plan_code::source_is_refused : plan_code::target_is_refused;
    p.status.layout = at_source ? held.status : wanted.status;
    return p;
  }
  const int axes = source.mesh.axis_count;
  bool same_mesh = axes == target.mesh.axis_count, partial = false;
  for (int a = 0; a < axes; ++a) {
    if (source.mesh.size[a] != target.mesh.size[a]) same_mesh = false;
    if (source.partial[a] != reduce_op::none || target.partial[a] != reduce_op::none) partial = true;
  }
  if (!same_mesh || partial) {
    p.status.code = same_mesh ? plan_code::partial_is_not_moved_here : plan_code::meshes_differ;
    return p;
  }

  extent_t source_elements = 1, target_elements = 1;
  for (int d = 0; d < s.rank; ++d) {
    source_elements *= held.shape.extent[d];
    target_elements *= wanted.shape.extent[d];
  }
  p.source_elements = source_elements;
  p.target_elements = target_elements;
  const digit_table t = refine(source, target, s);
  p.refined = t.refinable && p.target_elements > 0;  // an empty tensor has no boxes, whatever its digits say
  if (p.refined) {
    p.kind = detail::classify(t);
    p.lower_bound = closed_form_bound(t, p.target_elements);
    if (t.moved) detail::choose_replicas(axes, t, p);
    // The boxes in closed form: the gathered digits enumerate them, all of one size. Where a digit moves, the busiest
    // receiver owns none of them; otherwise each receiver owns exactly one.
    p.fan_in = t.gathered;
    p.messages = t.moved ? p.fan_in : p.fan_in - 1;
    p.received_maximum = p.messages * (p.target_elements / p.fan_in);
  } else {
    // Each receiver pulls the boxes that it does not hold, so what it receives is the bound.
    const received_bound b = enumerate_bound(source, target, s);
    p.lower_bound = p.received_maximum = b.maximum;
    p.kind = source == target ? plan_kind::no_op : b.maximum == 0 ? plan_kind::local_slice : plan_kind::exchange;
    p.fan_in = larger(1, b.boxes);
    p.messages = b.messages;
  }
  p.steps = p.kind == plan_kind::no_op || p.kind == plan_kind::local_slice ? 0 : 1;
  return p;
}

/// Plans `source` → `target` for a tensor of shape `s`. O(cuts²) where the cut points refine, else O(positions · cuts).
/// Fails, naming the side, when a layout refuses the shape, is partial, or the meshes differ.
constexpr redistribution_plan plan_redistribution(const layout_value& source, const layout_value& target,
                                                  const shape& s) {
  return plan_fitted(source, target, s, local_shape(source, s), local_shape(target, s));
}

}  // namespace hyperparallel
