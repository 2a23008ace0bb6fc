// SPDX-License-Identifier: Apache-2.0
#pragma once
// Senders no busier than receivers, where replicas allow it and no rule of digits tells: by counting.
//
// A source piece that others want D elements of has k replicas, and any of them may serve any receiver. So no plan gets
// its heaviest sender below the largest ⌈D / k⌉ over pieces, and boxes cut finely enough and dealt in turn get there.
// Few cuts mean few messages, so boxes are first dealt whole, then in ever more parts, until the heaviest sender sends
// at most 1.25 times what the heaviest receiver receives, or, where that cannot be, 1.25 times the least possible. Axes
// along which nothing changes repeat the same counts, so only positions with coordinate 0 there are counted.

#include <hyperparallel/redistribution/move_step.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What the busiest devices of a step receive and send. Units: elements.
struct step_loads {
  extent_t received = 0;
  extent_t sent = 0;
};

namespace detail {

/// The axes along which the receivers of a step, or their senders, differ. Bit a of the mask is axis a.
constexpr unsigned counted_axes(const move_step& step) {
  return changed_axes(step.source, step.target) | step.reduced | step.filled;
}

/// Positions that `count_loads` and `balance_senders` count.
constexpr int counted_positions(const move_step& step) {
  return group_size(step.source.mesh, detail::axes_of(step.source.mesh, counted_axes(step)));
}

}  // namespace detail

/// Counts what each sender sends into `sent`, which has `counted_positions(step)` entries, by its index along the
/// counted axes. Domain: one mesh. O(counted positions · transfers of a receiver).
constexpr step_loads count_loads(const move_step& step, const shape& s, extent_t* sent) {
  step_loads loads;
  const mesh_shape& m = step.source.mesh;
  const axis_list along = detail::axes_of(m, detail::counted_axes(step));
  const int positions = group_size(m, along);
  for (int i = 0; i < positions; ++i) sent[i] = 0;
  for (int i = 0; i < positions; ++i) {
    const step_receiver r = receiver_of(step, s, group_member(m, along, 0, i));
    extent_t received = 0;
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(step, r, k);
      if (detail::is_own(r, t)) continue;
      const extent_t n = volume(t.part);
      received += n;
      sent[index_in_group(m, along, t.sender)] += n;
    }
    loads.received = larger(loads.received, received);
  }
  for (int i = 0; i < positions; ++i) loads.sent = larger(loads.sent, sent[i]);
  return loads;
}

namespace detail {

/// Axes whose coordinates tell replicas of a source piece apart, among those that are counted.
constexpr unsigned dealing_axes(const move_step& step) {
  return counted_axes(step) & ~cut_axes(step.source) & ~step.reduced;
}

/// The least that the heaviest sender can send: of all pieces the most that is wanted of one, shared by its replicas.
constexpr extent_t least_sent(const move_step& step, const extent_t* sent) {
  const mesh_shape& m = step.source.mesh;
  const axis_list along = axes_of(m, counted_axes(step)), replicas = axes_of(m, dealing_axes(step));
  const int positions = group_size(m, along), count = group_size(m, replicas);
  extent_t least = 0;
  for (int i = 0; i < positions; ++i) {
    const int first = group_member(m, along, 0, i);
    if (index_in_group(m, replicas, first) != 0) continue;
    extent_t wanted = 0;
    for (int k = 0; k < count; ++k) wanted += sent[index_in_group(m, along, group_member(m, replicas, first, k))];
    least = larger(least, ceil_divide(wanted, count));
  }
  return least;
}

}  // namespace detail

/// Has a pull or a reduce deal its boxes if a sender would otherwise be too busy, in the fewest parts that help.
/// `sent` has `counted_positions(step)` entries of scratch. Domain: one mesh; terms that stay beside each other are on
/// axes that neither side cuts. O(counted positions · transfers · replicas) at worst.
constexpr void balance_senders(move_step& step, const shape& s, extent_t* sent) {
  const step_loads nearest = count_loads(step, s, sent);
  const unsigned replicas = detail::dealing_axes(step);
  if (nearest.sent - nearest.received <= nearest.received / 4 || replicas == 0) return;
  extent_t allowed = nearest.received + nearest.received / 4;
  if (const extent_t least = detail::least_sent(step, sent); least > allowed) allowed = least + least / 4;
  const int dealers = group_size(step.source.mesh, detail::axes_of(step.source.mesh, replicas));
  replica_choice best = step.replicas;
  extent_t best_sent = nearest.sent;
  for (int parts = 1; best_sent > allowed;) {
    step.replicas = {};
    step.replicas.split = replicas;
    step.replicas.parts = parts;
    const extent_t heaviest = count_loads(step, s, sent).sent;
    if (heaviest < best_sent) {
      best = step.replicas;
      best_sent = heaviest;
    }
    if (parts == dealers) break;
    parts = static_cast<int>(smaller(dealers, parts + (parts + 1) / 2));
  }
  step.replicas = best;
}

namespace detail {

/// Ranks up to which a plan counts its senders on its own, on the stack.
inline constexpr int max_counted_positions = 512;

}  // namespace detail

/// The same without scratch. Leaves a step of more than `max_counted_positions` as it is.
constexpr void balance_senders(move_step& step, const shape& s) {
  if (detail::counted_positions(step) > detail::max_counted_positions) return;
  extent_t sent[detail::max_counted_positions] = {};
  balance_senders(step, s, sent);
}

}}  // namespace hyperparallel::v0_2
