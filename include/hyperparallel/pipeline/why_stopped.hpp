// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a replay came to no end: an action that no rank has, or a circle of ranks that wait for each other.

#include <hyperparallel/pipeline/transfer_step.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The first action that its stage's rank does not have, by rank, micro-batch and stage; a B where
/// the schedule has no I and no W. Complexity: linear in the entries,
/// stages and micro-batches.
template <class Sizes>
constexpr pipeline_status first_missing(const basic_pipeline_schedule<Sizes>& s) {
  constexpr action_kind kinds[] = {action_kind::forward, action_kind::input_gradient, action_kind::weight_gradient};
  growing_array<unsigned char> there;     // a bit for each kind
  bool splits = false, is_whole = false;  // there is an I or W, there is a B
  there.resize(s.stages * s.micro_batches, 0);
  for (int r = 0; r < s.ranks; ++r)
    for (int at = s.first[r]; at < s.first[r + 1]; ++at) {
      if (s.action[at] == idle_slot) continue;
      const pipeline_action a = s.coding().action(s.action[at]);
      if (!is_compute(a.kind) || s.rank_of(a) != r) continue;
      splits = splits || a.kind == action_kind::input_gradient || a.kind == action_kind::weight_gradient;
      is_whole = is_whole || a.kind == action_kind::backward;
      unsigned char& bits = there[a.stage * s.micro_batches + a.micro_batch];
      if (a.kind == action_kind::forward || a.kind == action_kind::overlapped_forward) bits |= 1;
      if (a.kind == action_kind::input_gradient || a.kind == action_kind::backward) bits |= 2;
      if (a.kind == action_kind::weight_gradient || a.kind == action_kind::backward) bits |= 4;
    }
  pipeline_status missing;
  for (int k = 0; k < s.micro_batches; ++k)
    for (int t = 0; t < s.stages; ++t) {
      const unsigned bits = there[t * s.micro_batches + k];
      const int r = s.rank_of(t, k), kind = bits % 2 == 0 ? 0 : bits % 4 < 2 ? 1 : 2;
      if (bits == 7 || (!missing.ok() && missing.rank <= r)) continue;
      const action_kind named = kind > 0 && is_whole && !splits ? action_kind::backward : kinds[kind];
      missing = pipeline_status{.code = pipeline_code::action_is_missing, .rank = r, .action = {named, t, k}};
    }
  return missing;
}

/// Whether `a` stands in its rank's list, at or behind the rank's place.
template <class Sizes>
constexpr bool stands_ahead(const replay_state<Sizes>& x, const pipeline_action& a) {
  const int r = x.s.rank_of(a);
  for (int at = x.position[r]; at < x.s.first[r + 1]; ++at)
    if (x.s.action[at] != idle_slot && x.action_at(at) == a) return true;
  return false;
}

/// What the action at which rank `r` stands still waits for. Precondition: no action is missing.
template <class Sizes>
constexpr waiting_action waiting(const replay_state<Sizes>& x, const transfer_step<Sizes>& step, int r) {
  const int at = x.next_entry(r), m = x.s.micro_batches;
  const bool posts = x.over.kind != transport_kind::unbounded;
  waiting_action w{r, at - x.s.first[r], x.action_at(at), {}};
  // What brings the message from stage `from`: the stage itself, the receive, or the send where that is posted.
  const auto brings = [&](int from, int number, const pipeline_action& a, action_kind producer) -> pipeline_action {
    if (!posts || x.s.rank_of(from, a.micro_batch) == x.s.rank_of(a)) return {producer, from, a.micro_batch};
    const pipeline_action receive = action_of_message(x.s, number, false);
    return stands_ahead(x, receive) ? receive : action_of_message(x.s, number, true);
  };
  const auto needs_of = [&](const pipeline_action& a) -> pipeline_action {
    const int y = a.stage * m + a.micro_batch;
    if (a.kind == action_kind::weight_gradient) return {action_kind::input_gradient, a.stage, a.micro_batch};
    if (a.kind == action_kind::forward || a.kind == action_kind::overlapped_forward)
      return x.input[y] != 0 ? a : brings(a.stage - 1, y - m, a, action_kind::forward);
    if (x.progress[y] == 0) return {action_kind::forward, a.stage, a.micro_batch};
    return brings(a.stage + 1, x.per_kind + y + m, a, action_kind::input_gradient);
  };
  if (is_transfer(w.action.kind)) {
    const message_end one = message_of(x.s, w.action);
    const bool forwards = one.number < x.per_kind;
    if (one.sends && !step.is_made(x, one.number))
      w.needs = {forwards ? action_kind::forward : action_kind::input_gradient, w.action.stage, w.action.micro_batch};
    else if (one.sends && x.over.kind == transport_kind::buffered)
      w.needs = action_of_message(x.s, step.freed_by(one.number), false);
    else
      w.needs = action_of_message(x.s, one.number, !one.sends);
  } else {
    w.needs = needs_of(w.action);
    if (w.needs == w.action)
      w.needs = needs_of(x.action_at(x.second_of_pair(r, at)));  // the other half of a pair waits
  }
  const pipeline_action whole{action_kind::backward, w.needs.stage, w.needs.micro_batch};
  if (w.needs.kind == action_kind::input_gradient && stands_ahead(x, whole)) w.needs = whole;
  const pipeline_action paired{action_kind::overlapped_forward, w.needs.stage, w.needs.micro_batch};
  if (w.needs.kind == action_kind::forward && stands_ahead(x, paired)) w.needs = paired;
  return w;
}

/// The circle in which ranks wait. `waiting_of(r)` says what stopped rank r waits for. Precondition: no action is missing,
/// and rank `stopped` has not ended. Each rank is asked at most once, but for those on the circle.
template <class Schedule, class WaitingOf>
constexpr pipeline_status waiting_circle(const Schedule& s, int stopped, const WaitingOf& waiting_of) {
  growing_array<int> known(s.ranks, -1);  // by rank, the one that it waits for; −1: it was not asked
  const auto next = [&](int rank) {
    if (known[rank] < 0) known[rank] = s.rank_of(waiting_of(rank).needs);
    return known[rank];
  };
  for (int i = 0; i < s.ranks; ++i) stopped = next(stopped);  // now on the circle
  pipeline_status status{pipeline_code::waits_in_a_circle};
  const int begin = stopped;
  do {
    status.cycle.push(waiting_of(stopped));
    stopped = next(stopped);
  } while (stopped != begin && !status.cycle.full());
  status.rank = begin;
  status.position = status.cycle[0].position;
  status.action = status.cycle[0].action;
  return status;
}

/// After the last sweep: each rank has ended, and nothing is missing; or why not.
template <class Sizes>
constexpr pipeline_status end_of(const replay_state<Sizes>& x, const transfer_step<Sizes>& step) {
  int stopped = 0;
  while (stopped < x.s.ranks && x.position[stopped] == x.s.first[stopped + 1]) ++stopped;
  int left = 0;
  for (int y = 0; y < x.per_kind; ++y) left += x.progress.item[y] != replay_state<Sizes>::is_over;
  if (stopped == x.s.ranks && left == 0) return {};
  const pipeline_status missing = first_missing(x.s);
  if (!missing.ok()) return missing;
  return waiting_circle(x.s, stopped, [&](int r) { return waiting(x, step, r); });
}

}}}  // namespace hyperparallel::v0_2::detail
