// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a relocation costs, by ranks: counted from the transfers that its steps emit, beside the least of any program.
//
// Laws: received_total == least_total; without a reduction and without filled axes the rank that receives most receives
// least_maximum, and so does every other rank what it lacks. Units: elements, messages.

#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/redistribution/flat_move.hpp>
#include <hyperparallel/redistribution/relocation.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct relocation_certificate : move_certificate {
  extent_t least_maximum = 0;  ///< the most that any rank must receive; 0 where terms meet or axes are filled
  friend constexpr bool operator==(const relocation_certificate&, const relocation_certificate&) = default;
};

/// One transfer of a step, whatever its form: `boxes` or `run` says what it copies.
struct relocated {
  transfer boxes{};
  flat_transfer run{};
  int sender = 0;  ///< position on the source's side
  extent_t elements = 0;
};

/// Calls visit(relocated) for the transfers of step `k` that end at `receiver` and are not empty, in their order.
template <class Visit>
constexpr void for_each_transfer(const relocation& r, int k, int receiver, Visit&& visit) {
  const move_step& step = r.plan.step[k];
  if (r.form == relocation_form::runs) {
    const flat_step f{step, r.plan.shape, r.target_shape};
    flat_receiver at = receiver_of(f, receiver);
    for (flat_transfer t; next_transfer(f, at, t);) visit(relocated{{}, t, t.sender, t.length});
    return;
  }
  const step_receiver at = receiver_of(step, r.plan.shape, receiver);
  for (extent_t i = 0; i < at.transfers; ++i) {
    const transfer t = transfer_at(step, at, i);
    const extent_t n = volume(t.part);
    if (n > 0) visit(relocated{t, {}, t.sender, n});
  }
}

namespace detail {

/// Place of a rank in tallies over both sides: its source position, or behind all of them its target position.
constexpr int slot_of(const relocation& r, const rank_list& side, int position) {
  if (&side == &r.source_ranks) return position;
  const int p = position_in(r.source_ranks, rank_at(r.target_ranks, position));
  return p >= 0 ? p : r.source_ranks.count + position;
}

/// What the ranks must receive in the step from `r.plan`'s source to its target: see relocation.hpp.
struct least_received_by {
  extent_t maximum = 0;
  extent_t total = 0;
};

/// Adds what the receiver at `c` must get of a cell: all of it unless it is held, or what a reduction needs, once.
template <class Crossing, class Cell>
constexpr extent_t least_of_cell(const Crossing& x, unsigned reduced, const coordinate& holder, const coordinate& c,
                                 const Cell& cell) {
  if (reduced == 0) return takes(x, c, cell) && holding(x, c, cell) < 0 ? 1 : 0;
  const free_digits copies = digits_beside(x.target, x.filled), holders = digits_beside(x.source);
  if (index_among(c, copies) != 0 || !all_zero(c, x.filled)) return 0;
  bool met = false;
  for (int i = 0; i < holders.members && !met; ++i) met = wanting(x, member_of(holder, holders, i), cell) >= 0;
  return group_size(x.source.mesh, axes_of(x.source.mesh, reduced)) + copies.members - 1 - (met ? 1 : 0);
}

constexpr least_received_by least_between_meshes(const relocation& r) {
  least_received_by least;
  move_step step = r.plan.step[0];
  step.kind = step_kind::pull;  // its cells are those of every kind of step
  step.reduced = 0;
  const crossing boxes{step.source, step.source_ranks, step.target, step.target_ranks, r.plan.shape, 0, step.filled};
  const flat_step sides{step, r.plan.shape, r.target_shape};
  const flat_crossing runs{step.source, step.target, sides, step.filled};
  for (int q = 0; q < r.target_ranks.count; ++q) {
    extent_t own = 0;
    const coordinate c = coordinates_of(step.target.mesh, q);
    if (r.form == relocation_form::runs) {
      flat_receiver at = receiver_of(sides, q);
      while (at.done < at.own.length * at.own.runs) {
        const flat_stretch f = stretch_at(sides, at);
        own += f.length * least_of_cell(runs, r.plan.reduced, f.at, c, f.flat);
        at.done += f.length;
      }
    } else {
      const receiver at = receiver_of_box(step.source, r.plan.shape, slice_at(step.target, r.plan.shape, c), {});
      for (extent_t i = 0; i < at.boxes; ++i) {
        const exchange_box b = box_at(step.source, at, i);
        const coordinate holder = coordinates_of(step.source.mesh, b.sender);
        own += volume(b.global) * least_of_cell(boxes, r.plan.reduced, holder, c, b.global);
      }
    }
    least.total += own;
    if (r.plan.reduced == 0 && step.filled == 0) least.maximum = larger(least.maximum, own);
  }
  return least;
}

/// Elements of the largest rank: source, target, and between two steps what the source's side has reduced.
constexpr extent_t peak_between_meshes(const relocation& r) {
  extent_t peak = 0;
  const move_step& step = r.plan.step[0];
  const shape& to = r.form == relocation_form::runs ? r.target_shape : r.plan.shape;
  const auto held = [&](int p) {
    return p < 0 ? 0 : volume(slice_at(step.source, r.plan.shape, coordinates_of(step.source.mesh, p)));
  };
  for (int p = 0; p < r.source_ranks.count; ++p) peak = larger(peak, held(p) * r.plan.step_count);
  for (int q = 0; q < r.target_ranks.count; ++q)
    peak = larger(peak, held(position_in(r.source_ranks, rank_at(r.target_ranks, q))) * r.plan.step_count +
                            volume(slice_at(step.target, to, coordinates_of(step.target.mesh, q))));
  return peak;
}

}  // namespace detail

