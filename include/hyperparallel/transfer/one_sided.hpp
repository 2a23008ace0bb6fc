// SPDX-License-Identifier: Apache-2.0
#pragma once
// One-sided communication: write rows into another rank's arena, then tell it.
//
// Law: whoever sees the signal sees the rows. A put of zero rows still signals, since the receiver counts senders, not
// bytes: an expert that gets nothing from a rank must hear so.
//
// Inside a task of the executor only `put_rows` is called: the task's signals, listed in the taskflow, are raised by
// the executor with release order after the kernel has returned, which makes the task as a whole a put-with-signal; the
// verifier sees exactly these signals. `put_with_signal` raises the event itself and is for code beside a plan
// (feeding, hand-written protocols, tests) with counters of its own: a signal that a plan does not list would break its
// totals.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/event_counters.hpp>
#include <hyperparallel/exec/parking.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Equally long rows in memory: row i begins `i * pitch` bytes after the first.
struct source_rows {
  const std::byte* first;
  std::int64_t rows;
  std::int64_t row_bytes;
  std::int64_t pitch;
};

/// Where they land: rank, tier, offset of the first row, bytes from row to row.
struct target_rows {
  int rank;
  int tier;
  std::int64_t offset;
  std::int64_t pitch;
};

/// Copies the rows; returns the bytes moved. Domain: pitches ≥ row_bytes, source and target do not overlap.
/// Throws arena_error before any byte is written when the rows do not lie inside the target's arena.
inline std::int64_t put_rows(const arena_set& arenas, const target_rows& to, const source_rows& from) {
  if (from.rows <= 0 || from.row_bytes <= 0) return 0;
  std::byte* target = arenas.address(to.rank, to.tier, to.offset, (from.rows - 1) * to.pitch + from.row_bytes);
  const std::int64_t bytes = from.rows * from.row_bytes;
  if (to.pitch == from.row_bytes && from.pitch == from.row_bytes) {
    std::memcpy(target, from.first, static_cast<std::size_t>(bytes));
    return bytes;
  }
  const std::byte* source = from.first;
  for (std::int64_t i = 0; i < from.rows; ++i, target += to.pitch, source += from.pitch)
    std::memcpy(target, source, static_cast<std::size_t>(from.row_bytes));
  return bytes;
}

/// Puts the rows, then signals `event`, then wakes `listener` if one is given. Returns the bytes moved.
/// Throws arena_error as put_rows does; the event is then not signalled.
inline std::int64_t put_with_signal(const arena_set& arenas, const target_rows& to, const source_rows& from,
                                    event_counters& events, int event, doorbell* listener = nullptr) {
  const std::int64_t bytes = put_rows(arenas, to, from);
  events.signal(event);
  if (listener != nullptr) listener->ring();
  return bytes;
}

}}  // namespace hyperparallel::v0_2
