// SPDX-License-Identifier: Apache-2.0
#pragma once
// Buckets: reductions of gradients that travel together, so that many small ones pay a latency once.
//
// Backward completes gradients one after the other; reductions over the same axes fill a bucket until it holds `bytes`,
// or until a step reads one of its gradients. Laws: all moves of a bucket have the same phase, segment, stage and axes;
// no step before the last of them reads what they bring; the program's steps and their order stay. One move alone
// is no bucket. Source: Li et al., "PyTorch Distributed", 2020, 3.2.3. O(steps · operands).

#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The axes over which a move reduces a parameter's gradient; 0 for any other move.
constexpr unsigned reduced_gradient_axes(const sharded_program& p, const program_move& m) {
  const program_value &from = p.value.item[m.source], &to = p.value.item[m.target];
  const graph_tensor& t = p.graph.tensor.item[from.tensor];
  const bool of_a_parameter = t.kind == graph_tensor_kind::gradient && t.source >= 0 &&
                              p.graph.tensor.item[t.source].kind == graph_tensor_kind::parameter;
  unsigned axes = 0;
  for (int a = 0; of_a_parameter && a < from.layout.mesh.axis_count; ++a)
    if (from.layout.partial[a] != reduce_op::none && to.layout.partial[a] == reduce_op::none) axes |= 1u << a;
  return axes;
}

/// Puts reductions of gradients into buckets of `bytes(part)` (of what one device reduces); how many there are.
template <class Bytes>
constexpr int bucket_gradients(sharded_program& p, const Bytes& bytes) {
  growing_array<int> open;  // moves
  unsigned axes = 0;
  extent_t held = 0;
  int segment = -1, stage = 0;
  graph_phase phase = graph_phase::forward;
  const auto close = [&] {
    if (open.size > 1) {
      for (const int m : open) p.move.item[m].bucket = p.buckets;
      ++p.buckets;
    }
    open.clear();
    held = 0;
  };
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step.item[i];
    bool read = false;
    if (!open.empty())
      visit_values(p, s, [&](int v, bool written) {
        for (const int m : open) read = read || (!written && p.move.item[m].target == v);
      });
    if (read) close();
    const unsigned reduced = s.is_move ? detail::reduced_gradient_axes(p, p.move.item[s.index]) : 0;
    if (reduced == 0) continue;
    if (open.size > 0 && (reduced != axes || s.segment != segment || s.phase != phase || s.stage != stage)) close();
    axes = reduced;
    segment = s.segment;
    phase = s.phase;
    stage = s.stage;
    open.push(s.index);
    held += local_bytes(p, p.move.item[s.index].source);
    if (held >= bytes(part_of_step(p, s))) close();
  }
  close();
  return p.buckets;
}

}}}  // namespace hyperparallel::v0_2::detail
