// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of tiles: neighbours in reference order that differ in `item` and consecutive `part` alone. They share the
// waits, signals and accesses, so an algorithm does what depends on these once for a run.
//
// Law: a run is recognised by equal ranges, first event and first slot, which mean the same waits, signals and
// accesses, whoever wrote them. The flow's `run` lists where runs begin, so that nobody has to look for them:
// `check_flow` and `verify` compare its tiles, everything else takes it for granted. It may cut a run in two; a flow
// without runs is a flow of runs of one tile.

#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One past the last tile of the run that begins at `first`, or `limit` if that is less. O(tiles). Copies of tasks and
/// one statement, for a constant evaluation pays for each member that it reads through a reference or in an array.
template <class Flow>
constexpr int end_of_run(const Flow& f, int first, int limit) {
  const task a = f.task[first];
  int past = first + 1;
  for (; past < limit; past = past + 1) {
    const task b = f.task[past];
    if (b.part != a.part + past - first || b.first_event != a.first_event || b.first_slot != a.first_slot ||
        b.wait_begin != a.wait_begin || b.wait_end != a.wait_end || b.signal_begin != a.signal_begin ||
        b.signal_end != a.signal_end || b.access_begin != a.access_begin || b.access_end != a.access_end ||
        b.duration != a.duration || b.kind != a.kind || b.rank != a.rank || b.instance != a.instance)
      break;
  }
  return past;
}

template <class Flow>
constexpr int end_of_run(const Flow& f, int first) {
  return end_of_run(f, first, f.size.tasks);
}

}}  // namespace hyperparallel::v0_2
