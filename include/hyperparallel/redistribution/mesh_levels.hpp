// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the busiest link along each axis of a full mesh carries in one step.
//
// A step is counted through its receivers: all of them on up to `most_counted_positions` devices, beyond that those with
// coordinate 0 or 1 on every axis that takes part. What is exchanged by devices that differ along several axes either has
// no link, or is relayed: over one axis after the other, a step each. Relays are taken to be spread evenly over the links
// from one coordinate to another, so that what one receiver takes tells what each of them carries; that is exact where
// all devices exchange alike. Laws: without relays the time is `price_step`'s; a relayed step along one axis is the step.
// Units: elements. O(receivers · transfers of one).

#include <hyperparallel/redistribution/step_levels.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class mesh_counter {
 public:
  constexpr mesh_counter(const interconnect& links, bool relayed) : net_(links), relays_(relayed) {
    int all = 0;
    for (int a = 0; a < net_.mesh.axis_count; ++a) {
      first_[a] = all;
      all += net_.mesh.size[a];
    }
    carried_.resize(all, 0);
  }

  /// What position `at` takes in the steps that run at the same time.
  constexpr void add(const step_part* part, int parts, int at) {
    for (int i = 0; i < parts && load.code == cost_code::ok; ++i) {
      const move_step& step = *part[i].step;
      if (at >= position_count(receiving_mesh(step))) continue;
      const step_receiver r = receiver_of(step, *part[i].shape, at);
      const int to = rank_on(net_, step.kind == step_kind::collect ? step.source_ranks : step.target_ranks, at);
      for (extent_t k = 0; k < r.transfers && load.code == cost_code::ok; ++k) {
        const transfer t = transfer_at(step, r, k);
        const extent_t n = volume(t.part);
        if (n > 0 && !is_own(r, t)) carry(rank_on(net_, step.source_ranks, t.sender), to, n);
      }
    }
    for (int a = 0; a < net_.mesh.axis_count; ++a)
      for (int c = 0; c < net_.mesh.size[a]; ++c) {
        extent_t& here = carried_[first_[a] + c];
        if (here > load.level[a].elements) load.level[a] = {1, here, here};
        here = 0;
      }
  }

  step_levels load{};
  extent_t crossed[max_link_levels] = {};  ///< by all receivers' elements, along each axis

 private:
  constexpr void carry(int from, int to, extent_t elements) {
    load.received += elements;
    int axes = 0;
    const bool connected = visit_links(net_, from, to, [&](int a) {
      int inner = 1;
      for (int b = net_.mesh.axis_count - 1; b > a; --b) inner *= net_.mesh.size[b];
      carried_[first_[a] + from / inner % net_.mesh.size[a]] += elements;
      crossed[a] += elements;
      ++axes;
    });
    if (!connected || (axes > 1 && !relays_)) load.code = cost_code::ranks_are_not_connected;
  }

  const interconnect& net_;
  bool relays_;
  int first_[max_axes] = {};
  growing_array<extent_t> carried_;  ///< to the receiver at hand, by axis and coordinate of the other end
};

constexpr mesh_counter counted_on_mesh(const step_part* part, int parts, const interconnect& net, bool relayed) {
  mesh_counter counter(net, relayed);
  const mesh_shape& m = part[0].step->source.mesh;
  const int positions = position_count(m);
  if (positions <= most_counted_positions) {
    for (int p = 0; p < positions; ++p) counter.add(part, parts, p);
    return counter;
  }
  unsigned taking_part = 0;
  for (int i = 0; i < parts; ++i) taking_part |= axes_of_step(*part[i].step);
  visit_corners(m, taking_part, [&](int p) { counter.add(part, parts, p); });
  return counter;
}

/// The loads of the `parts` steps, at least one, that run at the same time. Its code is `ranks_are_not_connected`, and
/// its amounts mean nothing, where a pair has no link. Domain: `status_of` the links, a full mesh, is ok; the positions
/// of all parts are the same.
constexpr step_levels levels_on_mesh(const step_part* part, int parts, const interconnect& net) {
  return detail::counted_on_mesh(part, parts, net, false).load;
}

/// Calls `visit(step_levels)` for each axis, the innermost first, over which the step is relayed; where a rank is none of
/// the mesh, once with the code.
template <class Visit>
constexpr void visit_relays(const move_step& step, const shape& s, const interconnect& net, const Visit& visit) {
  const step_part part{&step, &s};
  const detail::mesh_counter counted = detail::counted_on_mesh(&part, 1, net, true);
  if (counted.load.code != cost_code::ok) return visit(counted.load);
  for (int a = net.mesh.axis_count - 1; a >= 0; --a) {
    if (counted.crossed[a] == 0) continue;
    step_levels one;
    one.level[a] = counted.load.level[a];
    one.received = counted.crossed[a];
    visit(one);
  }
}

}}}  // namespace hyperparallel::v0_2::detail
