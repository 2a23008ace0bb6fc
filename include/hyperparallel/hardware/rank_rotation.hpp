// SPDX-License-Identifier: Apache-2.0
#pragma once
// In which order a rank of an all-to-all serves its peers.
//
// Steps are numbered 1 .. devices-1 and then 0, the rank's own rows, which need no link and come last. Laws, for every
// kind: each step is a permutation of the ranks, so no receiver has two senders; each rank meets each rank in exactly
// one step (the table of peers is a Latin square); `rotation_source` is the inverse of `rotation_peer` in every step.
//
//   cyclic          peer = rank + step: neighbours by number; pairs and nodes are crossed by some rank in every step
//   nearest_first   the digits of rank and step, in the prime factors of `devices`, are added each by itself. For a
//                   power of two that is rank xor step.
//   farthest_first  the same with the steps from the last to the first
//
// Law: where groups are products of the smallest prime factors of `devices` (2, 16 … of a power of two), the level
// between rank and peer in a step of the last two kinds is the same for all ranks, and rises with the step (falls). All
// ranks then move in step, and the latency of far peers is behind (or before) near transfers: `choose_rotation` prices
// which. Source of hop classes: UBEP, arXiv 2607.06202; rotation: arXiv 2605.23764.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/topology.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

enum class rotation_kind : unsigned char { cyclic, nearest_first, farthest_first };
inline constexpr int rotation_kind_count = 3;

namespace detail {

/// rank ± shift digit by digit; digits are those of the prime factors of `devices`, smallest first. O(√devices) at
/// worst, O(1) for powers of two.
constexpr int digit_sum(int devices, int rank, int shift, bool minus) {
  if ((devices & (devices - 1)) == 0) return rank ^ shift;
  int sum = 0;
  for (int rest = devices, weight = 1, prime = 2; rest > 1;) {
    if (prime * prime > rest) prime = rest;
    if (rest % prime != 0) {
      ++prime;
      continue;
    }
    const int added = shift % prime;
    sum += (rank + (minus ? prime - added : added)) % prime * weight;
    rank /= prime;
    shift /= prime;
    rest /= prime;
    weight *= prime;
  }
  return sum;
}

constexpr int shift_of(rotation_kind kind, int devices, int step) {
  return kind == rotation_kind::farthest_first && step > 0 ? devices - step : step;
}

}  // namespace detail

/// The rank to which `rank` sends in `step`. Domain: 0 ≤ rank, step < devices.
constexpr int rotation_peer(rotation_kind kind, int devices, int rank, int step) {
  if (kind == rotation_kind::cyclic) return rank + step < devices ? rank + step : rank + step - devices;
  return detail::digit_sum(devices, rank, detail::shift_of(kind, devices, step), false);
}

/// The rank from which `rank` receives in `step`. Domain as above.
constexpr int rotation_source(rotation_kind kind, int devices, int rank, int step) {
  if (kind == rotation_kind::cyclic) return rank >= step ? rank - step : rank - step + devices;
  return detail::digit_sum(devices, rank, detail::shift_of(kind, devices, step), true);
}

/// The step in which `rank` sends to `peer`: rotation_peer(kind, devices, rank, step) == peer. Domain as above.
constexpr int rotation_step(rotation_kind kind, int devices, int rank, int peer) {
  if (kind == rotation_kind::cyclic) return peer >= rank ? peer - rank : peer - rank + devices;
  return detail::shift_of(kind, devices, detail::digit_sum(devices, peer, rank, true));
}

/// What one step carries: bytes for each peer, and the receiver's work on what came.
struct rotation_load {
  std::int64_t bytes = 0;
  std::int64_t work = 0;  ///< picoseconds
};

/// Time until the slowest rank has worked on everything. Ranks move in step: a step takes as long as its slowest
/// transfer, its rows arrive a latency later while the next step is under way, and are worked on in order; own rows
/// are there from the start and come last. Domain: `check(t)` is ok, devices ≥ 1, a load ≥ 0. O(devices² · levels).
constexpr time_cost rotation_time(const topology_value& t, rotation_kind kind, int devices, const rotation_load& load) {
  if (devices < 1) return {cost_code::count_is_not_positive, 0};
  if (load.bytes < 0 || load.work < 0) return {cost_code::amount_is_negative, 0};
  const time_cost work{cost_code::ok, load.work};
  time_cost sent, worked;
  for (int step = 1; step < devices; ++step) {
    bool used[max_link_levels] = {};
    for (int rank = 0; rank < devices; ++rank) {
      const int level = level_between(t, rank, rotation_peer(kind, devices, rank, step));
      if (level == not_connected) return {cost_code::ranks_are_not_connected, 0};
      used[level] = true;
    }
    time_cost transfer, latency;
    for (int l = 0; l < t.level_count; ++l) {
      if (!used[l]) continue;
      transfer = slower(transfer, occupied_time(t.level[l], 1, load.bytes, 1));
      latency = slower(latency, latencies(1, t.level[l].latency));
    }
    sent = then(sent, transfer);
    worked = then(slower(worked, then(sent, latency)), work);
  }
  return then(worked, work);
}

struct rotation_choice {
  rotation_kind kind = rotation_kind::cyclic;
  time_cost time{};
};

/// The kind with the least `rotation_time`; of equal ones farthest first, then nearest first, then cyclic. A link-bound
/// load wants far peers first, so that only a near latency is left at the end; a compute-bound one wants near peers
/// first, so that work begins early. Fails as `rotation_time`. O(devices² · levels).
constexpr rotation_choice choose_rotation(const topology_value& t, int devices, const rotation_load& load = {}) {
  constexpr rotation_kind kinds[rotation_kind_count] = {rotation_kind::farthest_first, rotation_kind::nearest_first,
                                                        rotation_kind::cyclic};
  rotation_choice best{kinds[0], rotation_time(t, kinds[0], devices, load)};
  for (int k = 1; k < rotation_kind_count; ++k)
    if (const time_cost time = rotation_time(t, kinds[k], devices, load);
        time.ok() && time.picoseconds < best.time.picoseconds)
      best = {kinds[k], time};
  return best;
}

}}  // namespace hyperparallel::v0_2
