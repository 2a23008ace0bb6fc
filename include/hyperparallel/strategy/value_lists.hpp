// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values of each step of a program as flat lists, and the storage and tensor of each value: what analyses that walk
// a program several times read instead of steps and values themselves, which are large.
//
// Laws: a step's list holds what it reads, then what it writes, in the order of `visit_values` (lifetimes.hpp). The
// lists tell of the program that they were made from; they do not follow its changes. O(steps · values of a step).

#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct value_lists {
  growing_array<int> value;    ///< of all steps, one after the other
  growing_array<int> begin;    ///< of each step, in `value`; one entry more at the end
  growing_array<int> written;  ///< of each step: where what it writes begins
  growing_array<int> storage;  ///< of each value
  growing_array<int> tensor;   ///< of each value

  constexpr explicit value_lists(const sharded_program& p) {
    begin.reserve(p.step.size + 1);
    written.reserve(p.step.size);
    value.reserve(8 * p.step.size);
    for (int i = 0; i < p.step.size; ++i) {
      begin.push(value.size);
      const program_step s = p.step.item[i];
      if (s.is_move) {
        const program_move& m = p.move.item[s.index];
        value.push(m.detaches ? m.target : m.source);
        written.push(value.size);
        value.push(m.detaches ? m.source : m.target);
        continue;
      }
      const program_compute& c = p.compute.item[s.index];
      const int reads = p.graph.op.item[c.op].operand_count, writes = p.graph.op.item[c.op].result_count;
      for (int k = 0; k < reads; ++k) value.push(c.operand[k]);
      written.push(value.size);
      for (int k = 0; k < writes; ++k) value.push(c.result[k]);
    }
    begin.push(value.size);
    storage.resize(p.value.size, -1);
    tensor.resize(p.value.size, -1);
    for (int v = 0; v < p.value.size; ++v) {
      const program_value& one = p.value.item[v];
      storage.item[v] = one.storage;
      tensor.item[v] = one.tensor;
    }
  }
};

}}  // namespace hyperparallel::v0_2
