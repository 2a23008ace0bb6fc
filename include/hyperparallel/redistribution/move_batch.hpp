// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several tensors in one plan: what one rank sends another in a step is one packed message, whatever tensors it is of.
//
// Step k of the batch is step k of each tensor that has one. A message is the transfers from one rank to another, one
// behind the other: large elements first, then tensor by tensor, then in the order of the transfers.
// Laws: a rank gets one message a step from each peer that has something for it; a message has the bytes of its
// transfers and no gap; where element sizes are powers of two every transfer begins at a multiple of its element's.
// What a rank keeps is a message to itself: a local copy, which no figure counts.
// Units: bytes.

#include <hyperparallel/redistribution/relocation_certificate.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct batch_tensor {
  const relocation* plan = nullptr;  ///< its code is ok
  int element_bytes = 1;
};

/// One transfer in its message.
struct packed_transfer {
  int step = 0;
  int receiver = 0, sender = 0;  ///< ranks
  int tensor = 0;
  int position = 0;     ///< of the receiver on its side
  int index = 0;        ///< among the transfers of that receiver, tensor and step
  extent_t offset = 0;  ///< in the message
  extent_t bytes = 0;
  relocated what{};
};

struct packed_message {
  int step = 0;
  int receiver = 0, sender = 0;  ///< ranks; equal: a local copy
  int first = 0, count = 0;      ///< its transfers
  extent_t bytes = 0;
};

struct batch_size {
  int transfers = 0;
  int messages = 0;
};

namespace detail {

constexpr int steps_of_batch(const batch_tensor* tensors, int count) {
  int steps = 0;
  for (int i = 0; i < count; ++i)
    if (tensors[i].plan->plan.step_count > steps) steps = tensors[i].plan->plan.step_count;
  return steps;
}

constexpr bool packed_before(const packed_transfer& a, const packed_transfer& b, const batch_tensor* tensors) {
  if (a.step != b.step) return a.step < b.step;
  if (a.receiver != b.receiver) return a.receiver < b.receiver;
  if (a.sender != b.sender) return a.sender < b.sender;
  const int large = tensors[a.tensor].element_bytes, small = tensors[b.tensor].element_bytes;
  if (large != small) return large > small;
  if (a.tensor != b.tensor) return a.tensor < b.tensor;
  return a.position != b.position ? a.position < b.position : a.index < b.index;
}

/// Heap sort: no scratch, O(n log n) however the transfers come.
constexpr void sort_transfers(packed_transfer* list, int count, const batch_tensor* tensors) {
  const auto sift = [&](int root, int end) {
    const packed_transfer moved = list[root];
    for (int child = 2 * root + 1; child < end; child = 2 * root + 1) {
      if (child + 1 < end && packed_before(list[child], list[child + 1], tensors)) ++child;
      if (!packed_before(moved, list[child], tensors)) break;
      list[root] = list[child];
      root = child;
    }
    list[root] = moved;
  };
  for (int root = count / 2; root-- > 0;) sift(root, count);
  for (int end = count; end-- > 1;) {
    const packed_transfer last = list[end];
    list[end] = list[0];
    list[0] = last;
    sift(0, end);
  }
}

/// Elements of the block that step `k` of `r` leaves at `rank`.
constexpr extent_t elements_after(const relocation& r, int k, int rank) {
  const move_step& step = r.plan.step[k];
  const int p = position_in(receiver_ranks(r, step), rank);
  if (p < 0) return 0;
  if (r.form != relocation_form::runs) return volume(target_frame(step, r.plan.shape, p));
  const bool source = receives_at_source(step);
  const layout_value& l = source ? step.source : step.target;
  return volume(slice_at(l, source ? r.plan.shape : r.target_shape, coordinates_of(l.mesh, p)));
}

/// Elements at `rank` during step `k` of a batch: the source, the block read and the block written.
constexpr extent_t elements_during(const relocation& r, int k, int rank) {
  const int steps = r.plan.step_count, p = position_in(r.source_ranks, rank);
  if (steps == 0) return 0;  // nothing is copied: the block stays the caller's
  const extent_t source = p < 0 ? 0 : volume(source_frame(r.plan.step[0], r.plan.shape, p));
  if (k >= steps) return source + elements_after(r, steps - 1, rank);
  return source + (k > 0 ? elements_after(r, k - 1, rank) : 0) + elements_after(r, k, rank);
}

}  // namespace detail

/// Who packs: every rank's messages, or only those that one rank sends or gets.
inline constexpr int every_rank = -1;

namespace detail {

/// Calls visit(packed_transfer) for the transfers of a batch that concern `rank`, without their places in messages.
template <class Visit>
constexpr void for_each_packed(const batch_tensor* tensors, int count, int rank, Visit&& visit) {
  for (int i = 0; i < count; ++i) {
    const relocation& r = *tensors[i].plan;
    for (int k = 0; k < r.plan.step_count; ++k) {
      const rank_list& receivers = receiver_ranks(r, r.plan.step[k]);
      for (int q = 0; q < receivers.count; ++q) {
        int index = 0;
        const int receiver = rank_at(receivers, q);
        for_each_transfer(r, k, q, [&](const relocated& t) {
          const int sender = rank_at(r.source_ranks, t.sender), own = index++;
          if (rank != every_rank && rank != receiver && rank != sender) return;
          visit(packed_transfer{k, receiver, sender, i, q, own, 0, t.elements * tensors[i].element_bytes, t});
        });
      }
    }
  }
}

}  // namespace detail

