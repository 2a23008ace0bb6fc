// SPDX-License-Identifier: Apache-2.0
#pragma once
// What fully sharded stages need beside compute: their parameters gathered before use and dropped again, their gradients
// reduced once the last micro-batch is through.
//
// Law: a rank has at most `most_active` stages unsharded at once, each before it computes; the next ones that it needs are
// fetched ahead, and those that are not among them dropped. Idle slots are left out.
//
// References: torch.distributed.pipelining, _add_unshard_reshard and _add_reduce_grad, with 3 active stages. What torch
// drops first is CPython's order of a set of small integers, by the remainder of eight; here as well.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Stages in the order in which a small set of CPython lists them.
constexpr void sort_like_a_set(growing_array<int>& stages) {
  const auto before = [](int a, int b) { return a % 8 != b % 8 ? a % 8 < b % 8 : a < b; };
  for (int i = 1; i < stages.size; ++i)
    for (int j = i; j > 0 && before(stages[j], stages[j - 1]); --j) {
      const int kept = stages[j];
      stages[j] = stages[j - 1];
      stages[j - 1] = kept;
    }
}

constexpr bool holds(const growing_array<int>& list, int value) {
  for (const int one : list)
    if (one == value) return true;
  return false;
}

/// The first `count` different stages that the entries [at, end) compute.
constexpr growing_array<int> next_stages(const pipeline_schedule& s, int at, int end, int count) {
  growing_array<int> next;
  for (; at < end && next.size < count; ++at) {
    if (s.action[at] == idle_slot) continue;
    const int stage = s.coding().action(s.action[at]).stage;
    if (!holds(next, stage)) next.push(stage);
  }
  return next;
}

}  // namespace detail

/// `s` with UNSHARD, RESHARD and REDUCE_GRAD. Precondition: `check_schedule(s)` is ok, most_active ≥ 1; at least 2 where
/// pairs overlap. Complexity: actions · entries to the next `most_active` stages.
constexpr pipeline_schedule with_parameter_actions(const pipeline_schedule& s, int most_active = 3) {
  pipeline_schedule to = s;
  to.action.clear();
  to.first.clear();
  to.first.push(0);
  const auto put = [&](action_kind kind, int stage) { to.action.push(s.coding().code({kind, stage, 0})); };
  growing_array<int> reduced(s.stages * s.copies,
                             0);  // copy of a stage → micro-batches whose weights have their gradient
  const auto ends_in_weights = [](action_kind k) {
    return k == action_kind::backward || k == action_kind::weight_gradient;
  };
  for (int r = 0; r < s.ranks; ++r) {
    growing_array<int> active;
    const int end = s.first[r + 1];
    for (int at = s.first[r]; at < end; ++at) {
      if (s.action[at] == idle_slot) continue;
      const growing_array<int> next = detail::next_stages(s, at, end, most_active);
      growing_array<int> kept;
      detail::sort_like_a_set(active);
      for (const int stage : active) {
        if (detail::holds(next, stage))
          kept.push(stage);
        else
          put(action_kind::reshard, stage);
      }
      for (const int stage : next)
        if (!detail::holds(kept, stage)) {
          put(action_kind::unshard, stage);
          kept.push(stage);
        }
      active = kept;
      const int begin = at;
      while (s.coding().action(s.action[at]).kind == action_kind::overlapped_forward || s.action[at] == idle_slot) ++at;
      for (int i = begin; i <= at; ++i)
        if (s.action[i] != idle_slot) to.action.push(s.action[i]);
      const pipeline_action last = s.coding().action(s.action[at]);
      if (ends_in_weights(last.kind) && ++reduced[s.copy_of(last.stage, last.micro_batch)] == s.share())
        put(action_kind::reduce_gradient, last.stage);
    }
    detail::sort_like_a_set(active);
    for (const int stage : active) put(action_kind::reshard, stage);
    to.first.push(to.action.size);
  }
  return to;
}

}}  // namespace hyperparallel::v0_2
