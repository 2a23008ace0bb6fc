// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values by which gradients may leave the range of the 16-bit floats they are stored in.
//
// In programs that store a gradient as bf16 or f16 they are: every float that a step of norm or update reads and a
// micro-batch wrote, accumulators of 32 bits among them. Programs whose gradients have 32 bits or more have none: their
// range is that of the arithmetic. O(steps).

#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// In the order in which the program makes them, each storage once.
constexpr growing_array<int> gradients_that_may_overflow(const sharded_program& p) {
  growing_array<int> values;
  bool narrow = false;
  for (const graph_tensor& t : p.graph.tensor)
    narrow = narrow || (t.kind == graph_tensor_kind::gradient && bytes_of(t.type) == 2);
  if (!narrow) return values;
  growing_array<bool> read(p.storage.size, false);
  const auto is_read = [&](int v) -> bool& { return read.item[p.value.item[v].storage]; };
  for (const program_step& s : p.step)
    if (is_in(s.phase, update_phases))
      visit_values(p, s, [&](int v, bool is_written) { is_read(v) = is_read(v) || !is_written; });
  for (const program_step& s : p.step)
    if (is_in(s.phase, micro_phases))
      visit_values(p, s, [&](int v, bool is_written) {
        if (!is_written || !is_read(v)) return;
        is_read(v) = false;
        values.push(v);
      });
  return values;
}

}}}  // namespace hyperparallel::v0_2::detail
