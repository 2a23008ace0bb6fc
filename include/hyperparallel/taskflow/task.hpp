// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vocabulary of a taskflow: resources, events, waits, accesses, tasks.
//
// A task runs once on one queue of its resource class on its rank, after every one of its waits holds;
// when it ends it adds one to each event that it signals. An event is a monotone counter: waits do not
// consume it. Law: a threshold below the total of an event's signals is legal only if all its signallers
// sit in one queue, for then the counter is that queue's progress word.
//
// Index order of the tasks is the plan's *reference order*: the order in which one device would run them.
// Every conflict on a slot is resolved as the reference order resolves it.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// What executes a task: matrix core, vector core, network link, copy engine towards tier 0 or away from it, host
/// thread.
enum class resource : unsigned char { aic, aiv, link, copy_in, copy_out, host };
inline constexpr int resource_count = 6;

/// Holds when `event`'s counter has reached `threshold`. Builders may write `all_signals`: `seal` puts the total in its
/// place.
struct wait {
  int event;
  int threshold;
};
inline constexpr int all_signals = 0;

enum class access_mode : unsigned char { read, write };

/// An end that stands for the slot's own end, whatever its units.
inline constexpr int whole_slot = 1 << 30;

/// A task's use of a half-open interval of a slot, in the slot's own units (bytes, rows, tiles): of [begin, end) moved
/// up by `step` for each part before the task's own. Tasks of one run share their accesses, see `interval_of`.
struct access {
  int slot = 0;
  int begin = 0;
  int end = 0;
  access_mode mode{};
  int step = 0;
};

struct event {
  int rank;     ///< the rank in whose memory the counter lives; a signal from another rank is one-sided
  int signals;  ///< total of signals in one run; counted by the builder
};

/// A contiguous range of bytes in one memory tier of one rank. Law: two slots of one (rank, tier) never overlap.
struct slot {
  int rank;
  int tier;             ///< index into the device's tier table
  std::int64_t offset;  ///< bytes from the start of the tier's arena
  std::int64_t bytes;
};

/// The half-open ranges [x_begin, x_end) index the flow's arrays of waits, signals and accesses. Tasks may share
/// ranges: the tiles of a run share all and differ in `item` and `part` alone, and a copy of a pattern has the ranges
/// of the first one with events and slots of its own, counted from `first_event` and `first_slot`. So the event of wait
/// `w` of task `k` is `wait[w].event + k.first_event`; likewise its signals, and the slots of its accesses.
struct task {
  resource kind{};
  int rank = 0;
  std::int64_t duration = 0;  ///< picoseconds on one queue, without synchronisation latency
  int operation = 0;          ///< which kernel; the meaning belongs to the lowering that wrote the task
  int item = 0;               ///< which tile of that operation; likewise
  int wait_begin = 0, wait_end = 0;
  int signal_begin = 0, signal_end = 0;
  int access_begin = 0, access_end = 0;
  int part = 0;         ///< which tile of its run; moves the intervals of accesses that have a step
  int first_event = 0;  ///< added to the event of each of its waits and signals
  int first_slot = 0;   ///< added to the slot of each of its accesses
  int instance = 0;     ///< macro task of which it is the tail, or, negative, the head, see macro_task.hpp; 0: of none
};

struct slot_interval {
  int begin, end;
  friend constexpr bool operator==(const slot_interval&, const slot_interval&) = default;
};

/// The units of the slot that task `t` uses by access `a`.
constexpr slot_interval interval_of(const task& t, const access& a) {
  const int moved = t.part * a.step;
  return {a.begin + moved, a.end + moved};
}

/// How many queues of each class every rank offers. Queue numbers: rank-major, then resource, then unit.
struct machine_shape {
  int ranks = 1;
  int queues[resource_count] = {};

  friend constexpr bool operator==(const machine_shape&, const machine_shape&) = default;
};

namespace detail {

constexpr int queues_per_rank(const machine_shape& m) {
  int total = 0;
  for (int r = 0; r < resource_count; ++r) total += m.queues[r];
  return total;
}

}  // namespace detail

constexpr int queue_count(const machine_shape& m) { return m.ranks * detail::queues_per_rank(m); }

namespace detail {

/// Number of the first queue of class `kind` on `rank`.
constexpr int first_queue(const machine_shape& m, int rank, resource kind) {
  int base = rank * queues_per_rank(m);
  for (int r = 0; r < static_cast<int>(kind); ++r) base += m.queues[r];
  return base;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
