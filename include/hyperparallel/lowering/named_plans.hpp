// SPDX-License-Identifier: Apache-2.0
#pragma once
// All strategies that have a name, under all degrees of their axes: what a search has to beat.
//
// Law: each ordered factorization of the ranks into a strategy's axes is visited once, degrees of 1 included.

#include <hyperparallel/strategy/named_strategies.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Calls `visit(strategy)` for each name and each way to deal `ranks` devices to its axes.
template <class Visit>
constexpr void visit_named_strategies(int ranks, const Visit& visit) {
  for (int i = 0; i < named_strategy_count; ++i) {
    const named_strategy& n = named_strategy_at(i);
    const int last = n.axis_count - 1;
    int degree[most_named_axes] = {}, left[most_named_axes] = {ranks};  // `left` for an axis and those inside it
    for (int axis = 0; axis >= 0;) {
      if (axis == last) {
        degree[axis] = left[axis];
        const strategy_result r = strategy_called(n.name, ranks, degree, n.axis_count);
        if (r.status.code == strategy_code::ok) visit(r.strategy);
        --axis;
        continue;
      }
      do ++degree[axis];
      while (degree[axis] < left[axis] && left[axis] % degree[axis] != 0);
      if (degree[axis] > left[axis]) {
        --axis;
        continue;
      }
      left[axis + 1] = left[axis] / degree[axis];
      degree[++axis] = 0;
    }
  }
}

}}  // namespace hyperparallel::v0_2
