// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that kernels are tried on: normally distributed, the same for the same seed.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace kernel_test {

inline std::vector<float> noise(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = normal(random);
  return v;
}

}  // namespace kernel_test
