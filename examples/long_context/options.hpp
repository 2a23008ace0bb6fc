// SPDX-License-Identifier: Apache-2.0
#pragma once
// What long_context is told on its command line.

#include <cstdint>
#include <stdexcept>
#include <string>

#include <hyperparallel/offload/offload_link.hpp>

#include "sizes.hpp"

namespace long_context {

struct options {
  int layers = 4;
  std::int64_t sequence = 4096;
  std::int64_t tokens = 32;
  std::int64_t budget = 6 * hp::MiB;
  std::int64_t capacity = 64 * hp::MiB;
  double bandwidth = 4;
  double latency = 10;
  std::uint64_t seed = 1;

  hp::offload_link link() const {
    return {static_cast<std::int64_t>(bandwidth * 1e9),
            static_cast<std::int64_t>(latency * static_cast<double>(hp::microsecond))};
  }
  std::int64_t positions() const { return sequence + tokens; }
};

/// Throws std::invalid_argument, which names the option, for what fits nowhere.
inline budget_plan checked_plan(const options& o) {
  const budget_plan p = plan_for(o.layers, o.budget, o.capacity);
  if (o.positions() > p.longest_offloaded)
    throw std::invalid_argument("--sequence and --tokens make " + std::to_string(o.positions()) +
                                " positions, --budget " + std::to_string(o.budget) + " and --capacity " +
                                std::to_string(o.capacity) + " hold " + std::to_string(p.longest_offloaded));
  return p;
}

}  // namespace long_context
