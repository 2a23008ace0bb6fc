// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the first and the last stage of a pipeline compute beside their layers, and what the others wait for it.
//
// Embedding and head are on one stage each, while a stage's share (pipeline_form.hpp) deals them to all. Of a schedule in which
// every stage runs its rounds one after the other, all wait in every round but one for the stage that takes longest:
//
//   makespan = (m - 1) · longest round + sum of all rounds
//
// so the step takes (m - 1) · (what the fuller of the two has - the share) longer than shares say. Laws: it is never negative,
// and 0 with one stage or one micro-batch; a replay of 1F1B with these rounds takes no longer, and just as long where the first stage
// has no more than those between. Units: picoseconds. O(steps).

#include <hyperparallel/price/pipeline_form.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Computing of a micro-batch that belongs to no layer.
struct outer_pass {
  extent_t forward = 0, backward = 0;
  constexpr extent_t round() const { return forward + backward; }
  friend constexpr bool operator==(const outer_pass&, const outer_pass&) = default;
};

struct stage_balance {
  outer_pass first{}, last{};  ///< before the layers, and behind them

  /// Of all stages, an equal share.
  constexpr outer_pass shared(int stages) const {
    return {(first.forward + last.forward) / stages, (first.backward + last.backward) / stages};
  }
  /// Of stage `stage`.
  constexpr outer_pass of(int stage, int stages) const {
    return stage == 0 ? first : stage + 1 == stages ? last : outer_pass{};
  }
  /// By how much a step takes longer than where all stages had the share.
  constexpr extent_t waited(const pipeline_form& form) const {
    if (form.degree == 1) return 0;
    return (form.micro_batches - 1) * (larger(first.round(), last.round()) - shared(form.degree).round());
  }
  friend constexpr bool operator==(const stage_balance&, const stage_balance&) = default;
};

/// `time_of(step)` is what a step takes once. An operator of forward stands before or behind the layers, one of backward
/// likewise from the end; one that adds a gradient up stands where the gradient is made.
template <class TimeOf>
constexpr stage_balance balance_of(const sharded_program& p, const TimeOf& time_of) {
  stage_balance b;
  growing_array<bool> behind(p.graph.op.size, false);  // of each operator of backward: it is of the last stage
  bool in_layers[2] = {false, false};                  // layers of forward, of backward have begun
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step[i];
    if (s.phase > graph_phase::accumulate) break;
    const bool forward = s.phase == graph_phase::forward;
    if (s.segment >= 0) {
      in_layers[forward ? 0 : 1] = true;
      continue;
    }
    if (s.is_move) continue;
    const int op = p.compute[s.index].op;
    bool is_last = forward ? in_layers[0] : !in_layers[1];
    if (s.phase == graph_phase::accumulate) {
      is_last = false;
      for (int k = 0; k < p.graph.op[op].operand_count; ++k) {
        const int producer = p.graph.tensor[p.graph.op[op].operand[k]].producer;
        if (producer >= 0) is_last = is_last || behind[producer];
      }
    }
    behind[op] = is_last;
    outer_pass& pass = is_last ? b.last : b.first;
    (forward ? pass.forward : pass.backward) += time_of(i);
  }
  return b;
}

}}  // namespace hyperparallel::v0_2
