// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a replay knows of a pipeline: the ends that have come, what each rank holds, and where it stands.

#include <cstdint>

#include <hyperparallel/pipeline/costs.hpp>
#include <hyperparallel/pipeline/messages.hpp>
#include <hyperparallel/pipeline/transport.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Kinds as the codes of a schedule have them.
struct kind_of_code {
  static constexpr int forward = static_cast<int>(action_kind::forward);
  static constexpr int input_gradient = static_cast<int>(action_kind::input_gradient);
  static constexpr int weight_gradient = static_cast<int>(action_kind::weight_gradient);
  static constexpr int backward = static_cast<int>(action_kind::backward);
  static constexpr int overlapped_forward = static_cast<int>(action_kind::overlapped_forward);
  static constexpr int send_forward = static_cast<int>(action_kind::send_forward);
  static constexpr int receive_forward = static_cast<int>(action_kind::receive_forward);
  static constexpr int send_backward = static_cast<int>(action_kind::send_backward);
  static constexpr int receive_backward = static_cast<int>(action_kind::receive_backward);
  static constexpr int offload = static_cast<int>(action_kind::offload);
  static constexpr int reload = static_cast<int>(action_kind::reload);
  static constexpr int recompute = static_cast<int>(action_kind::recompute);
};

/// Times begin at 1; 0 is "not yet". input[s · m + k] is when the input of F (s, k) is on the stage's rank; row 0 is the
/// model's, there at 1. gradient[(s + 1) · m + k] is the same of I and B; row `stages` is the loss.
template <class Sizes>
struct replay_state : kind_of_code {
  using schedule = basic_pipeline_schedule<Sizes>;
  /// How far stage and micro-batch have come: F is done; I as well; W as well.
  static constexpr int has_output = 1, has_gradient = 3, is_over = 7;

  constexpr replay_state(const schedule& the_schedule, const pipeline_costs& costs, transport the_transport,
                         growing_array<std::int64_t>* starts_wanted)
      : s(the_schedule),
        c(costs),
        over(the_transport),
        starts(starts_wanted),
        per_kind(s.stages * s.micro_batches),
        one_time(c.times.size <= 1) {
    const int m = s.micro_batches;
    if (c.times.size == 1) time = c.times[0];
    for (int k = 0; k < m; ++k) input.push(1);
    (append_zeros(input, per_kind), append_zeros(gradient, per_kind), append_zeros(progress, per_kind));
    for (int k = 0; k < m; ++k) gradient.push(1);
    const bool posts = over.kind != transport_kind::unbounded;
    const stage_peers<Sizes> peers(s);
    for (int copy = 0; copy < s.stages * s.copies; ++copy) {
      forward_hop.push(peers.forward[copy] < 0 ? 0 : posts ? -1 : c.latency);
      gradient_hop.push(peers.gradient[copy] < 0 ? 0 : posts ? -1 : c.latency);
    }
    if (posts) append_zeros(posted, 2 * per_kind);
    for (int r = 0; r < s.ranks; ++r) {
      position.push(s.first[r]);
      clock.push(1);
    }
    (append_zeros(live, s.ranks), append_zeros(live_gradient, s.ranks), append_zeros(peak, s.ranks));
    (append_zeros(peak_gradient, s.ranks), append_zeros(idle, s.ranks), append_zeros(bytes, s.ranks));
    (append_zeros(peak_bytes, s.ranks), append_zeros(first_start, s.ranks));
    if (starts != nullptr) starts->resize(s.action.size, -1);
  }

  constexpr pipeline_action action_at(int at) const { return s.coding().action(s.action[at]); }
  constexpr stage_times times_of(int y) const {
    return one_time ? time : entry_of(c.times, s.stages, s.micro_batches, y / s.micro_batches, y % s.micro_batches);
  }
  constexpr bool is_away(int y) const { return away.size != 0 && away[y]; }

  /// Of the F of `y` together with the I or B `x`.
  constexpr std::int64_t pair_time(int y, int x) const {
    if (c.overlapped_pair >= 0) return c.overlapped_pair;
    const int kind = x / per_kind;
    const stage_times g = times_of(x - kind * per_kind);
    return times_of(y).forward + (kind == backward ? g.backward() : g.input_gradient);
  }

  /// The entry at which rank `r` stands; the end of its list where it has ended.
  constexpr int next_entry(int r) const { return second_of_pair(r, position[r] - 1); }
  /// The entry behind `at` that is no idle slot; the end of the rank's list where there is none.
  constexpr int second_of_pair(int r, int at) const {
    int next = at + 1;
    while (next < s.first[r + 1] && s.action[next] == idle_slot) ++next;
    return next;
  }

  const schedule& s;
  const pipeline_costs& c;
  transport over;
  growing_array<std::int64_t>* starts;
  int per_kind;
  bool one_time;
  stage_times time{};
  typename Sizes::template per_chunk<std::int64_t> input, gradient;
  typename Sizes::template per_chunk<int> progress;
  typename Sizes::template per_chunk<bool> away;
  /// What the message of a copy of a stage takes to the next rank; −1: a receive brings it.
  typename Sizes::template per_copy<std::int64_t> forward_hop, gradient_hop;
  /// When the first end of a message was reached; under buffers, when its buffer is free again.
  typename Sizes::template per_message<std::int64_t> posted;
  // By rank: where it stands, what it holds, and peaks of that.
  typename Sizes::template per_rank<int> position, live, live_gradient, peak, peak_gradient;
  typename Sizes::template per_rank<std::int64_t> clock, idle, bytes, peak_bytes, first_start;
};

}}}  // namespace hyperparallel::v0_2::detail
