// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts the operators of a graph into another order: passes append what they add and then move it to its place.
//
// Law: only numbers of operators change, in `graph_tensor::producer` and `graph_operator::forward`; the order named is
// a permutation. O(operators + tensors).

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Operator `order[i]` becomes operator i.
constexpr void arrange_operators(graph& g, const growing_array<int>& order) {
  growing_array<graph_operator> arranged;
  arranged.reserve(order.size);
  growing_array<int> place(g.op.size, -1);
  for (int i = 0; i < order.size; ++i) {
    place[order[i]] = i;
    arranged.push(g.op[order[i]]);
  }
  for (int i = 0; i < arranged.size; ++i)
    if (arranged[i].forward >= 0) arranged[i].forward = place[arranged[i].forward];
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].producer >= 0) g.tensor[t].producer = place[g.tensor[t].producer];
  g.op = static_cast<growing_array<graph_operator>&&>(arranged);
}

}}}  // namespace hyperparallel::v0_2::detail
