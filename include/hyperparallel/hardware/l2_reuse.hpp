// SPDX-License-Identifier: Apache-2.0
#pragma once
// What part of an operator's traffic the L2 cache carries, from how far apart in a sequence of touches the same bytes
// are used.
//
// A *touch* streams over an item (a tile of a tensor) from its first byte to its last. Its *reuse distance* is the
// distinct bytes touched since the item was touched before, the item's own included. Law (LRU, Mattson et al. 1970): a
// cache of C bytes still holds the item, all of it, iff the distance is at most C; if not, none of it. Time is the
// bytes that miss over the memory's bandwidth (`vector_time`): L2 itself is three times as fast and decides nothing.
//
// What LRU does not explain stays a parameter: `streaming_hits`, the share of bytes that hit although they are touched
// for the first time or come back too late, and `usable`, the share of the capacity that reuse may count on.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/device.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

struct l2_cache {
  std::int64_t bytes = 0;               ///< capacity
  efficiency usable = full_efficiency;  ///< share of the capacity that reuse may count on
  std::int64_t streaming_hits = 0;  ///< parts per million of streamed bytes that hit without reuse, in [0, 1 000 000]
  friend constexpr bool operator==(const l2_cache&, const l2_cache&) = default;
};

/// The whole L2 of a device; nothing hits without reuse.
constexpr l2_cache l2_of(const device_value& d) { return {d.l2_bytes, full_efficiency, 0}; }

/// Distance of an item that was not touched before.
inline constexpr std::int64_t first_touch = INT64_MAX;

/// Whether a touch at this distance finds its item. O(1).
constexpr bool hits(const l2_cache& c, std::int64_t distance) {
  return distance != first_touch && distance <= detail::millionths(c.bytes, c.usable.parts_per_million);
}

/// Bytes of a touch of `bytes` that come from memory or go there, rounded up. Domain: bytes ≥ 0. O(1).
constexpr std::int64_t missed_bytes(const l2_cache& c, std::int64_t bytes, std::int64_t distance) {
  return hits(c, distance) ? 0 : bytes - detail::millionths(bytes, c.streaming_hits);
}

/// Sums over a sequence of touches, in bytes.
struct l2_traffic {
  std::int64_t touched = 0;
  std::int64_t missed = 0;
  /// Parts per million of the touched bytes that hit; reads and writes count alike. Nothing touched: 0.
  constexpr std::int64_t hit_share() const {
    if (touched == 0) return 0;
    const detail::wide_unsigned hit = static_cast<detail::wide_unsigned>(touched - missed) * 1'000'000;
    return static_cast<std::int64_t>(hit / static_cast<detail::wide_unsigned>(touched));
  }
  friend constexpr bool operator==(const l2_traffic&, const l2_traffic&) = default;
};

/// Where a sequence of touches stands: the bytes of each item at the position of its latest touch, and sums over
/// positions. `Sums` and `Positions` are arrays, or pointers to zeroed memory of the caller.
template <class Sums, class Positions>
struct reuse_tracker {
  int touches = 0;         ///< how many there may be
  Sums sum{};              ///< touches + 1 elements: sums over runs of positions, in Fenwick's order
  Positions last{};        ///< item -> its latest position, counted from 1; 0: not touched
  int position = 0;        ///< touches so far
  std::int64_t total = 0;  ///< distinct bytes touched so far
};

namespace detail {

template <class Tracker>
constexpr void add_at(Tracker& t, int position, std::int64_t bytes) {
  for (; position <= t.touches; position += position & -position) t.sum[position] += bytes;
}

template <class Tracker>
constexpr std::int64_t sum_through(const Tracker& t, int position) {
  std::int64_t sum = 0;
  for (; position > 0; position -= position & -position) sum += t.sum[position];
  return sum;
}

}  // namespace detail

/// The touch of `item`, which has `bytes` each time; returns its reuse distance, or `first_touch`. Domain: fewer than
/// `t.touches` touches before. O(log touches). Source: Bennett and Kruskal 1975, with a Fenwick tree.
template <class Sums, class Positions>
constexpr std::int64_t touch(reuse_tracker<Sums, Positions>& t, int item, std::int64_t bytes) {
  std::int64_t distance = first_touch;
  const int before = t.last[item];
  if (before > 0) {
    distance = t.total - detail::sum_through(t, before - 1);
    detail::add_at(t, before, -bytes);
    t.total -= bytes;
  }
  t.position += 1;
  t.last[item] = t.position;
  t.total += bytes;
  detail::add_at(t, t.position, bytes);
  return distance;
}

}}  // namespace hyperparallel::v0_2
