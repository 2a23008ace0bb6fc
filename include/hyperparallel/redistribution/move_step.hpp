// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps that moves are made of, and the transfers that a step consists of.
//
//   pull     each box of the target from one holder
//   reduce   each box of the target from all its contributors, folded in their order
//   collect  the shares that a position reduces, from all contributors; they stay in the frame of its source block
//   spread   the reduced shares to every position that wants them
//
// Collect and spread are a reduction in two steps: an element is reduced once, by the device that has the coordinates
// of its source piece on the axes that shard the source, of its target piece on the other axes that shard the target,
// and of its share on the axes that shard neither. That device contributes, and it wants the result whenever any
// contributor does; so all together receive g + c − 1 − [holders ∩ targets ≠ ∅] for each element of g contributions
// and c copies, which is the least (certificate.hpp). Shares over idle replicas make every device reduce: this is the
// replica-assisted all-reduce. Terms are folded in the order of positions, so results do not depend on the transport.
// A pull or a reduce may deal its boxes to the replicas of their source piece (replicas.hpp).
// Transfers are implicit: the k-th one of a receiver is arithmetic, and many may be empty.
// Domain: cuts are whole axes where a step reduces. Source: docs/explanation/redistribution.md.

#include <hyperparallel/redistribution/crossing.hpp>
#include <hyperparallel/redistribution/replicas.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class step_kind : unsigned char { pull, reduce, collect, spread };

constexpr const char* name_of(step_kind kind) {
  constexpr const char* names[] = {"pull", "reduce", "collect", "spread"};
  return names[static_cast<int>(kind)];
}

/// One step of a move. Masks have bit a for axis a. Partial states of the layouts are not read: `reduced` and `filled`
/// say what happens to them, and any other axis that is partial keeps its terms beside each other.
struct move_step {
  step_kind kind = step_kind::pull;
  layout_value source{};
  layout_value target{};
  replica_choice replicas{};  ///< in a collect, the links say which factors are turned by one for terms of others
  unsigned reduced = 0;       ///< axes whose terms meet
  unsigned shared = 0;        ///< axes over which the shares of a reduction are dealt
  unsigned filled = 0;        ///< axes that become partial with an identity: one coordinate holds an element
  /// Where source and target are on different meshes: the ranks of both. Empty lists: one mesh, positions are equal.
  rank_list source_ranks{};
  rank_list target_ranks{};
};

/// A piece of the tensor from one position's block into another's. `sender` is a position of the source's mesh.
struct transfer {
  int sender = 0;
  int term = 0;  ///< 0 is stored, the others are folded onto it in their order
  box part{};    ///< in the coordinates of the whole tensor; its volume may be 0
};

/// A receiver of a step with what all its transfers share.
struct step_receiver {
  receiver boxes{};
  coordinate at{};   ///< of the receiver, on the target's mesh
  int position = 0;  ///< on the source's mesh; -1 where the receiver's rank is not in it
  int parts = 1;     ///< of each box: those of a dealt box, shares of a spread
  int terms = 1;     ///< contributions to each part
  int dealers = 1;   ///< replicas that dealt boxes come from
  int turn = 0;      ///< number of the receiver among those that boxes are dealt to
  extent_t transfers = 0;
  shape tensor{};  ///< of a step between meshes
};

namespace detail {

constexpr crossing crossing_of(const move_step& s, const shape& tensor) {
  return {s.source, s.source_ranks, s.target, s.target_ranks, tensor, s.reduced, s.filled};
}

/// The receiver of a step between meshes. Those of a collect are positions of the source's mesh.
constexpr step_receiver crossing_receiver(const move_step& step, const shape& s, int position) {
  step_receiver r;
  const bool collecting = step.kind == step_kind::collect, terms_meet = collecting || step.kind == step_kind::reduce;
  const layout_value& own = collecting ? step.source : step.target;
  r.tensor = s;
  r.at = coordinates_of(own.mesh, position);
  r.position = collecting ? position : position_in(step.source_ranks, rank_at(step.target_ranks, position));
  r.boxes = receiver_of_box(collecting ? step.target : step.source, s, slice_at(own, s, r.at), {});
  if (step.kind == step_kind::pull) r.parts = digits_beside(step.source).members > 1 ? 2 : 1;
  if (step.kind == step_kind::spread) r.parts = digits_beside(step.source).members;
  if (terms_meet) r.terms = group_size(step.source.mesh, axes_of(step.source.mesh, step.reduced));
  r.transfers = r.boxes.boxes * r.parts * r.terms;
  return r;
}

constexpr transfer crossing_transfer(const move_step& step, const step_receiver& r, extent_t k) {
  const crossing x = crossing_of(step, r.tensor);
  const mesh_shape& m = step.source.mesh;
  const int term = static_cast<int>(k % r.terms), part = static_cast<int>(k / r.terms % r.parts);
  const bool collecting = step.kind == step_kind::collect;
  const exchange_box b = box_at(collecting ? step.target : step.source, r.boxes, k / r.terms / r.parts);
  const transfer nothing{0, term, no_box};
  offer given{};
  if (collecting) {
    const free_digits holders = digits_beside(step.source);
    const reducers all = reducers_of(x, holders, r.at, b.global, index_among(r.at, holders), 0);
    if (all.index < 0) return nothing;
    given = {r.at, part_of(b.global, all.index, all.count)};
  } else if (step.kind == step_kind::spread) {
    const free_digits holders = digits_beside(step.source);
    const coordinate base = coordinates_of(m, b.sender);
    const reducers all = reducers_of(x, holders, base, b.global, -1, part);
    if (all.member < 0) return nothing;
    given = {member_of(base, holders, all.member), part_of(b.global, part, all.count)};
    if (!takes_from(x, r.at, given.holder, b.global)) return nothing;
  } else {
    if (!takes(x, r.at, b.global)) return nothing;
    given = replica_for(x, b.global, coordinates_of(m, b.sender), r.at, r.position, part, r.parts);
  }
  if (r.terms > 1) enter_group(given.holder, m, step.reduced, term);
  return {position_of(m, given.holder), term, given.part};
}

/// Which of the axes that become partial are held by one fixed coordinate: those that neither shard the source nor
/// carry shares.
constexpr unsigned filled_at_zero(const move_step& s) { return s.filled & ~cut_axes(s.source) & ~s.shared; }

/// Whether the receiver is the sender of `t` itself.
constexpr bool is_own(const step_receiver& r, const transfer& t) { return t.sender == r.position; }

step_receiver receiver_of_in_library(const move_step& step, const shape& s, int position);
constexpr step_receiver receiver_of_here(const move_step& step, const shape& s, int position) {
  if (step.target_ranks.count > 0) return detail::crossing_receiver(step, s, position);
  step_receiver r;
  r.position = position;
  r.at = coordinates_of(step.target.mesh, position);
  const mesh_shape& m = step.source.mesh;
  if (step.kind == step_kind::collect) {
    r.boxes = receiver_at(step.target, step.source, s, {}, r.at);
  } else {
    r.boxes = receiver_at(step.source, step.target, s, step.replicas, r.at);
  }
  if (!detail::all_zero(r.at, detail::filled_at_zero(step))) r.boxes.boxes = 0;
  if (step.replicas.split != 0) {
    r.parts = step.replicas.parts;
    r.dealers = group_size(m, detail::axes_of(m, step.replicas.split));
    r.turn = detail::turn_of(step.source, step.target, step.reduced, step.filled, r.at);
  }
  if (step.kind == step_kind::spread) r.parts = group_size(m, detail::axes_of(m, step.shared));
  if (step.kind == step_kind::reduce || step.kind == step_kind::collect)
    r.terms = group_size(m, detail::axes_of(m, step.reduced));
  r.transfers = r.boxes.boxes * r.parts * r.terms;
  return r;
}

}  // namespace detail

