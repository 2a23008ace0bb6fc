// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a running execution table, each on its own cache line: progress words of queues, counters of events.
//
// Words are never cleared between runs. In run number g (the generation, from 0) a threshold n holds when the word has
// reached g · period + n, where the period of a progress word is its queue's length and that of a counter its signals
// in one run; compared by signed difference, so that wrapping is harmless. Law: no run leaves a progress word above
// (g + 1) · period, so a broken run needs no clean-up of them; counters that a broken run left short are set right by
// `level`.
//
// Handshake with sleeping workers: whoever is not alone publishes by a sequentially consistent read-modify-write, or a
// store where sleepers fence, and then looks at who rests (plan_state.hpp).

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/support/owned.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The value that event counter must reach for a wait of `threshold` in run `generation`.
constexpr std::uint32_t event_target(std::uint32_t generation, std::uint32_t total, std::uint32_t threshold) {
  return generation * total + threshold;
}

/// Whether `value` is at or past `target`. Domain: the two are less than 2³¹ apart.
constexpr bool event_reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;
}

class sync_words {
 public:
  struct alignas(cache_line) word {
    std::atomic<std::uint32_t> value{0};
    std::uint32_t period = 0;
    bool is_private = false;  ///< of a counter: one worker alone signals and waits for it
  };

  sync_words() = default;
  explicit sync_words(int count)
      : count_(count), word_(detail::make_owned_array<word>(static_cast<std::size_t>(count))) {}

  int count() const { return count_; }
  word& operator[](int w) { return word_[static_cast<std::size_t>(w)]; }
  const word& operator[](int w) const { return word_[static_cast<std::size_t>(w)]; }

  bool reached(int w, std::uint32_t generation, std::uint32_t threshold, std::memory_order order) const {
    const word& x = (*this)[w];
    return event_reached(x.value.load(order), event_target(generation, x.period, threshold));
  }

  /// All words to where run `generation` begins. Domain: nobody is running.
  void level(std::uint32_t generation) {
    for (int w = 0; w < count_; ++w) (*this)[w].value.store(generation * (*this)[w].period, std::memory_order_relaxed);
  }

 private:
  int count_ = 0;
  detail::owned<word[]> word_;
};

}}}  // namespace hyperparallel::v0_2::detail
