// SPDX-License-Identifier: Apache-2.0
#pragma once
// A8: routing skew, on the rank that receives the most: its experts get r times their balanced rows, in a plan that has room
// for six times as many. Kernels leave out the slots that no row took (kernels/ops/), so steps take what the rows take that came;
// the order of the queues is the plan's. Linear law: T(r) ≤ 1.05 r · T(1).

#include "modules.hpp"

namespace tables {

inline constexpr int skew_ep = 8, most_skew = 6;

inline anchor_rows skew(const parameters& p) {
  anchor_rows rows;
  const int balanced = balanced_rows(skew_ep);
  for (const module_pass pass : passes) {
    const auto time = [&](int sixteenths) {
      return static_cast<double>(run_module(p, {.ep = skew_ep,
                                                .pass = pass,
                                                .tiles = 32,
                                                .hop = p.prompt_hop.value,
                                                .rows = balanced * sixteenths / 16,
                                                .room = balanced * most_skew})
                                     .makespan);
    };
    const double one = time(16);
    double least = 1, most = 1;
    for (int sixteenths = 18; sixteenths <= 16 * most_skew; sixteenths += 2) {
      const double linear = time(sixteenths) * 16 / (sixteenths * one);
      least = std::min(least, linear);
      most = std::max(most, linear);
    }
    const std::string name = fmt::format("EP{} {}, r = 1 … {}", skew_ep, name_of(pass), most_skew);
    rows.push_back({"A8", name + ": most of T(r) / (r T(1))", "x", std::nullopt, most, criterion::at_most, 1.05, 4});
    rows.push_back({"A8", name + ": least of T(r) / (r T(1))", "x", std::nullopt, least, criterion::at_least, 0.85, 4});
  }
  return rows;
}

}  // namespace tables
