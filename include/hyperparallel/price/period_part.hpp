// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some phases of a folded period as a problem of their own.

#include <hyperparallel/price/folded_period.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The operators of some phases alone, storages by the same numbers. What other phases use, too, stays where it is at
/// the part's ends. O(period).
constexpr offload_program part_of(const sharded_program& p, const storage_uses& uses, const folded_period& period,
                                  unsigned phases) {
  const offload_program& whole = period.problem;
  offload_program part;
  part.tier = whole.tier;
  part.link = whole.link;
  part.operand = whole.operand;
  growing_array<int> place;  // of each operator, or -1
  for (int q = 0; q < whole.op.size; ++q) {
    const bool inside = is_in(p.step.item[uses.blocks[period.op[q].block].begin].phase, phases);
    place.push(inside ? part.op.push(whole.op[q]) : -1);
  }
  for (const offload_storage& one : whole.storage) {
    offload_storage s = one;
    s.first_access = part.access.size;
    for (int a = 0; a < one.access_count; ++a) {
      const storage_access& access = whole.access[one.first_access + a];
      if (place[access.op] >= 0) part.access.push({place[access.op], access.reads, access.writes});
    }
    s.access_count = part.access.size - s.first_access;
    if (!s.persistent && s.access_count > 0 && s.access_count < one.access_count) {
      s.persistent = true;
      s.control = offload_control::keep;
    }
    // What stays and is not used takes room all the same.
    if (s.persistent && s.access_count == 0 && s.control != offload_control::offload) part.tier[0].capacity -= s.bytes;
    if (s.access_count < one.access_count) {
      s.recompute = -1;
      s.first_operand = s.operand_count = 0;
    }
    part.storage.push(s);
  }
  return part;
}

}}  // namespace hyperparallel::v0_2
