// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of tiles: neighbours in reference order that differ in `item` and consecutive `part` alone. They share the
// ranges of their waits, signals and accesses, so an algorithm does what depends on these once for a run.
//
// Law: a run is recognised by equal ranges, and equal ranges mean the same waits, signals and accesses, whoever wrote
// them. The flow's `run` lists where runs begin, so that nobody has to look for them: `check_flow` and `verify` compare
// its tiles, everything else takes it for granted. It may cut a run in two; a flow without runs is a flow of runs of
// one tile.

#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel {

/// Whether `b` is the tile `further` places after `a`.
constexpr bool continues_run(const task& a, const task& b, int further = 1) {
  return b.part == a.part + further && a.wait_begin == b.wait_begin && a.signal_begin == b.signal_begin &&
         a.access_begin == b.access_begin && a.wait_end == b.wait_end && a.signal_end == b.signal_end &&
         a.access_end == b.access_end && a.duration == b.duration && a.kind == b.kind && a.rank == b.rank;
}

/// One past the last tile of the run that begins at `first`. O(tiles).
template <class Flow>
constexpr int end_of_run(const Flow& f, int first) {
  int past = first + 1;
  while (past < f.size.tasks && f.task[past].part > 0 && continues_run(f.task[first], f.task[past], past - first))
    ++past;
  return past;
}

}  // namespace hyperparallel
