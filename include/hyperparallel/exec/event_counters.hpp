// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events as counters alone, one per event, each on its own cache line: for protocols written by hand beside a
// plan. A plan that runs keeps fewer words than it has events, see sync_words.hpp, by the same rules.
//
// Counters are never cleared between runs. Run number g (the generation, from 0) holds a wait of threshold n on an
// event of `total` signals a run when the counter has reached g · total + n, compared by signed difference, so that
// wrapping is harmless. Law: after a complete run every counter equals (g + 1) · total, hence the next one starts
// clean; a run that was broken off breaks this law and needs `reset`.

#include <atomic>
#include <cstdint>

#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/support/owned.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The value that event counter must reach for a wait of `threshold` in run `generation`.
constexpr std::uint32_t event_target(std::uint32_t generation, std::uint32_t total, std::uint32_t threshold) {
  return generation * total + threshold;
}

/// Whether `value` is at or past `target`. Domain: the two are less than 2³¹ apart.
constexpr bool event_reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;
}

class event_counters {
 public:
  event_counters() = default;
  explicit event_counters(int events)
      : count_(events), counter_(detail::make_owned_array<counter>(static_cast<std::size_t>(events))) {}

  int count() const { return count_; }

  std::uint32_t value(int event, std::memory_order order = std::memory_order_acquire) const {
    return at(event).load(order);
  }

  bool reached(int event, std::uint32_t target, std::memory_order order = std::memory_order_acquire) const {
    return event_reached(value(event, order), target);
  }

  /// One signal from any thread. Everything that the caller wrote before is visible to whoever sees the new count;
  /// sequentially consistent besides, as the doorbell's handshake asks.
  void signal(int event) { at(event).fetch_add(1, std::memory_order_seq_cst); }

  /// All counters to zero. Domain: nobody is signalling or waiting. O(events).
  void reset() {
    for (int e = 0; e < count_; ++e) at(e).store(0, std::memory_order_relaxed);
  }

 private:
  struct alignas(cache_line) counter {
    std::atomic<std::uint32_t> value{0};
  };

  std::atomic<std::uint32_t>& at(int event) const { return counter_[static_cast<std::size_t>(event)].value; }

  int count_ = 0;
  detail::owned<counter[]> counter_;
};

}}  // namespace hyperparallel::v0_2