/// Prepares the transfers that end at `position` of the target's mesh. Domain: both layouts accept `s`. O(dims + cuts).
constexpr step_receiver receiver_of(const move_step& step, const shape& s, int position) {
  HYPERPARALLEL_TWIN(detail::receiver_of_in_library(step, s, position));
  return detail::receiver_of_here(step, s, position);
}

namespace detail {

transfer transfer_at_in_library(const move_step& step, const step_receiver& r, extent_t k);
constexpr transfer transfer_at_here(const move_step& step, const step_receiver& r, extent_t k) {
  if (step.target_ranks.count > 0) return detail::crossing_transfer(step, r, k);
  const mesh_shape& m = step.source.mesh;
  const int term = static_cast<int>(k % r.terms), part = static_cast<int>(k / r.terms % r.parts);
  const bool collecting = step.kind == step_kind::collect;
  const exchange_box b = box_at(collecting ? step.target : step.source, r.boxes, k / r.terms / r.parts);
  transfer t{b.sender, term, b.global};
  const transfer nothing{b.sender, term, box(interval{0, 0})};
  coordinate from = coordinates_of(collecting ? step.target.mesh : m, b.sender);
  const unsigned sharding = detail::cut_axes(step.source);
  if (collecting) {
    // The cell is this position's to reduce where it has the target piece's coordinates, and its own share of it.
    if (!detail::agree(from, r.at, detail::cut_axes(step.target) & ~sharding)) return nothing;
    const axis_list shared = detail::axes_of(m, step.shared);
    t.part = detail::part_of(b.global, index_in_group(m, shared, r.position), group_size(m, shared));
    from = r.at;
  } else if (!detail::agree(from, r.at, step.filled & sharding)) {
    return nothing;
  }
  if (step.kind == step_kind::spread) {
    t.part = detail::part_of(b.global, part, r.parts);
    detail::enter_group(from, m, step.shared, part);
    if (!detail::agree(from, r.at, step.filled & step.shared)) return nothing;
  }
  if (r.dealers > 1 && b.sender != r.position) {
    t.part = detail::part_of(b.global, part, r.parts);
    detail::enter_group(from, m, step.replicas.split, detail::dealer_of(r.turn, r.parts, part, r.dealers));
  } else if (r.dealers > 1 && part > 0) {
    return nothing;  // what a receiver holds stays whole
  }
  if (r.terms > 1) detail::enter_group(from, m, step.reduced, term);
  if (collecting && !(from == r.at)) detail::turn_links(step.replicas, from);
  t.sender = position_of(m, from);
  return t;
}

}  // namespace detail

/// The k-th transfer, 0 ≤ k < r.transfers: box by box, in each part by part, in each term by term. O(dims + cuts).
constexpr transfer transfer_at(const move_step& step, const step_receiver& r, extent_t k) {
  HYPERPARALLEL_TWIN(detail::transfer_at_in_library(step, r, k));
  return detail::transfer_at_here(step, r, k);
}

/// The box that frames the block which transfers are read from, at position `p` of the source's mesh.
constexpr box source_frame(const move_step& step, const shape& s, int p) {
  return slice_at(step.source, s, coordinates_of(step.source.mesh, p));
}

/// The box that frames the block which transfers are written to, at position `p` of the target's mesh.
constexpr box target_frame(const move_step& step, const shape& s, int p) {
  if (step.kind == step_kind::collect) return source_frame(step, s, p);
  return slice_at(step.target, s, coordinates_of(step.target.mesh, p));
}

}}  // namespace hyperparallel::v0_2