/// Transfers of a batch that are not empty, local ones included. O(ranks · transfers of a receiver), for each tensor.
constexpr int count_transfers(const batch_tensor* tensors, int count, int rank = every_rank) {
  int n = 0;
  detail::for_each_packed(tensors, count, rank, [&](const packed_transfer&) { ++n; });
  return n;
}

/// Packs a batch: transfers sorted by step, receiver and sender, and the messages that they make up, in that order.
/// Both arrays have `count_transfers(tensors, count, rank)` entries. A rank that packs only its own messages gets the
/// same ones. O(transfers · (their cost + log transfers)).
constexpr batch_size pack(const batch_tensor* tensors, int count, packed_transfer* transfers, packed_message* messages,
                          int rank = every_rank) {
  batch_size n;
  detail::for_each_packed(tensors, count, rank, [&](const packed_transfer& t) { transfers[n.transfers++] = t; });
  detail::sort_transfers(transfers, n.transfers, tensors);
  for (int i = 0; i < n.transfers; ++i) {
    packed_transfer& t = transfers[i];
    const bool starts = i == 0 || t.step != transfers[i - 1].step || t.receiver != transfers[i - 1].receiver ||
                        t.sender != transfers[i - 1].sender;
    if (starts) messages[n.messages++] = {t.step, t.receiver, t.sender, i, 0, 0};
    packed_message& m = messages[n.messages - 1];
    t.offset = m.bytes;
    m.bytes += t.bytes;
    ++m.count;
  }
  return n;
}

/// What a batch costs its busiest rank, in messages and bytes; local copies are not counted.
struct batch_certificate {
  int steps = 0;
  int messages_maximum = 0;       ///< that a rank gets: its peers, step by step
  int messages_total = 0;         ///< of all ranks
  extent_t received_maximum = 0;  ///< by the rank that receives most, over all steps
  extent_t received_total = 0;    ///< by all ranks
  extent_t sent_maximum = 0;      ///< by the rank that sends most
  extent_t peak_bytes = 0;        ///< of the blocks of all tensors at the largest rank
  extent_t staged_bytes = 0;      ///< of the messages that a rank sends and gets in a step, for those who stage them
  friend constexpr bool operator==(const batch_certificate&, const batch_certificate&) = default;
};

namespace detail {

/// One more than the largest rank of any side. O(ranks).
constexpr int rank_bound(const batch_tensor* tensors, int count) {
  int bound = 0;
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < tensors[i].plan->source_ranks.count + tensors[i].plan->target_ranks.count; ++p) {
      const int sources = tensors[i].plan->source_ranks.count;
      const int rank =
          p < sources ? rank_at(tensors[i].plan->source_ranks, p) : rank_at(tensors[i].plan->target_ranks, p - sources);
      if (rank >= bound) bound = rank + 1;
    }
  return bound;
}

}  // namespace detail

/// Certifies a packed batch. `tally` has 4 · rank_bound zeroed entries. O(messages + steps · ranks · tensors · lookup).
constexpr batch_certificate certify(const batch_tensor* tensors, int count, const packed_message* messages,
                                    const batch_size& size, extent_t* tally) {
  batch_certificate c;
  c.steps = detail::steps_of_batch(tensors, count);
  const int ranks = detail::rank_bound(tensors, count);
  extent_t *received = tally, *sent = tally + ranks, *got = sent + ranks, *staged = got + ranks;
  int next = 0;
  for (int k = 0; k < c.steps; ++k) {
    for (int rank = 0; rank < ranks; ++rank) staged[rank] = 0;
    for (; next < size.messages && messages[next].step == k; ++next) {
      const packed_message& m = messages[next];
      if (m.sender == m.receiver) continue;
      received[m.receiver] += m.bytes;
      sent[m.sender] += m.bytes;
      staged[m.receiver] += m.bytes;
      staged[m.sender] += m.bytes;
      ++got[m.receiver];
      ++c.messages_total;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      extent_t held = 0;
      for (int i = 0; i < count; ++i)
        held += detail::elements_during(*tensors[i].plan, k, rank) * tensors[i].element_bytes;
      c.peak_bytes = larger(c.peak_bytes, held);
      c.staged_bytes = larger(c.staged_bytes, staged[rank]);
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    c.received_total += received[rank];
    c.received_maximum = larger(c.received_maximum, received[rank]);
    c.sent_maximum = larger(c.sent_maximum, sent[rank]);
    if (got[rank] > c.messages_maximum) c.messages_maximum = static_cast<int>(got[rank]);
  }
  return c;
}

}}  // namespace hyperparallel::v0_2
