// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the busiest devices of one step take over each link level, without running through all devices.
//
// Of each level: the messages and elements of the receiver that takes longest there, and the elements of the sender
// that sends most. A step whose digits nest with the groups of links is counted by its pattern (pull_pattern.hpp), through
// one receiver and one sender of each class. Beyond `most_counted_positions` devices so is one whose digits do not nest
// with the outer groups, through one device of each block (pattern_groups.hpp). Any other step is counted by running
// through its receivers: through all of them on up to `most_counted_positions` devices, beyond that through those that
// have coordinate 0 or 1 on every axis that takes part, where senders are taken to be no busier than receivers.
// A full mesh has a port for each link, so its load is that of the busiest link along each axis (mesh_levels.hpp).
// Laws: wherever nothing is sampled the time is `price_step`'s, and so is the sum of what is received; where groups do not
// nest and a reduction's shares are uneven, those collected and sent count as the largest, so that time may be greater.
// Units: elements, picoseconds.

#include <hyperparallel/redistribution/pattern_groups.hpp>
#include <hyperparallel/redistribution/pattern_maker.hpp>
#include <hyperparallel/redistribution/step_price.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct level_load {
  extent_t messages = 0, elements = 0;  ///< of one receiver; of a full mesh 1, and those on one link
  extent_t sent = 0;                    ///< elements of one sender
  friend constexpr bool operator==(const level_load&, const level_load&) = default;
};

/// Of one step, or of several that run at the same time.
struct step_levels {
  level_load level[max_link_levels] = {};
  extent_t received = 0;  ///< elements, by all devices together
  cost_code code = cost_code::ok;
  friend constexpr bool operator==(const step_levels&, const step_levels&) = default;
};

/// All levels at once, on each one its receivers and its senders. A receiver's messages are taken to be of one size, what a
/// sender sends beyond it to reach the whole bandwidth.
constexpr time_cost time_of(const level_load& load, extent_t element_bytes, const link_level& link) {
  const time_cost receiving = then(latencies(load.messages, link.latency),
                                   detail::occupied_time(link, load.messages, load.elements, element_bytes));
  if (load.sent <= load.elements) return receiving;
  return slower(receiving, work_time(load.sent, element_bytes, 1, link.bandwidth));
}
/// On a full mesh the greatest latency, and then all links at once.
constexpr time_cost time_of(const step_levels& load, extent_t element_bytes, const interconnect& net) {
  time_cost time{load.code, 0}, latency;
  const bool together = net.kind == interconnect_kind::full_mesh;
  for (int l = 0; l < link_count(net); ++l) {
    if (load.level[l].messages == 0 && load.level[l].sent == 0) continue;
    link_level link = link_at(net, l);
    if (together) {
      latency = slower(latency, latencies(1, link.latency));
      link.latency = 0;
    }
    time = slower(time, time_of(load.level[l], element_bytes, link));
  }
  return together ? then(latency, time) : time;
}

