// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many vector cores (AIV) move data over the fabric and how many compute.
//
// A rate that cores share grows with their number until it saturates. Law: n cores reach bandwidth · min(n, cores) /
// cores, so the time of a transfer falls with n up to the saturation point and not beyond. With one side's time falling
// in n and the other's rising, the larger of both is least where they cross; the split is found by bisection and equals
// that of a search over all n. Source of the saturation law: UBEP, arXiv 2607.06202 (24 of 48 AIVs reach what 48 do).

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/device.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// The number of vector cores that reach the full rate of the fabric, and of the memory of tier 0.
struct vector_saturation {
  int fabric = 1;
  int memory = 1;
  friend constexpr bool operator==(const vector_saturation&, const vector_saturation&) = default;
};

/// Work that vector cores do at the same time.
struct vector_load {
  std::int64_t sent = 0;        ///< bytes that leave over the fabric
  std::int64_t moved = 0;       ///< bytes that vector operators read and write in memory
  std::int64_t operations = 0;  ///< of these operators
};

/// Time of `bytes` over a fabric of `bandwidth` bytes per second while `cores` AIVs send. Domain: cores ≥ 1,
/// saturation ≥ 1. O(1).
constexpr time_cost fabric_time(std::int64_t bandwidth, const vector_saturation& at, std::int64_t bytes, int cores) {
  if (cores < 1 || at.fabric < 1) return {cost_code::count_is_not_positive, 0};
  return work_time(bytes, at.fabric, cores < at.fabric ? cores : at.fabric, bandwidth);
}

/// Time of all vector operators of `load` on `cores` AIVs: the slower of memory and arithmetic. Domain: 1 ≤ cores ≤
/// aiv, saturation ≥ 1. O(1).
constexpr time_cost vector_work_time(const device_value& d, const vector_saturation& at, const vector_load& load,
                                     int cores) {
  if (cores < 1 || at.memory < 1) return {cost_code::count_is_not_positive, 0};
  if (cores > d.aiv) return {cost_code::count_exceeds_the_device, 0};
  const time_cost memory =
      work_time(load.moved, at.memory, cores < at.memory ? cores : at.memory, d.tier[0].bandwidth, d.tier[0].reached);
  if (load.operations == 0) return memory;
  return slower(memory, work_time(load.operations, d.aiv, cores, d.vector_flops));
}

/// `time.code` is that of the first price that failed; the cores then mean nothing.
struct vector_split {
  int communication = 0;
  int vector = 0;
  time_cost time{};  ///< the larger of both sides
  friend constexpr bool operator==(const vector_split&, const vector_split&) = default;
};

/// The larger of both sides' times with `communication` of the AIVs on the fabric; a side without work needs no core.
/// O(1).
constexpr time_cost split_time(const device_value& d, std::int64_t bandwidth, const vector_saturation& at,
                               const vector_load& load, int communication) {
  const bool computes = load.moved != 0 || load.operations != 0;
  const time_cost sending = load.sent == 0 ? time_cost{} : fabric_time(bandwidth, at, load.sent, communication);
  const time_cost working = computes ? vector_work_time(d, at, load, d.aiv - communication) : time_cost{};
  return slower(sending, working);
}

/// The split with the least time; of equal ones the one with the fewest communicating cores. Domain: amounts ≥ 0,
/// saturation ≥ 1, a device with a core for each side that has work. O(log aiv).
constexpr vector_split choose_vector_split(const device_value& d, std::int64_t bandwidth, const vector_saturation& at,
                                           const vector_load& load) {
  const bool sends = load.sent != 0, computes = load.moved != 0 || load.operations != 0;
  const int least = sends ? 1 : 0, most = d.aiv - (computes ? 1 : 0);
  if (most < least) return {0, 0, {cost_code::count_exceeds_the_device, 0}};
  // At the ends every price is asked once, so a failure shows there.
  if (const time_cost t = split_time(d, bandwidth, at, load, least); !t.ok()) return {0, 0, t};
  if (const time_cost t = split_time(d, bandwidth, at, load, most); !t.ok()) return {0, 0, t};
  const auto sending = [&](int n) { return sends ? fabric_time(bandwidth, at, load.sent, n).picoseconds : 0; };
  const auto working = [&](int n) { return computes ? vector_work_time(d, at, load, d.aiv - n).picoseconds : 0; };
  int below = least, above = most;  // the first n whose sending takes no longer than the work of the others
  while (below < above) {
    const int n = below + (above - below) / 2;
    if (sending(n) <= working(n))
      above = n;
    else
      below = n + 1;
  }
  std::int64_t best = split_time(d, bandwidth, at, load, above).picoseconds;
  if (above > least) {
    const std::int64_t before = split_time(d, bandwidth, at, load, above - 1).picoseconds;
    best = before < best ? before : best;
  }
  below = least;  // the fewest that send within this time; the work of the others then takes no longer either
  while (below < above) {
    const int n = below + (above - below) / 2;
    if (sending(n) <= best)
      above = n;
    else
      below = n + 1;
  }
  return {above, d.aiv - above, {cost_code::ok, best}};
}

}}  // namespace hyperparallel::v0_2
