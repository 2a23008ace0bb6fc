// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rollout, reward and training as programs on groups of ranks, and where the groups lie.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/controller/controller.hpp>

namespace rl {

namespace hp = hyperparallel;

struct rl_options {
  std::string placement = "disjoint";
  int steps = 300;
  int staleness = 0;    ///< updates that the weights of a rollout may lack
  bool newest = false;  ///< a rollout takes the newest weights that are there
  int threads = 0;
  std::uint64_t seed = 1;
  double rate = 3e-3;
  double at_least = 0;
  bool compare = false;
  std::string trace{};  ///< a file for Perfetto
};

/// Ranks 0 to 3 train in dp 2 x tp 2; the rollout's ranks and strategy, and what shares a row with what.
struct placement {
  const char* name;
  int first, last;
  const char* strategy;
};
inline constexpr placement placements[] = {{"colocated", 0, 3, "dp"},
                                           {"disjoint", 4, 7, "dp"},
                                           {"unequal", 4, 5, "tp"},
                                           {"overlapping", 2, 5, "dp-tp"},
                                           {"inside", 2, 3, "dp"}};

/// What a training was, to the last bit.
struct rl_course {
  std::vector<double> reward;  ///< of each step
  std::vector<float> weights;  ///< after the last
  std::vector<std::int64_t> versions;
  friend bool operator==(const rl_course&, const rl_course&) = default;
};

/// `replayed`: the versions of weights that the rollouts are to read. `shows`: prints rewards and how busy programs were.
rl_course train(const rl_options& o, const placement& p, const std::vector<std::int64_t>* replayed, bool shows);

}  // namespace rl
