// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a graph is a step of training that learns; the first thing that is missing.
//
//   - it has a loss, at least one micro-batch, and gradients
//   - the gradient of the loss is 1 / micro-batches: what accumulates is the mean
//   - with several micro-batches, norms and updates read accumulated gradients or sums of these, not the last one's
//   - some parameter has a next value
//
// A graph without gradients may run forward; a graph without optimizer may show gradients. Neither is a step of
// training, though each would return a loss. O(operators · operands).

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The first breach of what an optimizer rests on: micro-batches, loss, gradients.
constexpr graph_status check_gradients(const graph& g) {
  if (g.status.code != graph_code::ok) return g.status;
  if (g.micro_batches < 1) return {graph_code::micro_batches_are_not_positive, -1, -1, 0, 0, g.micro_batches};
  if (g.loss < 0) return {graph_code::model_has_no_loss};
  bool has_gradient = false;
  for (const graph_tensor& t : g.tensor)
    has_gradient = has_gradient || (t.kind == graph_tensor_kind::parameter && t.gradient >= 0);
  if (!has_gradient) return {graph_code::graph_has_no_gradients, -1, g.tensor[g.loss].name};
  for (const graph_operator& o : g.op) {
    const bool is_seed = o.operand_count == 0 && o.phase == graph_phase::backward && o.result_count == 1 &&
                         g.tensor[o.result[0]].source == g.loss;
    if (is_seed && o.real[0] != 1.0 / static_cast<double>(g.micro_batches))
      return {graph_code::micro_batches_changed,           -1, g.tensor[g.loss].name, 0, 0, g.micro_batches,
              static_cast<extent_t>(1.0 / o.real[0] + 0.5)};
  }
  return {};
}

}  // namespace detail

/// The first reason why steps of the graph would not train it.
constexpr graph_status check_training(const graph& g) {
  const graph_status s = detail::check_gradients(g);
  if (s.code != graph_code::ok) return s;
  bool learns = false;
  for (const graph_operator& o : g.op) {
    if (o.phase != graph_phase::norm && o.phase != graph_phase::update) continue;
    for (int r = 0; r < o.result_count && o.phase == graph_phase::update; ++r)
      learns =
          learns || (g.tensor[o.result[r]].kind == graph_tensor_kind::parameter && g.tensor[o.result[r]].replaces >= 0);
    for (int i = 0; i < o.operand_count && g.micro_batches > 1; ++i) {
      const graph_tensor& read = g.tensor[o.operand[i]];
      if (read.kind == graph_tensor_kind::gradient && read.producer >= 0 &&
          g.op[read.producer].phase < graph_phase::norm && !g.value_of(g.op[read.producer]).accumulates)
        return {graph_code::micro_batches_changed, o.name, read.name, i, 0, g.micro_batches, 1};
    }
  }
  if (!learns) return {graph_code::graph_has_no_optimizer};
  return {};
}

}}  // namespace hyperparallel::v0_2
