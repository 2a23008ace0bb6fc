// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the replay of one vector comes to: passed, failed with a reason, or skipped with a reason.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace replay {

enum class outcome { passed, failed, skipped };

/// What a move receives: on the rank that receives most, and on all ranks together. -1: not known.
struct received_bytes {
  std::int64_t maximum = -1;
  std::int64_t total = -1;
};

/// A line of the table of moves.
struct byte_figures {
  bool known = false;  ///< the vector is a move that ours was counted for
  received_bytes theirs{};
  bool at_least = false;  ///< theirs names a part of its plan only: the rest counts with the least that it can receive
  received_bytes bound{};
  received_bytes ours{};
};

struct verdict {
  replay::outcome outcome = replay::outcome::passed;
  std::string reason{};
  std::string note{};  ///< of one that passed: what it was held against, where that differs from vector to vector
  byte_figures bytes{};
  bool malformed = false;  ///< it failed because it cannot be read: bad input
};

inline verdict pass() { return {}; }
inline verdict fail(std::string reason) { return {outcome::failed, std::move(reason), {}, {}}; }
inline verdict malformed(std::string reason) { return {outcome::failed, std::move(reason), {}, {}, true}; }
inline verdict skip(std::string reason) { return {outcome::skipped, std::move(reason), {}, {}}; }

inline verdict pass_if(bool holds, const std::string& reason) { return holds ? pass() : fail(reason); }

/// A vector that does not say what its kind needs, or says what it has no words for: malformed, with this text.
struct malformed_vector : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace replay
