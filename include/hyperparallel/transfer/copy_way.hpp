// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a move stores and fetches, chosen by the times of its own first runs.
//
// Whether streaming stores win, and whether fetching ahead helps them, depends on the processor, on how much of its
// cache a virtual machine has, and on who else uses the memory; what a system reports of its caches says neither.
// Moves are run many times: the first runs go every way in turn, and the fastest stays. Until then, and among ways that
// differ by less than a sixteenth, the rule by the size of the cache holds (`stores_for`).
// Laws: every way leaves the same bytes; moves of less than `least_measured` bytes, and those whose caller says from
// how many bytes on they stream, go one way from the first run on; the way does not change once it is settled.

#include <cstdint>

#include <hyperparallel/kernels/streaming_copy.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct copy_way {
  store_kind stores = store_kind::cached;
  bool fetches_ahead = false;  ///< of streaming stores: what is read some pages later
  friend constexpr bool operator==(const copy_way&, const copy_way&) = default;
};

inline constexpr copy_way cached_copy{store_kind::cached, false};
inline constexpr copy_way streaming_copy{store_kind::streaming, false};
namespace detail {

inline constexpr copy_way streaming_ahead{store_kind::streaming, true};

}  // namespace detail

/// The choice of one move. Not for several threads at once.
class way_choice {
 public:
  /// Smaller moves take too short to be measured, and their targets stay in any cache.
  static constexpr std::int64_t least_measured = std::int64_t{4} << 20;
  /// Runs of each way: the first finds what the way before left in the caches, one may be disturbed.
  static constexpr int runs_of_a_way = 3;

  way_choice() = default;

  /// Of a move whose targets have `bytes` together; `streaming_from` as in `stores_for`.
  explicit way_choice(std::int64_t bytes, std::int64_t streaming_from = -1)
      : way_{stores_for(bytes, streaming_from) == store_kind::streaming ? detail::streaming_ahead : cached_copy} {
    if (!detail::has_streaming_stores || streaming_from >= 0 || bytes < least_measured) return;
    ways_ = 0;
    const copy_way all[] = {way_[0], detail::streaming_ahead, streaming_copy, cached_copy};
    for (const copy_way& w : all)
      if (ways_ == 0 || w != way_[0]) way_[ways_++] = w;
    runs_ = -1;
  }

  /// The way of the next run.
  copy_way next() const { return way_[settled() || runs_ < 0 ? 0 : runs_ / runs_of_a_way]; }

  /// No run is measured any more.
  bool settled() const { return ways_ == 1; }

  /// The run went `next()` to its end, in so much time. The very first one also brings pages in: it does not count.
  void took(std::int64_t nanoseconds) {
    if (settled()) return;
    if (runs_ >= 0) {
      const int w = runs_ / runs_of_a_way;
      if (runs_ % runs_of_a_way == 0 || nanoseconds < time_[w]) time_[w] = nanoseconds;
    }
    if (++runs_ == ways_ * runs_of_a_way) settle();
  }

 private:
  void settle() {
    int best = 0;
    for (int w = 1; w < ways_; ++w)
      if (time_[w] < (best == 0 ? time_[0] - time_[0] / 16 : time_[best])) best = w;
    way_[0] = way_[best];
    ways_ = 1;
  }

  copy_way way_[3] = {cached_copy, {}, {}};  ///< the first by the rule
  int ways_ = 1;                             ///< to be measured; 1: the first is chosen
  int runs_ = 0;                             ///< that were measured; -1: no run yet
  std::int64_t time_[3] = {};                ///< the least of each way, nanoseconds
};

}}  // namespace hyperparallel::v0_2
