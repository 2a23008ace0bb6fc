// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages of a pipeline schedule: which stages exchange them, and whether both ends list them in one order.
//
// A message is numbered by its sender's stage and micro-batch: forwards first, gradients behind them.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The rank that the forward of each copy of a stage goes to, and its gradient; −1: it stays on the rank, or ends there.
template <class Sizes>
struct stage_peers {
  typename Sizes::template per_copy<int> forward, gradient;

  constexpr explicit stage_peers(const basic_pipeline_schedule<Sizes>& s) {
    const int step = s.copies, all = s.stages * step;
    for (int copy = 0; copy < all; ++copy) {
      const int here = s.rank_of_stage[copy], after = copy + step < all ? s.rank_of_stage[copy + step] : here;
      const int before = copy >= step ? s.rank_of_stage[copy - step] : here;
      forward.push(after == here ? -1 : after);
      gradient.push(before == here ? -1 : before);
    }
  }
};

/// One end of a message.
struct message_end {
  int number = -1;  ///< −1: there is no stage at the other end, or it is on the same rank
  int self = -1, peer = -1;
  bool sends = false;
};

/// Of a send or receive. Precondition: `is_transfer(a.kind)`.
template <class Sizes>
constexpr message_end message_of(const basic_pipeline_schedule<Sizes>& s, const pipeline_action& a) {
  const bool sends = a.kind == action_kind::send_forward || a.kind == action_kind::send_backward;
  const bool forwards = a.kind == action_kind::send_forward || a.kind == action_kind::receive_forward;
  const int other = a.stage + (forwards == sends ? 1 : -1);
  if (other < 0 || other >= s.stages) return {};
  const int self = s.rank_of(a), peer = s.rank_of(other, a.micro_batch), sender = sends ? a.stage : other;
  if (self == peer) return {};
  return {(forwards ? 0 : s.stages * s.micro_batches) + sender * s.micro_batches + a.micro_batch, self, peer, sends};
}

/// An end of the message called `number`, as an action.
template <class Sizes>
constexpr pipeline_action action_of_message(const basic_pipeline_schedule<Sizes>& s, int number, bool sends) {
  const int m = s.micro_batches, n = s.stages * m;
  if (number < n)
    return {sends ? action_kind::send_forward : action_kind::receive_forward, number / m + (sends ? 0 : 1), number % m};
  number -= n;
  return {sends ? action_kind::send_backward : action_kind::receive_backward, number / m - (sends ? 0 : 1), number % m};
}

}  // namespace detail

/// Whether a list has a send or a receive.
template <class Sizes>
constexpr bool holds_transfers(const basic_pipeline_schedule<Sizes>& s) {
  const int n = s.stages * s.micro_batches, first = static_cast<int>(action_kind::send_forward) * n;
  for (int i = 0; i < s.action.size; ++i)
    if (s.action.item[i] >= first && s.action.item[i] < first + 4 * n) return true;
  return false;
}

/// Whether each hop between ranks has its send and its receive, once, and each ordered pair of ranks lists them in one order.
/// Complexity: linear in the entries, in memory too.
template <class Sizes>
constexpr pipeline_status check_messages(const basic_pipeline_schedule<Sizes>& s) {
  const int n = s.stages * s.micro_batches;
  const auto refused = [&](pipeline_code code, int rank, int at) {
    return pipeline_status{
        .code = code, .rank = rank, .position = at - s.first[rank], .action = s.coding().action(s.action[at])};
  };
  typename Sizes::template per_message<int> sent, received;  // the place in its pair's order, from 1
  typename Sizes::template per_rank<int> sends,
      receives;  // of the row that is read, by peer: beyond the entries before it
  (detail::append_zeros(sent, 2 * n), detail::append_zeros(received, 2 * n));
  (detail::append_zeros(sends, s.ranks), detail::append_zeros(receives, s.ranks));
  const detail::stage_peers<Sizes> peers(s);
  constexpr int first_transfer = static_cast<int>(action_kind::send_forward);
  const int m = s.micro_batches, ranks = s.ranks, share = s.share();
  auto& code = s.action.item;
  auto& owner = s.rank_of_stage.item;
  auto& forward_peer = peers.forward.item;
  auto& gradient_peer = peers.gradient.item;
  for (int r = 0; r < ranks; ++r) {
    // Rows before this one have counted no further than the entries in them.
    const int before = s.first.item[r];
    for (int at = before, end = s.first.item[r + 1]; at < end; ++at) {
      const int x = code[at] - first_transfer * n;
      if (x < 0 || x >= 4 * n) continue;
      const int kind = x / n, y = x - kind * n, copy = y / share;  // send and receive of forwards, then of gradients
      const int peer = kind == 0 || kind == 3 ? forward_peer[copy] : gradient_peer[copy];
      if (peer < 0 || owner[copy] != r) return refused(pipeline_code::transfer_leads_nowhere, r, at);
      int place = 0;
      if (kind == 0 || kind == 2) {
        const int number = kind == 0 ? y : n + y;
        place = sent.item[number];
        int& count = sends.item[peer];
        if (count < before) count = before;
        sent.item[number] = ++count - before;
      } else {
        const int number = kind == 1 ? y - m : n + y + m;
        place = received.item[number];
        int& count = receives.item[peer];
        if (count < before) count = before;
        received.item[number] = ++count - before;
      }
      if (place != 0) return refused(pipeline_code::action_stands_twice, r, at);
    }
  }
  pipeline_status missing;
  for (int number = 0; number < 2 * n; ++number) {
    if (sent.item[number] == received.item[number] && sent.item[number] != 0) continue;
    if ((number < n ? peers.forward : peers.gradient).item[number % n / share] < 0) continue;
    if (sent[number] == 0 || received[number] == 0) {
      const pipeline_action end = detail::action_of_message(s, number, sent[number] == 0);
      return {.code = pipeline_code::transfer_is_missing, .rank = s.rank_of(end), .action = end};
    }
    if (!missing.ok()) continue;
    const pipeline_action send = detail::action_of_message(s, number, true);
    const pipeline_action receive = detail::action_of_message(s, number, false);
    missing = pipeline_status{.code = pipeline_code::messages_cross, .rank = s.rank_of(send), .action = send};
    missing.cycle.push({s.rank_of(send), sent[number] - 1, send, receive});
  }
  return missing;
}

}}  // namespace hyperparallel::v0_2
