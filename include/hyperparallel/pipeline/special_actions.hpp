// SPDX-License-Identifier: Apache-2.0
#pragma once
// Actions of a replay beside F, I, W and B in their order: overlapped pairs, offloads and reloads; and why an action is refused,
// when each starts, and the sums over ranks.

#include <hyperparallel/pipeline/account.hpp>
#include <hyperparallel/pipeline/replay_state.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

template <class Sizes>
constexpr pipeline_status refused_at(const replay_state<Sizes>& x, pipeline_code code, int rank, int at,
                                     int needed = 0) {
  return {.code = code, .rank = rank, .position = at - x.s.first[rank], .action = x.action_at(at), .needed = needed};
}

template <class Sizes>
constexpr void count_peaks(replay_state<Sizes>& x, int r) {
  if (x.live[r] > x.peak[r]) x.peak[r] = x.live[r];
  if (x.live_gradient[r] > x.peak_gradient[r]) x.peak_gradient[r] = x.live_gradient[r];
}

/// Why the action at `at` cannot run though what it needs is there.
template <class Sizes>
constexpr void refuse_action(const replay_state<Sizes>& x, int r, int at, pipeline_status& status) {
  const int y = x.s.action[at] % x.per_kind, owner = x.s.rank_of_stage[y / x.s.share()];
  if (owner != r)
    status = refused_at(x, pipeline_code::action_is_on_a_wrong_rank, r, at, owner);
  else
    status = refused_at(x, x.is_away(y) ? pipeline_code::activation_is_elsewhere : pipeline_code::action_stands_twice,
                        r, at);
}

/// The start of the action at `at`, and its bytes.
template <class Sizes>
constexpr void record(replay_state<Sizes>& x, int r, int at, int kind, int y, std::int64_t start) {
  if (x.starts != nullptr) x.starts->item[at] = start - 1;
  if (x.c.bytes.size == 0) return;
  const int m = x.s.micro_batches;
  const stage_bytes b = entry_of(x.c.bytes, x.s.stages, m, y / m, y % m);
  if (kind == kind_of_code::forward || kind == kind_of_code::reload) x.bytes[r] += b.all();
  if (kind == kind_of_code::offload) x.bytes[r] -= b.all();
  x.peak_bytes[r] = larger(x.peak_bytes[r], x.bytes[r]);
  if (kind == kind_of_code::input_gradient || kind == kind_of_code::backward) x.bytes[r] -= b.until_input_gradient;
  if (kind == kind_of_code::weight_gradient || kind == kind_of_code::backward) x.bytes[r] -= b.until_weight_gradient;
}

template <class Sizes>
constexpr stage_times look_up(replay_state<Sizes>& x, int r, int at, int kind, int y, std::int64_t start) {
  record(x, r, at, kind, y, start);
  return x.times_of(y);
}

/// Runs an overlapped F with the backward behind it.
template <class Sizes>
constexpr bool run_pair(replay_state<Sizes>& x, int r, pipeline_status& status) {
  const int m = x.s.micro_batches, share = x.s.share(), at = x.position[r], partner = x.second_of_pair(r, at);
  const int y = x.s.action[at] - kind_of_code::overlapped_forward * x.per_kind;
  const int code = partner < x.s.first[r + 1] ? x.s.action[partner] : 0, kind = code / x.per_kind;
  if (kind != kind_of_code::input_gradient && kind != kind_of_code::backward) {
    status = refused_at(x, pipeline_code::pair_has_no_backward, r, at);
    return false;
  }
  const int z = code - kind * x.per_kind;
  if (x.input[y] == 0 || x.gradient[z + m] == 0 || x.progress[z] == 0) return false;
  if (x.progress[y] != 0) {
    refuse_action(x, r, at, status);
    return false;
  }
  if (x.s.rank_of_stage[z / share] != r || x.progress[z] != replay_state<Sizes>::has_output || x.is_away(z)) {
    refuse_action(x, r, partner, status);
    return false;
  }
  const std::int64_t start = larger(x.clock[r], larger(x.input[y], x.gradient[z + m]));
  x.idle[r] += start - x.clock[r];
  x.clock[r] = start + x.pair_time(y, code);
  const std::int64_t forward_hop = x.forward_hop[y / share], gradient_hop = x.gradient_hop[z / share];
  if (forward_hop >= 0) x.input[y + m] = x.clock[r] + forward_hop;
  if (gradient_hop >= 0) x.gradient[z] = x.clock[r] + gradient_hop;
  x.progress[y] = replay_state<Sizes>::has_output;
  x.progress[z] = kind == kind_of_code::backward ? replay_state<Sizes>::is_over : replay_state<Sizes>::has_gradient;
  // The activation of F is there before that of the backward goes.
  if (x.peak[r] == 0) x.first_start[r] = start;
  ++x.live[r];
  ++x.live_gradient[r];
  count_peaks(x, r);
  --x.live_gradient[r];
  if (kind == kind_of_code::backward) --x.live[r];
  if (x.starts != nullptr || x.c.bytes.size != 0) {
    record(x, r, at, kind_of_code::forward, y, start);
    record(x, r, partner, kind, z, start);
  }
  x.position[r] = partner + 1;
  return true;
}

/// Offloads or reloads the activation of `y`. False, and refused, where it is not there to be moved.
template <class Sizes>
constexpr bool move_activation(replay_state<Sizes>& x, int r, int kind, int y, pipeline_status& status) {
  if (x.away.empty()) append_zeros(x.away, x.per_kind);
  const bool held = x.progress[y] != 0 && x.progress[y] != replay_state<Sizes>::is_over;
  if (!held || x.away[y] == (kind == kind_of_code::offload)) {
    status = refused_at(x, pipeline_code::activation_is_elsewhere, r, x.position[r]);
    return false;
  }
  x.away[y] = kind == kind_of_code::offload;
  const int change = kind == kind_of_code::offload ? -1 : 1;
  x.live[r] += change;
  if (x.progress[y] == replay_state<Sizes>::has_output) x.live_gradient[r] += change;
  count_peaks(x, r);
  return true;
}

/// The account of a replay that has ended.
template <class Sizes>
constexpr void sum_up(const replay_state<Sizes>& x, basic_pipeline_account<Sizes>& a) {
  a.makespan = a.longest_rank_span = 0;
  std::int64_t work = 0;
  for (int r = 0; r < x.s.ranks; ++r) {
    rank_account one{.peak_until_weight_gradient = x.peak[r],
                     .peak_until_input_gradient = x.peak_gradient[r],
                     .peak_bytes = x.peak_bytes[r]};
    one.last_end = x.clock[r] - 1;
    one.first_start = larger(x.first_start[r], 1) - 1;  // of a rank without an F 0
    one.busy = one.last_end - x.idle[r];
    work += one.busy;
    a.makespan = larger(a.makespan, one.last_end);
    a.longest_rank_span = larger(a.longest_rank_span, one.span());
    a.rank.push(one);
  }
  a.ideal = ceil_divide(work, x.s.ranks);
}

}}}  // namespace hyperparallel::v0_2::detail
