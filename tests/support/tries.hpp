// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much a test tries: a sample by default, everything with HYPERPARALLEL_EXHAUSTIVE in the environment.

#include <cstdlib>

namespace tested {

inline bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

inline int tries(int few, int many) { return exhaustive() ? many : few; }

}  // namespace tested
