// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a move costs, counted from the transfers that its steps emit, beside the least that any program needs.
//
// Least of all ranks together, elements:
//   without a reduction  Σ_r |T_r ∖ S_r|; where an axis becomes partial, once for the devices along it
//   with one             Σ over elements of g + c − 1 − [holders ∩ targets ≠ ∅], g contributions, c copies: g − 1
//                        merges happen at devices that receive, and every copy but one that is born in place is
//                        received
// Law: received_total == least_total for every plan by fewest bytes; without a reduction also rank by rank.

#include <hyperparallel/layout/layout_words.hpp>
#include <hyperparallel/redistribution/move_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Counts of elements and messages. Multiply elements by the size of one for bytes.
struct move_certificate {
  extent_t received_maximum = 0;  ///< by the rank that receives most, over all steps
  extent_t received_total = 0;    ///< by all ranks
  extent_t least_total = 0;       ///< what all ranks must receive
  extent_t sent_maximum = 0;      ///< by the rank that sends most
  extent_t messages_maximum = 0;  ///< transfers that the busiest receiver takes from others
  extent_t peak_elements = 0;     ///< of the largest rank: its source, its target and what lies between
  int steps = 0;                  ///< in which something is received
  friend constexpr bool operator==(const move_certificate&, const move_certificate&) = default;

  /// Of a move that is refused: `not_counted`, which meets no bound; what it needs at least is 0.
  static constexpr move_certificate of_nothing() {
    return {not_counted, not_counted, 0, not_counted, not_counted, not_counted, 0};
  }
};

namespace detail {

/// Positions of both sides up to which the type of a move certifies it; `certify` itself knows no limit.
inline constexpr extent_t max_certified_positions = extent_t{1} << 20;

}  // namespace detail

namespace diag {
template <class From, class To, class Positions>
struct certificate_of_a_move_has_too_many_positions;
}  // namespace diag

namespace detail {

template <class From, class To, extent_t Positions, bool Few = Positions <= max_certified_positions>
struct certified {
  using type = accepted;
};
template <class From, class To, extent_t Positions>
struct certified<From, To, Positions, false> {
  using type = diag::certificate_of_a_move_has_too_many_positions<in_words<From>, in_words<To>, positions<Positions>>;
};

/// What the ranks of a move without a reduction must receive: each group of devices along filled axes counts once.
constexpr extent_t least_of_pull(const move_step& step, const shape& s) {
  extent_t least = 0;
  const unsigned sharding = cut_axes(step.source) & ~step.filled;
  for (int p = 0; p < position_count(step.target.mesh); ++p) {
    const coordinate c = coordinates_of(step.target.mesh, p);
    if (!all_zero(c, step.filled)) continue;
    const receiver r = receiver_at(step.source, step.target, s, {}, c);
    for (extent_t k = 0; k < r.boxes; ++k) {
      const exchange_box b = box_at(step.source, r, k);
      if (!agree(coordinates_of(step.source.mesh, b.sender), c, sharding)) least += volume(b.global);
    }
  }
  return least;
}

/// Whether the coordinates `a` and `b` of `axis` have the same digits of the cuts of `l`.
constexpr bool same_digits(const layout_value& l, int axis, int a, int b) {
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].axis == axis && digit_of(l.mesh, l.cut[i], a) != digit_of(l.mesh, l.cut[i], b)) return false;
  return true;
}

/// Whether some device has the piece of `source` that the one at `a` has and the piece of `target` that the one at `b`
/// has. O(cuts²) where cuts are whole axes, else O(axis sizes · cuts).
constexpr bool share_a_device(const layout_value& source, const coordinate& a, const layout_value& target,
                              const coordinate& b) {
  for (int i = 0; i < target.cut_count; ++i) {
    const int axis = target.cut[i].axis, size = target.mesh.size[axis];
    if (a.at[axis] == b.at[axis] || same_digits(target, axis, a.at[axis], b.at[axis])) continue;
    for (int k = 0; k < source.cut_count; ++k)
      if (source.cut[k].axis == axis && source.cut[k].size == size) return false;
    int at = 0;
    while (at < size && !(same_digits(source, axis, at, a.at[axis]) && same_digits(target, axis, at, b.at[axis]))) ++at;
    if (at == size) return false;
  }
  return true;
}