/// Entries of scratch that `certify` needs for a relocation: three for each rank of either side.
constexpr extent_t tally_size(const relocation& r) {
  return 3 * (extent_t{r.source_ranks.count} + r.target_ranks.count);
}

/// Certifies a relocation, as `move_certificate::of_nothing()` where it is refused. `tally` has `tally_size(r)` zeroed entries. O(ranks · transfers of a receiver), and for each
/// transfer what crossing.hpp and flat_move.hpp say.
constexpr relocation_certificate certify(const relocation& r, extent_t* tally) {
  relocation_certificate c;
  if (r.code != relocation_code::ok) return {move_certificate::of_nothing(), 0};
  if (r.plan.step_count == 0) return c;
  if (r.form == relocation_form::one_mesh) {
    static_cast<move_certificate&>(c) = certify(r.plan, tally);
    const move_step &first = r.plan.step[0], &last = r.plan.step[r.plan.step_count - 1];
    for (int p = 0; p < r.source_ranks.count && r.plan.reduced == 0 && r.plan.filled == 0; ++p)
      c.least_maximum = larger(c.least_maximum, least_received(first.source, last.target, r.plan.shape,
                                                               coordinates_of(first.source.mesh, p)));
    return c;
  }
  const int slots = r.source_ranks.count + r.target_ranks.count;
  extent_t *received = tally, *sent = tally + slots, *messages = sent + slots;
  for (int k = 0; k < r.plan.step_count; ++k) {
    const rank_list& side = receiver_ranks(r, r.plan.step[k]);
    bool any = false;
    for (int q = 0; q < side.count; ++q) {
      const int own = detail::slot_of(r, side, q);
      for_each_transfer(r, k, q, [&](const relocated& t) {
        if (t.sender == own) return;
        received[own] += t.elements;
        sent[t.sender] += t.elements;
        ++messages[own];
        any = true;
      });
    }
    if (any) ++c.steps;
  }
  add_up(received, sent, messages, slots, c);
  const detail::least_received_by least = detail::least_between_meshes(r);
  c.least_maximum = least.maximum;
  c.least_total = least.total;
  c.peak_elements = detail::peak_between_meshes(r);
  return c;
}

}}  // namespace hyperparallel::v0_2
