// SPDX-License-Identifier: Apache-2.0
#pragma once
// All strategies that have a name, under all degrees of their axes: what a search has to beat.
//
// Law: each ordered factorization of the ranks into a strategy's axes is visited once, degrees of 1 included.

#include <hyperparallel/model/named_strategies.hpp>

namespace hyperparallel {

namespace detail {

template <class Visit>
constexpr void visit_degrees(const named_strategy& n, int ranks, int left, int axis, int* degree, const Visit& visit) {
  if (axis + 1 == n.axis_count) {
    degree[axis] = left;
    const strategy_result r = strategy_called(n.name, ranks, degree, n.axis_count);
    if (r.status.code == strategy_code::ok) visit(r.strategy);
    return;
  }
  for (int d = 1; d <= left; ++d) {
    if (left % d != 0) continue;
    degree[axis] = d;
    visit_degrees(n, ranks, left / d, axis + 1, degree, visit);
  }
}

}  // namespace detail

/// Calls `visit(strategy)` for each name and each way to deal `ranks` devices to its axes.
template <class Visit>
constexpr void visit_named_strategies(int ranks, const Visit& visit) {
  for (int i = 0; i < named_strategy_count; ++i) {
    int degree[4] = {1, 1, 1, 1};
    detail::visit_degrees(named_strategy_at(i), ranks, ranks, 0, degree, visit);
  }
}

}  // namespace hyperparallel
