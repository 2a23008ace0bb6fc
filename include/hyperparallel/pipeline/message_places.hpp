// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a pipeline's taskflow holds, before it is filled: how many of everything, and where each message stands.
//
// Law: what is counted here is what `lower_pipeline` fills, for every schedule that `check_schedule` accepts: each F, and
// each I or B, of a stage whose neighbour is on another rank sends one message, which one action there waits for.

#include <hyperparallel/pipeline/messages.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Where the messages of a flow stand. A hop is a copy of a stage for its forwards, copies of all stages + that for its
/// gradients. Each has a block of numbers, one for each micro-batch of the copy, of which the first is here; −1: nobody is on
/// another rank. A number is that of an event and of a slot. Numbers rise with the rank whose memory holds them: so slots stand
/// in the order of addresses.
template <class Sizes>
struct message_places {
  typename Sizes::template per_hop<int> arriving;  ///< hop → in the memory of the receiver
  typename Sizes::template per_hop<int>
      written;                                 ///< hop → what the producer writes; with link tasks, in its own memory
  typename Sizes::template per_hop<int> read;  ///< hop → what F, or I and B, of that copy read
  typename Sizes::template per_rank<int> end;  ///< rank → past the numbers in its memory

  /// Complexity: ranks times copies of stages.
  constexpr message_places(const basic_pipeline_schedule<Sizes>& s, bool link_tasks) {
    const int all = s.stages * s.copies, hops = 2 * all, share = s.share();
    const stage_peers<Sizes> peers(s);
    typename Sizes::template per_hop<int> from, to;
    for (int hop = 0; hop < hops; ++hop) {
      (arriving.push(-1), written.push(-1), read.push(-1));
      to.push(hop < all ? peers.forward.item[hop] : peers.gradient.item[hop - all]);
      from.push(to.item[hop] < 0 || !link_tasks ? -1 : s.rank_of_stage.item[hop < all ? hop : hop - all]);
    }
    for (int r = 0, next = 0; r < s.ranks; ++r) {
      for (int hop = 0; hop < hops; ++hop) {
        if (to.item[hop] == r) {
          arriving.item[hop] = next;
          read.item[hop < all ? hop + s.copies : hop - s.copies] = next;
          next += share;
        }
        if (from.item[hop] == r) {
          written.item[hop] = next;
          next += share;
        }
      }
      end.push(next);
    }
    if (!link_tasks) written = arriving;
  }
};

/// Adds what the lowered flow holds, counted. Complexity: one look at each entry.
template <class Sizes>
constexpr void count_pipeline(taskflow_size& size, const basic_pipeline_schedule<Sizes>& s, bool link_tasks) {
  const int n = s.stages * s.micro_batches, pairs = static_cast<int>(action_kind::overlapped_forward) * n;
  const int recomputations = static_cast<int>(action_kind::recompute) * n;
  int tasks = 0, hops = 0;
  auto& code = s.action.item;
  for (int i = 0, entries = s.action.size; i < entries; ++i) {
    const int x = code[i];
    if (x < pairs ? x >= 0 : x >= recomputations) ++tasks;  // a pair counts at its backward
  }
  for (int copy = s.copies; copy < s.stages * s.copies; ++copy)
    if (s.rank_of_stage.item[copy] != s.rank_of_stage.item[copy - s.copies]) hops += 2;
  const int messages = hops * s.share(), parts = link_tasks ? 2 * messages : messages;
  if (link_tasks) tasks += messages;
  size.tasks += tasks;
  size.runs += tasks;
  int* const once[] = {&size.waits, &size.signals, &size.signal_uses, &size.events, &size.slots};
  int* const twice[] = {&size.accesses, &size.access_uses};
  for (int* count : once) *count += parts;
  for (int* count : twice) *count += 2 * parts;
}

}}}  // namespace hyperparallel::v0_2::detail
