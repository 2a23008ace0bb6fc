// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends and receives of a pipeline schedule, put where their messages are made.
//
// The rule is torch's: ranks in turn take their next action if its input is there; an action that feeds a stage on another
// rank puts its send behind it, and at the same moment the receive behind what the receiver has taken. Law: the rows are
// projections of one sequence in which each receive stands right behind its send; so messages between two ranks are sent
// and received in one order, and ranks that follow it end under every transport of transport.hpp with a buffer or without.
//
// References: torch.distributed.pipelining, _add_send_recv.

#include <hyperparallel/pipeline/messages.hpp>
#include <hyperparallel/pipeline/ready_ranks.hpp>
#include <hyperparallel/taskflow/scratch.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Entries of a schedule of this shape with `entries` entries and all transfers, at most.
constexpr int entries_with_transfers(const pipeline_shape& n, int entries) {
  return entries + 4 * (n.stages() - 1) * n.micro_batches;
}

inline constexpr int most_ranks_in_whole_turns = 64;

/// A schedule of the shape of `s` whose rows have room for its actions and transfers.
template <class To, class Sizes>
constexpr basic_pipeline_schedule<To> with_room_for_transfers(const basic_pipeline_schedule<Sizes>& s,
                                                              const stage_peers<Sizes>& peers) {
  basic_pipeline_schedule<To> to;
  to.ranks = s.ranks;
  to.stages = s.stages;
  to.micro_batches = s.micro_batches;
  to.copies = s.copies;
  for (int copy = 0; copy < s.rank_of_stage.size; ++copy) to.rank_of_stage.push(s.rank_of_stage[copy]);

  typename To::template per_rank<int> transfers;
  append_zeros(transfers, s.ranks);
  for (int copy = 0; copy < s.rank_of_stage.size; ++copy)
    transfers.item[s.rank_of_stage[copy]] += 2 * s.share() * ((peers.forward[copy] >= 0) + (peers.gradient[copy] >= 0));

  int entries = 0;
  for (int r = 0; r < s.ranks; ++r) {
    to.first.push(entries);
    entries += s.first[r + 1] - s.first[r] + transfers.item[r];
    if constexpr (Sizes::grows)
      for (int i = s.first[r]; i < s.first[r + 1]; ++i) entries -= s.action[i] == idle_slot;
  }
  to.first.push(entries);
  append_zeros(to.action, entries);
  if constexpr (fills_before_scattering && !To::grows)
    for (int i = 0; i < entries; ++i) to.action.item[i] = 0;
  return to;
}

/// Ranks in turn take their next action if its input is there, and put it and its transfers behind what is in `action`.
/// `from`, `at`: the rank's next action, and the place of its next entry; `forwards`, `gradients`: what has been taken.
template <class Sizes, class Entries, class Places, class Taken>
constexpr void take_in_turns(const basic_pipeline_schedule<Sizes>& s, const stage_peers<Sizes>& peers, Entries& action,
                             Places& from, Places& at, Taken& forwards, Taken& gradients) {
  const int m = s.micro_batches, n = s.stages * m, share = s.share();
  constexpr int send_forward = static_cast<int>(action_kind::send_forward), receive_forward = send_forward + 1;
  constexpr int send_backward = send_forward + 2, receive_backward = send_forward + 3;
  constexpr int pair = static_cast<int>(action_kind::overlapped_forward);
  auto& code = s.action.item;
  auto& forward_peer = peers.forward.item;
  auto& gradient_peer = peers.gradient.item;
  // Of many ranks a turn leaves out those that wait until their input comes: they would not have taken anything.
  const bool all = s.ranks <= most_ranks_in_whole_turns;
  ready_ranks ready(all ? 1 : s.ranks);
  for (bool left = true; left;) {
    left = false;
    for (int r = all ? 0 : ready.next(0); all ? r < s.ranks : r >= 0; r = all ? r + 1 : ready.next(r + 1)) {
      const int end = s.first.item[r + 1];
      int i = from[r];
      if constexpr (Sizes::grows)
        while (i < end && code[i] == idle_slot) from[r] = ++i;
      if (!all) ready.erase(r);
      if (i == end) continue;
      const int x = code[i], kind = x / n;
      int partner = -1;  // the code of a pair's backward
      if (kind == pair) {
        while (code[++i] == idle_slot) continue;
        partner = code[i];
      }
      const int f = kind == 0 ? x : kind == pair ? x - pair * n : -1;
      const int b = kind == 1 || kind == 3 ? x % n : partner >= 0 ? partner % n : -1;
      if (f >= m && !forwards[f - m]) continue;
      if (b >= 0 && b + m < n && !gradients[b + m]) continue;
      left = true;
      if (!all) ready.insert(r);
      action[at[r]++] = x;
      if (partner >= 0) action[at[r]++] = partner;
      if (f >= 0) {
        forwards[f] = true;
        const int peer = forward_peer[f / share];
        if (peer >= 0) {
          action[at[r]++] = send_forward * n + f;
          action[at[peer]++] = receive_forward * n + f + m;
          if (!all) ready.insert(peer);
        }
      }
      if (b >= 0) {
        gradients[b] = true;
        const int peer = gradient_peer[b / share];
        if (peer >= 0) {
          action[at[r]++] = send_backward * n + b;
          action[at[peer]++] = receive_backward * n + b - m;
          if (!all) ready.insert(peer);
        }
      }
      from[r] = i + 1;
    }
  }
}

}  // namespace detail

/// `s` with the transfers of each hop between ranks; idle slots are left out. Precondition: `check_schedule(s)` is ok.
/// Complexity: linear in the actions, in memory too; of more than 64 ranks log₆₄ ranks for each.
template <class To = growing_pipeline_sizes, class Sizes>
constexpr basic_pipeline_schedule<To> place_transfers(const basic_pipeline_schedule<Sizes>& s) {
  const detail::stage_peers<Sizes> peers(s);
  basic_pipeline_schedule<To> to = detail::with_room_for_transfers<To>(s, peers);
  typename To::template per_rank<int> from, at;
  for (int r = 0; r < s.ranks; ++r) {
    from.push(s.first[r]);
    at.push(to.first[r]);
  }
  typename To::template per_chunk<bool> forwards, gradients;
  detail::append_zeros(forwards, s.stages * s.micro_batches);
  detail::append_zeros(gradients, s.stages * s.micro_batches);
  detail::take_in_turns(s, peers, to.action.item, from.item, at.item, forwards.item, gradients.item);
  return to;
}

}}  // namespace hyperparallel::v0_2