namespace detail {

/// Up to so many devices a step without a pattern is counted receiver by receiver.
inline constexpr int most_counted_positions = 64;

/// The receiver of a spread that takes longest on a level where chunks are uneven: one of the first devices, all of
/// whose peers have full chunks, or one of those among whose peers the planes run out. `within` chunks are dealt to
/// devices that agree outside the level, `inner` to those that agree on it, too; of each there are `groups`.
struct uneven_level {
  extent_t within = 1, inner = 1;
  extent_t groups = 1, inner_groups = 1;
  bool differs = false;
};

constexpr level_load load_of_uneven(const pull_pattern& p, const uneven_level& u, bool first) {
  const extent_t full = p.chunk * u.within, begin = first ? 0 : p.planes / full * full;
  const extent_t end = begin + full, own = end - p.chunk * u.inner;
  const auto planes_until = [&](extent_t n) { return n < p.planes ? n : p.planes; };
  const auto chunks_until = [&](extent_t n) { return ceil_divide(planes_until(n), p.chunk); };
  level_load load;
  load.messages = (chunks_until(end) - chunks_until(begin)) * u.groups;
  load.elements = (planes_until(end) - planes_until(begin)) * u.groups;
  if (!u.differs) {
    load.messages -= (chunks_until(end) - chunks_until(own)) * u.inner_groups;
    load.elements -= (planes_until(end) - planes_until(own)) * u.inner_groups;
  }
  load.elements *= p.plane;
  return load;
}

/// The same for every level of an uneven spread below `end`.
constexpr void take_uneven(const pull_pattern& p, const pattern_view& view, const interconnect& net, extent_t bytes,
                           int end, step_levels& load) {
  uneven_level u;
  extent_t every = 1;
  for (int i = 0; i < p.digits.count;) {
    const int level = p.level[i];
    if (level >= end) return;
    u.inner = u.within;
    u.inner_groups = u.groups;
    extent_t here = 1;
    for (; i < p.digits.count && p.level[i] == level; ++i) {
      if (!view.any[i]) continue;
      here *= p.digits.size(i);
      (p.dealt[i] ? u.within : u.groups) *= p.digits.size(i);
    }
    every *= here;
    level_load& known = load.level[level];
    u.differs = known.messages == every;
    const link_level& link = net.topology.level[level];
    const extent_t sent = known.sent;
    const level_load one = load_of_uneven(p, u, true), other = load_of_uneven(p, u, false);
    known = slower(time_of(one, bytes, link), time_of(other, bytes, link)) == time_of(one, bytes, link) ? one : other;
    known.sent = sent;
  }
}

/// False where the pattern does not describe it.
constexpr bool load_of_pattern(const pull_pattern& p, const interconnect& net, extent_t bytes, step_levels& load) {
  extent_t active = 0;
  pattern_view receivers = seen_by_receivers(p, active), senders = seen_by_senders(p, receivers.known);
  extent_t own = active, unused = 1;
  const level_counts taken = count_messages(p, receivers, own), given = count_messages(p, senders, unused);
  const bool even = p.planes == p.chunk * p.shares;
  const extent_t share = (p.chunk < p.planes ? p.chunk : p.planes) * p.plane;
  for (int l = 0; l < net.topology.level_count; ++l) {
    if (!even && !p.spreads && given.of[l] > taken.of[l]) return false;
    load.level[l] = {taken.of[l], taken.of[l] * share, even || p.spreads ? given.of[l] * share : 0};
  }
  if (taken.of[not_connected] > 0) load.code = cost_code::ranks_are_not_connected;
  if (!even && p.spreads) take_uneven(p, receivers, net, bytes, net.topology.level_count, load);
  load.received = received_by_all(p, receivers, active, own);
  return true;
}

/// The same where groups of the levels from `nested` on do not nest with the digits.
constexpr step_levels load_of_groups(const pull_pattern& p, const interconnect& net, extent_t bytes, int nested) {
  step_levels load;
  extent_t active = 0, unused = 1;
  const extent_t positions = p.digits.cut[p.digits.count], share = smaller(p.chunk, p.planes) * p.plane;
  const bool splits = p.spreads && p.planes != p.chunk * p.shares;
  const pattern_view receivers = seen_by_receivers(p, active);
  pattern_view taking = receivers, giving = seen_by_senders(p, receivers.known);
  extent_t own = active;
  const level_counts taken = count_messages(p, taking, own);
  for (int l = 0; l < nested; ++l) load.level[l] = {taken.of[l], taken.of[l] * share, 0};
  if (splits) take_uneven(p, receivers, net, bytes, nested, load);
  visit_groups({p, receivers, splits}, net.topology, nested, positions, [&](int l, const group_count& n) {
    const extent_t short_one = p.planes % p.chunk;
    const extent_t messages = (n.full + (splits && short_one > 0 ? n.rest : 0)) * p.boxes;
    if (messages == 0) return;
    if (l == not_connected) {
      load.code = cost_code::ranks_are_not_connected;
      return;
    }
    const level_load now{messages,
                         (splits ? n.full * p.chunk + n.rest * short_one : n.full * p.chunk) * p.plane * p.boxes, 0};
    const link_level& link = net.topology.level[l];
    if (time_of(now, bytes, link).picoseconds > time_of(load.level[l], bytes, link).picoseconds) load.level[l] = now;
  });
  visit_groups({p, giving, false}, net.topology, nested, positions, [&](int l, const group_count& n) {
    if (l != not_connected) load.level[l].sent = larger(load.level[l].sent, n.full * p.boxes * share);
  });
  const level_counts given = count_messages(p, giving, unused);
  for (int l = 0; l < nested; ++l) load.level[l].sent = given.of[l] * share;
  load.received = received_by_all(p, receivers, active, own);
  return load;
}

/// The axes along which devices of a step differ.
constexpr unsigned axes_of_step(const move_step& step) {
  unsigned axes =
      changed_axes(step.source, step.target) | step.reduced | step.shared | step.filled | step.replicas.split;
  for (int i = 0; i < step.replicas.link_count; ++i)
    axes |= 1u << step.replicas.link[i].axis | 1u << step.replicas.link[i].from;
  for (int a = 0; a < step.source.mesh.axis_count; ++a)
    if (step.replicas.axis[a] != a) axes |= 1u << a | 1u << step.replicas.axis[a];
  return axes;
}

/// Calls `visit(position)` for those with coordinate 0 or 1 on each of `axes`, 0 on the others.
template <class Visit>
constexpr void visit_corners(const mesh_shape& m, unsigned of_axes, const Visit& visit) {
  const axis_list axes = axes_of(m, of_axes);
  for (int corner = 0; corner < 1 << axes.count; ++corner) {
    coordinate c;
    bool is_there = true;
    for (int i = 0; i < axes.count; ++i) {
      c.at[axes.axis[i]] = corner >> i & 1;
      is_there = is_there && c.at[axes.axis[i]] < m.size[axes.axis[i]];
    }
    if (is_there) visit(position_of(m, c));
  }
}

/// Counts what position `at` takes, and keeps what is slowest on each level.
struct counted_load {
  const interconnect& net;
  extent_t bytes;
  step_levels& load;
  growing_array<extent_t> sent{};  ///< of each position on each level

