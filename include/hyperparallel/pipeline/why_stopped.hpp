// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a replay came to no end: an action that no rank has, or a circle of ranks that wait for each other.

#include <hyperparallel/pipeline/replay_state.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The first action that its stage's rank does not have, by rank, micro-batch and stage.
template <class Sizes>
constexpr pipeline_status first_missing(const basic_pipeline_schedule<Sizes>& s) {
  constexpr action_kind kinds[] = {action_kind::forward, action_kind::input_gradient, action_kind::weight_gradient};
  growing_array<unsigned char> there;  // a bit for each kind
  there.resize(s.stages * s.micro_batches, 0);
  for (int r = 0; r < s.ranks; ++r)
    for (int at = s.first[r]; at < s.first[r + 1]; ++at) {
      if (s.action[at] == idle_slot) continue;
      const pipeline_action a = s.coding().action(s.action[at]);
      if (!is_compute(a.kind) || s.rank_of_stage[a.stage] != r) continue;
      unsigned char& bits = there[a.stage * s.micro_batches + a.micro_batch];
      if (a.kind == action_kind::forward || a.kind == action_kind::overlapped_forward) bits |= 1;
      if (a.kind == action_kind::input_gradient || a.kind == action_kind::backward) bits |= 2;
      if (a.kind == action_kind::weight_gradient || a.kind == action_kind::backward) bits |= 4;
    }
  for (int r = 0; r < s.ranks; ++r)
    for (int k = 0; k < s.micro_batches; ++k)
      for (int t = 0; t < s.stages; ++t)
        for (int kind = 0; kind < 3; ++kind)
          if (s.rank_of_stage[t] == r && (there[t * s.micro_batches + k] & (1 << kind)) == 0)
            return {.code = pipeline_code::action_is_missing, .rank = r, .action = {kinds[kind], t, k}};
  return {};
}

/// What the action at which rank `r` stands still waits for.
template <class Sizes>
constexpr waiting_action waiting(const replay_state<Sizes>& x, int r) {
  const int at = x.position[r], m = x.s.micro_batches;
  waiting_action w{r, at - x.s.first[r], x.action_at(at), {}};
  const auto needs_of = [&](pipeline_action a) -> pipeline_action {
    const int place = a.stage * m + a.micro_batch;
    if (a.kind == action_kind::forward || a.kind == action_kind::overlapped_forward)
      return x.forward_end[place] == 0 ? pipeline_action{action_kind::forward, a.stage - 1, a.micro_batch} : a;
    if (a.kind == action_kind::weight_gradient) return {action_kind::input_gradient, a.stage, a.micro_batch};
    if (x.forward_end[place + m] == 0) return {action_kind::forward, a.stage, a.micro_batch};
    return {action_kind::input_gradient, a.stage + 1, a.micro_batch};
  };
  w.needs = needs_of(w.action);
  if (w.needs == w.action) w.needs = needs_of(x.action_at(x.second_of_pair(r, at)));  // the other half of a pair waits
  const int there = x.s.rank_of_stage[w.needs.stage];
  for (int i = x.position[there]; i < x.s.first[there + 1]; ++i) {
    if (x.s.action[i] == idle_slot) continue;
    const pipeline_action a = x.action_at(i);
    if (a == pipeline_action{action_kind::backward, w.needs.stage, w.needs.micro_batch} &&
        w.needs.kind == action_kind::input_gradient)
      w.needs = a;
  }
  return w;
}

/// The circle in which ranks wait. Precondition: no action is missing, and a rank has not ended.
template <class Sizes>
constexpr pipeline_status waiting_circle(const replay_state<Sizes>& x) {
  int r = 0;
  while (x.position[r] == x.s.first[r + 1]) ++r;
  const auto next = [&](int rank) { return x.s.rank_of_stage[waiting(x, rank).needs.stage]; };
  for (int i = 0; i < x.s.ranks; ++i) r = next(r);  // now on the circle
  pipeline_status status{pipeline_code::waits_in_a_circle};
  const int begin = r;
  do {
    status.cycle.push(waiting(x, r));
    r = next(r);
  } while (r != begin && !status.cycle.full());
  status.rank = begin;
  status.position = status.cycle[0].position;
  status.action = status.cycle[0].action;
  return status;
}

}}}  // namespace hyperparallel::v0_2::detail
