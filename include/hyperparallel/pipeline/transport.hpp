// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transports of a pipeline: what sends and receives in the ranks' lists wait for.
//
//   unbounded        lists need no transfers, and those in them wait for nothing: a message leaves at its producer's end.
//   ordered queues   sends and receives of a pair stand in queues, in the order of the lists; a message passes once it is the
//                    head of both. No rank blocks in them; a rank waits for arrivals where it computes.
//   buffered<k>      a send waits until fewer than k messages of its pair and direction are under way; a receive waits for
//                    its message.
//   blocking rows    a send ends together with its receive, and both ranks wait there until then (rendezvous).
//
// Messages have no tags, as in NCCL: of an ordered pair of ranks the n-th send meets the n-th receive. Where these are not the
// same message the schedule is refused, see messages.hpp.

namespace hyperparallel { inline namespace v0_2 {

enum class transport_kind : unsigned char { unbounded, ordered_queues, buffered, blocking_rows };

struct transport {
  transport_kind kind = transport_kind::unbounded;
  int buffers = 1;  ///< of `buffered`: at least 1
  friend constexpr bool operator==(const transport&, const transport&) = default;
};

struct unbounded {
  static constexpr transport value{};
};
struct ordered_queues {
  static constexpr transport value{transport_kind::ordered_queues};
};
template <int K>
struct buffered {
  static_assert(K >= 1, "a transport has at least one buffer");
  static constexpr transport value{transport_kind::buffered, K};
};
struct blocking_rows {
  static constexpr transport value{transport_kind::blocking_rows};
};

}}  // namespace hyperparallel::v0_2