  constexpr void add(const move_step& step, const shape& s, int at) {
    step_levels own;
    const step_receiver r = receiver_of(step, s, at);
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(step, r, k);
      const extent_t n = volume(t.part);
      if (n == 0 || is_own(r, t)) continue;
      load.received += n;
      const int level = level_between(net.topology, rank_on(net, {}, t.sender), rank_on(net, {}, at));
      if (level == not_connected) load.code = cost_code::ranks_are_not_connected;
      if (level == not_connected || level == no_link) continue;
      ++own.level[level].messages;
      own.level[level].elements += n;
      if (!sent.empty()) sent[t.sender * max_link_levels + level] += n;
    }
    for (int l = 0; l < net.topology.level_count; ++l) {
      const time_cost known = time_of(load.level[l], bytes, net.topology.level[l]);
      const time_cost now = time_of(own.level[l], bytes, net.topology.level[l]);
      if (now.picoseconds > known.picoseconds) load.level[l] = own.level[l];
    }
  }
  constexpr void finish(int positions) {
    for (int p = 0; p < positions; ++p)
      for (int l = 0; l < net.topology.level_count; ++l)
        load.level[l].sent = larger(load.level[l].sent, sent[p * max_link_levels + l]);
  }
};

/// Counts a step receiver by receiver. O(receivers · transfers of one).
constexpr step_levels count_step(const move_step& step, const shape& s, const interconnect& net,
                                 extent_t element_bytes) {
  step_levels load;
  const mesh_shape& m = step.source.mesh;
  const int positions = position_count(m);
  detail::counted_load counted{net, element_bytes, load};
  if (positions <= most_counted_positions) {
    counted.sent.resize(positions * max_link_levels, 0);
    for (int p = 0; p < positions; ++p) counted.add(step, s, p);
    counted.finish(positions);
    return load;
  }
  detail::visit_corners(m, detail::axes_of_step(step), [&](int p) { counted.add(step, s, p); });
  return load;
}

/// The load of the pattern in which groups of as many levels as possible nest with the digits; false: none describes it.
constexpr bool levels_of_groups(const detail::step_digits& step, const interconnect& net, extent_t element_bytes,
                                step_levels& load) {
  if (net.kind != interconnect_kind::topology || net.ranks.count > 0) return false;
  for (int nested = net.topology.level_count - 1; nested >= 0; --nested) {
    detail::pull_pattern p;
    if (!detail::pattern_maker{step, p, nested}.make(net.topology)) continue;
    load = detail::load_of_groups(p, net, element_bytes, nested);
    return true;
  }
  return false;
}

/// Whether the pattern describes it: links in levels by rank, no parts dealt one by one, and, up to
/// `most_counted_positions` devices, digits that nest with the links.
constexpr bool levels_of_pattern(const detail::step_digits& step, const interconnect& net, extent_t element_bytes,
                                 step_levels& load) {
  if (net.kind != interconnect_kind::topology || net.ranks.count > 0) return false;
  detail::pull_pattern p;
  if (detail::pattern_maker{step, p}.make(net.topology)) return detail::load_of_pattern(p, net, element_bytes, load);
  return step.positions > most_counted_positions && levels_of_groups(step, net, element_bytes, load);
}

}  // namespace detail

/// The loads of a step on one mesh. Domain: `net` is a topology that `check` accepts.
constexpr step_levels levels_of_step(const move_step& step, const shape& s, const interconnect& net,
                                     extent_t element_bytes) {
  step_levels load;
  if (element_count(s).value == 0) return load;
  detail::step_digits digits;
  if (detail::digits_of_step(step, s, digits) && detail::levels_of_pattern(digits, net, element_bytes, load))
    return load;
  return detail::count_step(step, s, net, element_bytes);
}

}}  // namespace hyperparallel::v0_2
