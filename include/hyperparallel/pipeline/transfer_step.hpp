// SPDX-License-Identifier: Apache-2.0
#pragma once
// One send or receive of a replay under a transport that blocks ranks in it. Those in ordered queues block nobody and stand in
// the replay's own loop.

#include <hyperparallel/pipeline/replay_state.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

template <class Sizes>
class transfer_step {
 public:
  /// Of a transport with `buffers`: which message's buffer each message takes. Precondition: `check_messages(s)` is ok.
  /// Complexity: linear in the entries, in memory too.
  constexpr void number_messages(const basic_pipeline_schedule<Sizes>& s, int buffers) {
    const int n = s.stages * s.micro_batches;
    append_zeros(after_, 2 * n);
    // By peer, of the row that is read: how many messages it was sent, beyond the entries before the row; the last of them,
    // and the one whose buffer the next takes. By message: the next one of its pair.
    growing_array<int> sent, last, oldest, following;
    (sent.resize(s.ranks), last.resize(s.ranks), oldest.resize(s.ranks), following.resize(2 * n));
    for (int r = 0; r < s.ranks; ++r)
      for (int before = s.first[r], at = before; at < s.first[r + 1]; ++at) {
        if (s.action[at] == idle_slot) continue;
        const pipeline_action a = s.coding().action(s.action[at]);
        if (a.kind != action_kind::send_forward && a.kind != action_kind::send_backward) continue;
        const message_end one = message_of(s, a);
        const int peer = one.peer;
        if (sent[peer] < before) sent[peer] = before;
        if (sent[peer] == before)
          oldest[peer] = one.number;
        else
          following[last[peer]] = one.number;
        last[peer] = one.number;
        if (sent[peer]++ - before < buffers) continue;
        after_.item[one.number] = oldest[peer] + 1;
        oldest[peer] = following[oldest[peer]];
      }
  }

  /// Lets rank `r` go on behind its send or receive. False: it waits.
  constexpr bool pass(replay_state<Sizes>& x, int r) const {
    const message_end one = message_of(x.s, x.action_at(x.position[r]));
    if (one.sends && !is_made(x, one.number)) return false;
    const bool passes = x.over.kind == transport_kind::buffered ? pass_buffered(x, r, one) : meet(x, r, one);
    if (passes) ++x.position[r];
    return passes;
  }

  static constexpr bool is_made(const replay_state<Sizes>& x, int number) {
    return number < x.per_kind ? x.progress[number] != 0
                               : x.progress[number - x.per_kind] >= replay_state<Sizes>::has_gradient;
  }
  /// The message whose receive frees the buffer that message `number` takes; −1: there is a buffer from the start.
  constexpr int freed_by(int number) const { return after_[number] - 1; }

 private:
  static constexpr void wait_until(replay_state<Sizes>& x, int r, std::int64_t time) {
    if (x.clock[r] >= time) return;
    x.idle[r] += time - x.clock[r];
    x.clock[r] = time;
  }
  static constexpr void arrive(replay_state<Sizes>& x, int number, std::int64_t time) {
    const int m = x.s.micro_batches;
    if (number < x.per_kind)
      x.input[number + m] = time + x.c.latency;
    else
      x.gradient[number - x.per_kind] = time + x.c.latency;
  }
  /// Blocking rows: both ranks go on once both stand at the message.
  static constexpr bool meet(replay_state<Sizes>& x, int r, const message_end& one) {
    const int peer = one.peer, at = x.next_entry(peer);
    if (at == x.s.first[peer + 1] || !is_transfer(x.action_at(at).kind)) return false;
    const message_end other = message_of(x.s, x.action_at(at));
    if (other.number != one.number || (other.sends && !is_made(x, one.number))) return false;
    const std::int64_t time = larger(x.clock[r], x.clock[peer]);
    if (x.starts != nullptr)
      x.starts->item[at] = x.clock[peer] - 1;  // the peer may not have been looked at since it came there
    arrive(x, one.number, time);
    wait_until(x, r, time + x.c.latency);
    wait_until(x, peer, time + x.c.latency);
    x.position[peer] = at + 1;
    return true;
  }
  constexpr bool pass_buffered(replay_state<Sizes>& x, int r, const message_end& one) const {
    if (one.sends) {
      const int before = freed_by(one.number);
      if (before >= 0 && x.posted[before] >= 0) return false;  // its buffer is taken
      if (before >= 0) wait_until(x, r, -x.posted[before]);
      x.posted[one.number] = x.clock[r];
      return true;
    }
    if (x.posted[one.number] == 0) return false;
    arrive(x, one.number, x.posted[one.number]);
    wait_until(x, r, x.posted[one.number] + x.c.latency);
    x.posted[one.number] = -x.clock[r];  // received: the buffer is free from then on
    return true;
  }

  typename Sizes::template per_message<int> after_;
};

}}}  // namespace hyperparallel::v0_2::detail
