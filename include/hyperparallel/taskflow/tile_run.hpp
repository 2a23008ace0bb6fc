// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of tiles: neighbours in reference order that differ in `item` and consecutive `part` alone. They share the
// ranges of their waits, signals and accesses, so an algorithm does what depends on these once for a run.
//
// Law: a run is recognised by equal ranges, and equal ranges mean the same waits, signals and accesses, whoever wrote
// them; `part` only saves looking. A flow without runs is a flow of runs of one tile.

#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel {

/// Whether `next` is the tile after `tile`.
constexpr bool continues_run(const task& tile, const task& next) {
  const task a = tile, b = next;
  return b.part == a.part + 1 && a.wait_begin == b.wait_begin && a.signal_begin == b.signal_begin &&
         a.access_begin == b.access_begin && a.wait_end == b.wait_end && a.signal_end == b.signal_end &&
         a.access_end == b.access_end && a.duration == b.duration && a.kind == b.kind && a.rank == b.rank;
}

/// One past the last tile of the run that begins at `first`. O(tiles).
template <class Flow>
constexpr int end_of_run(const Flow& f, int first) {
  int past = first + 1;
  while (past < f.size.tasks && f.task[past].part > 0 && continues_run(f.task[past - 1], f.task[past])) ++past;
  return past;
}

}  // namespace hyperparallel
