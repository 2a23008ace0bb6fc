// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph in another type of floats: the oracle in f64 of a model that trains in bf16, say.
//
//   hp::model_run<double> exact(hp::in_floats(graph, hp::f64), strategy);
//
// Laws: types of floats are all that changes, numbers of rows and labels stay what they are; of two passes the later one
// decides. Masters that a graph of 16 bits keeps stay, as copies. O(tensors).

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The graph with all of its floats in `type`. Domain: `is_float(type)`.
constexpr graph in_floats(graph g, data_type type) {
  for (graph_tensor& t : g.tensor)
    if (detail::is_float(t.type)) t.type = type;
  return g;
}

}}  // namespace hyperparallel::v0_2
