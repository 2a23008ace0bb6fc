// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages that this process posts, as MPI's profiling interface sees them: with how many bytes to whom, and late at
// random where a test asks for it. posted_messages.cpp is part of every program of tests on several processes.

#include <cstdint>
#include <random>
#include <vector>

namespace tested {

struct posted_messages {
  static inline bool late = false;  ///< one of eight waits up to 0.1 ms before it is posted
  static inline std::mt19937 random;
  static inline std::int64_t delays = 0;
  static inline std::vector<std::int64_t> bytes;  ///< of blocks that were sent to each process
};

}  // namespace tested
