// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the replay of one vector comes to: passed, failed with a reason, or skipped with a reason.

#include <stdexcept>
#include <string>

namespace replay {

enum class outcome { passed, failed, skipped };

struct verdict {
  replay::outcome outcome = replay::outcome::passed;
  std::string reason{};
  std::string note{};  ///< of one that passed: what it was held against, where that differs from vector to vector
};

inline verdict pass() { return {}; }
inline verdict fail(std::string reason) { return {outcome::failed, std::move(reason), {}}; }
inline verdict skip(std::string reason) { return {outcome::skipped, std::move(reason), {}}; }

inline verdict pass_if(bool holds, const std::string& reason) { return holds ? pass() : fail(reason); }

/// A vector that does not say what its kind needs: counts as failed, with this text.
struct malformed_vector : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace replay
