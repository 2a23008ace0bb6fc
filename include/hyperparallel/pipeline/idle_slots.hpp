// SPDX-License-Identifier: Apache-2.0
#pragma once
// Idle slots of torch's tables: its bookkeeping in slots of one unit, in which a forward or a full backward waits for the
// stage before it and a separate input gradient waits for nothing.
//
// References: torch.distributed.pipelining, PipelineScheduleMulti._add_bubbles_to_actions.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Puts an idle slot before each forward or full backward whose producer ends in no earlier slot. Precondition: the
/// schedule is safe. Complexity: linear in the slots.
constexpr void add_idle_slots(pipeline_schedule& s) {
  const int m = s.micro_batches, n = s.stages * m;
  growing_array<int> forward_slot(n, -1), backward_slot(n, -1);  // code → the slot it stands in; −1: not yet
  growing_array<int> at, slot_of;                                // rank → its next entry; entry → its slot
  slot_of.resize(s.action.size, -1);
  for (int r = 0; r < s.ranks; ++r) at.push(s.first[r]);
  const auto waits = [&](int x, int slot) {
    const auto later = [&](int end) { return end < 0 || end >= slot; };
    const int y = x % n;
    if (x < n) return y >= m && later(forward_slot[y - m]);
    if (x < 3 * n) return false;
    return y + m < n ? later(backward_slot[y + m]) : later(forward_slot[y]);
  };
  int slot = 0;
  for (bool left = true; left; ++slot) {
    left = false;
    for (int r = 0; r < s.ranks; ++r) {
      if (at[r] == s.first[r + 1]) continue;
      left = true;
      const int x = s.action[at[r]];
      if (x != idle_slot && waits(x, slot)) continue;
      slot_of[at[r]++] = slot;
      if (x != idle_slot && x < n) forward_slot[x] = slot;
      if (x >= 3 * n) backward_slot[x - 3 * n] = slot;
    }
  }
  growing_array<int> action, first;
  for (int r = 0; r < s.ranks; ++r) {
    first.push(action.size);
    for (int i = s.first[r], filled = 0; i < s.first[r + 1]; ++i, ++filled) {
      for (; filled < slot_of[i]; ++filled) action.push(idle_slot);
      action.push(s.action[i]);
    }
  }
  first.push(action.size);
  s.action = static_cast<growing_array<int>&&>(action);
  s.first = static_cast<growing_array<int>&&>(first);
}

}}  // namespace hyperparallel::v0_2
