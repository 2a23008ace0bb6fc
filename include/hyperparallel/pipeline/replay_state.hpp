// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a replay knows of a pipeline: the ends that have come, what each rank holds, and where it stands.

#include <cstdint>

#include <hyperparallel/pipeline/costs.hpp>
#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Kinds as the codes of a schedule have them.
struct kind_of_code {
  static constexpr int forward = static_cast<int>(action_kind::forward);
  static constexpr int input_gradient = static_cast<int>(action_kind::input_gradient);
  static constexpr int weight_gradient = static_cast<int>(action_kind::weight_gradient);
  static constexpr int backward = static_cast<int>(action_kind::backward);
  static constexpr int overlapped_forward = static_cast<int>(action_kind::overlapped_forward);
  static constexpr int offload = static_cast<int>(action_kind::offload);
  static constexpr int reload = static_cast<int>(action_kind::reload);
  static constexpr int recompute = static_cast<int>(action_kind::recompute);
};

/// Times begin at 1; an end is 0 while it has not come. Stage s's F ends at forward_end[(s + 1) · m + k], so that row 0 is
/// the model's input, there at 1; its I or B at gradient_end[s · m + k], where row `stages` is the loss.
template <class Sizes>
struct replay_state : kind_of_code {
  using schedule = basic_pipeline_schedule<Sizes>;

  constexpr replay_state(const schedule& the_schedule, const pipeline_costs& costs,
                         growing_array<std::int64_t>* starts_wanted)
      : s(the_schedule),
        c(costs),
        starts(starts_wanted),
        per_kind(s.stages * s.micro_batches),
        one_time(c.times.size <= 1) {
    const int m = s.micro_batches;
    if (c.times.size == 1) time = c.times[0];
    for (int k = 0; k < m; ++k) forward_end.push(1);
    (append_zeros(forward_end, per_kind), append_zeros(gradient_end, per_kind), append_zeros(weights_done, per_kind));
    for (int k = 0; k < m; ++k) gradient_end.push(1);
    for (int t = 0; t < s.stages; ++t) {
      const int here = s.rank_of_stage[t];
      forward_hop.push(t > 0 && s.rank_of_stage[t - 1] != here ? c.latency : 0);
      gradient_hop.push(t + 1 < s.stages && s.rank_of_stage[t + 1] != here ? c.latency : 0);
    }
    for (int r = 0; r < s.ranks; ++r) {
      position.push(s.first[r]);
      clock.push(1);
    }
    (append_zeros(live, s.ranks), append_zeros(live_gradient, s.ranks), append_zeros(peak, s.ranks));
    (append_zeros(peak_gradient, s.ranks), append_zeros(idle, s.ranks), append_zeros(bytes, s.ranks));
    append_zeros(peak_bytes, s.ranks);
    if (starts != nullptr) starts->resize(s.action.size, -1);
  }

  constexpr pipeline_action action_at(int at) const { return s.coding().action(s.action[at]); }
  constexpr stage_times times_of(int stage, int y) const {
    return one_time ? time : entry_of(c.times, s.stages, s.micro_batches, stage, y - stage * s.micro_batches);
  }
  constexpr bool is_away(int y) const { return away.size != 0 && away[y]; }

  /// Of the F of `y` together with the I or B `x`.
  constexpr std::int64_t pair_time(int y, int x) const {
    if (c.overlapped_pair >= 0) return c.overlapped_pair;
    const int m = s.micro_batches, kind = x / per_kind, z = x - kind * per_kind;
    const stage_times g = times_of(z / m, z);
    return times_of(y / m, y).forward + (kind == backward ? g.backward() : g.input_gradient);
  }

  /// The entry behind `at` that is no idle slot; the end of the rank's list where there is none.
  constexpr int second_of_pair(int r, int at) const {
    int second = at + 1;
    while (second < s.first[r + 1] && s.action[second] == idle_slot) ++second;
    return second;
  }

  /// When the first F, I or B of rank `r` begins: its end less its time.
  constexpr std::int64_t first_start(int r) const {
    for (int at = s.first[r]; at < s.first[r + 1]; ++at) {
      const int x = s.action[at], kind = x < 0 ? action_kinds : x / per_kind;
      if (kind > overlapped_forward) continue;
      const int y = x - kind * per_kind, m = s.micro_batches;
      const stage_times t = times_of(y / m, y);
      if (kind == forward) return forward_end[y + m] - t.forward;
      if (kind == input_gradient) return gradient_end[y] - t.input_gradient;
      if (kind == backward) return gradient_end[y] - t.backward();
      return forward_end[y + m] - pair_time(y, s.action[second_of_pair(r, at)]);
    }
    return 1;
  }

  const schedule& s;
  const pipeline_costs& c;
  growing_array<std::int64_t>* starts;
  int per_kind;
  bool one_time;
  stage_times time{};
  typename Sizes::template per_chunk<std::int64_t> forward_end, gradient_end;
  typename Sizes::template per_chunk<bool> weights_done, away;
  typename Sizes::template per_stage<std::int64_t> forward_hop, gradient_hop;
  // By rank: where it stands, what it holds, and peaks of that.
  typename Sizes::template per_rank<int> position, live, live_gradient, peak, peak_gradient;
  typename Sizes::template per_rank<std::int64_t> clock, idle, bytes, peak_bytes;
};

}}}  // namespace hyperparallel::v0_2::detail
