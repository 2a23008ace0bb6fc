// SPDX-License-Identifier: Apache-2.0
#pragma once
// The variants of the blocks of a plan space: a candidate with what comes from both sides, what it leaves to them, and what it costs.

#include <hyperparallel/price/step_parts.hpp>
#include <hyperparallel/price/traffic_account.hpp>
#include <hyperparallel/search/strategy_candidates.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// States are numbers of their joint; 0 where there is no joint.
struct block_variant {
  int enters = 0, candidate = 0, gradient_enters = 0;
  int leaves = 0, gradient_leaves = 0;
  busy_times busy{};
  extent_t memory = 0;
  busy_times core{};  ///< of the busy times: what sharding parameters and states does not change
  int example = -1;   ///< the first choice in which it was met
};

/// A plan that was partitioned to measure its parts: what it certainly takes and holds.
struct measured_plan {
  const sharded_program& program;
  const strategy_value& strategy;
  const growing_array<int>& choice;  ///< of each part
  busy_times busy{};
  extent_t memory = 0;
};

namespace detail {

/// Whether two variants of neighbouring blocks find what they reckon with.
constexpr bool follows_on(const block_variant& left, const block_variant& right) {
  return right.enters == left.leaves && right.gradient_leaves == left.gradient_enters;
}

}  // namespace detail

/// Parts [first, last] and the number of their candidates' products.
struct plan_block {
  int first = 0, last = 0, candidates = 1;
};

namespace detail {

/// The least that a row of variants that fit keeps a queue busy. O(Σ products of neighbours' variants).
constexpr extent_t least_of(const growing_array<block_variant>* variant, int blocks, busy_times block_variant::* part,
                            extent_t busy_times::* queue) {
  growing_array<extent_t> before, least;
  for (int b = 0; b < blocks; ++b) {
    least.clear();
    for (const block_variant& v : variant[b]) {
      extent_t best = b == 0 ? 0 : longest_time;
      for (int u = 0; u < before.size; ++u)
        if (follows_on(variant[b - 1][u], v)) best = smaller(best, before[u]);
      least.push(best == longest_time ? best : best + v.*part.*queue);
    }
    before = least;
  }
  extent_t best = longest_time;
  for (const extent_t t : before) best = smaller(best, t);
  return best;
}
constexpr extent_t least_of(const growing_array<block_variant>* variant, int blocks, busy_times block_variant::* part) {
  return larger(least_of(variant, blocks, part, &busy_times::compute),
                least_of(variant, blocks, part, &busy_times::carried));
}

/// Whether the step is about activations: forward and backward without what is done to parameters' gradients.
constexpr bool is_core(const sharded_program& program, const program_step& s) {
  if (s.phase > graph_phase::backward) return false;
  if (!s.is_move) return !program.graph.value_of(program.graph.op[program.compute[s.index].op]).accumulates;
  return traffic_class_of(program.graph, program.value[program.move[s.index].source].tensor) ==
         traffic_class::activations;
}

constexpr int number_of(growing_array<joint_state>& list, const joint_state& one) {
  for (int i = 0; i < list.size; ++i)
    if (list[i] == one) return i;
  return list.push(one);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
