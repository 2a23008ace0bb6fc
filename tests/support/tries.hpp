// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much a test tries: a sample by default, everything with HYPERPARALLEL_EXHAUSTIVE in the environment.

#include <cstdlib>

namespace tested {

inline bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

/// Under the thread sanitizer everything takes some twenty times as long, and one case shows as many races as many do.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool watches_threads = true;
#else
inline constexpr bool watches_threads = false;
#endif

inline int tries(int few, int many) { return exhaustive() ? many : few; }

}  // namespace tested