/// The same where terms meet: each element once for its merges, and once for each copy that is not born in place.
constexpr extent_t least_of_reduction(const move_step& step, const shape& s, unsigned kept) {
  extent_t least = 0;
  const mesh_shape& m = step.target.mesh;
  const free_digits copies = digits_beside(step.target, kept);
  const extent_t terms = group_size(m, axes_of(m, step.reduced));
  for (int p = 0; p < position_count(m); ++p) {
    const coordinate c = coordinates_of(m, p);
    if (!all_zero(c, step.filled)) continue;
    const bool first_copy = index_among(c, copies) == 0;
    const receiver r = receiver_at(step.source, step.target, s, {}, c);
    for (extent_t k = 0; k < r.boxes; ++k) {
      const exchange_box b = box_at(step.source, r, k);
      const bool born_in_place = share_a_device(step.source, coordinates_of(m, b.sender), step.target, c);
      least += volume(b.global) * (first_copy ? terms - (born_in_place ? 1 : 0) : 1);
    }
  }
  return least;
}

}  // namespace detail

/// The least that all ranks together must receive in the move that `p` plans on one mesh. O(positions · boxes).
constexpr extent_t least_received_total(const move_plan& p) {
  if (p.step_count == 0) return 0;
  move_step whole = p.step[0];
  whole.target = p.step[p.step_count - 1].target;
  whole.filled = p.step[p.step_count - 1].filled;
  whole.reduced = p.reduced;
  return p.reduced != 0 ? detail::least_of_reduction(whole, p.shape, p.kept) : detail::least_of_pull(whole, p.shape);
}

/// Counts one step into the tallies of received and sent elements and of messages, `positions` entries each. Returns
/// whether anything is received. O(positions · transfers of a receiver).
constexpr bool tally_step(const move_step& step, const shape& s, extent_t* received, extent_t* sent,
                          extent_t* messages) {
  bool any = false;
  for (int p = 0; p < position_count(step.target.mesh); ++p) {
    const step_receiver r = receiver_of(step, s, p);
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(step, r, k);
      const extent_t n = volume(t.part);
      if (n == 0 || detail::is_own(r, t)) continue;
      received[p] += n;
      sent[t.sender] += n;
      ++messages[p];
      any = true;
    }
  }
  return any;
}

/// Enters what `count` tallies of received and sent elements and of messages amount to.
constexpr void add_up(const extent_t* received, const extent_t* sent, const extent_t* messages, int count,
                      move_certificate& c) {
  for (int i = 0; i < count; ++i) {
    c.received_total += received[i];
    c.received_maximum = larger(c.received_maximum, received[i]);
    c.sent_maximum = larger(c.sent_maximum, sent[i]);
    c.messages_maximum = larger(c.messages_maximum, messages[i]);
  }
}

/// Certifies a move on one mesh, `move_certificate::of_nothing()` where it is refused. `tally` has three zeroed entries
/// a position. O(positions · transfers of a receiver).
constexpr move_certificate certify(const move_plan& p, extent_t* tally) {
  if (p.code != move_code::ok) return move_certificate::of_nothing();
  move_certificate c;
  c.least_total = least_received_total(p);
  if (p.step_count == 0) return c;
  const int positions = position_count(p.step[0].source.mesh);
  extent_t *received = tally, *sent = tally + positions, *messages = sent + positions;
  for (int i = 0; i < p.step_count; ++i)
    if (tally_step(p.step[i], p.shape, received, sent, messages)) ++c.steps;
  add_up(received, sent, messages, positions, c);
  for (int q = 0; q < positions; ++q) {
    const extent_t source = volume(source_frame(p.step[0], p.shape, q));
    extent_t before = 0;
    for (int i = 0; i < p.step_count; ++i) {
      const extent_t after = volume(target_frame(p.step[i], p.shape, q));
      c.peak_elements = larger(c.peak_elements, source + before + after);
      before = after;
    }
  }
  return c;
}

}}  // namespace hyperparallel::v0_2
