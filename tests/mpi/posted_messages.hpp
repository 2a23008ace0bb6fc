// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages that this process posts, as MPI's profiling interface sees them: with how many bytes to whom, late at
// random where a test asks for it, and one of them with a bit that flips on the way. posted_messages.cpp is part of every program of tests on several processes.

#include <cstdint>
#include <random>
#include <vector>

namespace tested {

struct posted_messages {
  static inline bool late = false;  ///< one of eight waits up to 0.1 ms before it is posted
  static inline std::mt19937 random;
  static inline std::int64_t delays = 0;
  static inline std::vector<std::int64_t> bytes;  ///< of blocks that were sent to each process

  static inline std::int64_t sent = 0;      ///< with bytes, since `damage`
  static inline std::int64_t damaged = -1;  ///< the number of the one whose bit flips
  static inline std::uint64_t drawn = 0;    ///< says which bit
  /// A bit of message `number` from here on flips; of none where it is -1.
  static void damage(std::int64_t number, std::uint64_t bit = 0) {
    sent = 0;
    damaged = number;
    drawn = bit;
  }
};

}  // namespace tested
