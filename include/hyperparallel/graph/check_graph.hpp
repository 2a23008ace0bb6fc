// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a graph keeps the laws of graph.hpp; the first breach with the names of the operator and the tensor.
//
//   - every operand is an input, a parameter, a state, or the result of an earlier operator
//   - every tensor is the result of at most one operator, the one that it names as its producer
//   - phases stand in order; the operators of a segment stand together, phase by phase
//   - an operator has a rule of its operands and results, whose factors are its loops
//   - a tensor's extents are those of the loops that its dims follow
//   - a backward or recomputed operator has the loops of its forward operator: same numbers, dims and extents, and the
//     same ones whole
//   - a tensor has the type and the shape of the one that it replaces; a gradient has the shape of its source
//
// O(operators · operands · dims).

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr graph_status check_operator_tensor(const graph& g, const graph_operator& o, const tensor_factors& t,
                                             int tensor, int i) {
  const graph_tensor& whole = g.tensor[tensor];
  if (whole.shape.rank != t.rank)
    return {graph_code::rank_differs_from_text, o.name, whole.name, i, 0, whole.shape.rank, t.rank};
  for (int d = 0; d < t.rank; ++d) {
    const extent_t extent = o.loop[t.term[d]].extent;
    if (extent != whole.shape.extent[d])
      return {graph_code::dim_differs_between_operands, o.name, whole.name, i, d, whole.shape.extent[d], extent};
  }
  return {};
}

/// Whether the operator has a rule, of as many operands, results and loops, whose dims follow one loop each.
constexpr bool has_its_rule(const graph& g, const graph_operator& o) {
  if (o.rule < 0 || o.rule >= g.rule.size) return false;
  const factor_rule& rule = g.rule_of(o);
  bool plain = true;
  for (int i = 0; i < rule.operand_count; ++i) plain = plain && rule.operand[i].plain;
  for (int r = 0; r < rule.result_count; ++r) plain = plain && rule.result[r].plain;
  return plain && rule.operand_count == o.operand_count && rule.result_count == o.result_count &&
         rule.factor_count == o.loop_count;
}

constexpr graph_status check_loops(const graph& g, const graph_operator& o) {
  if (!has_its_rule(g, o)) return {graph_code::operator_differs_from_its_rule, o.name};
  if (o.forward < 0) return {};
  const graph_operator& f = g.op[o.forward];
  for (int l = 0; l < o.loop_count; ++l)
    if (l >= f.loop_count || !(f.loop[l] == o.loop[l]) || is_whole(g.rule_of(f), l) != is_whole(g.rule_of(o), l))
      return {graph_code::loops_differ_from_forward, o.name, -1, 0, l, o.loop[l].extent};
  return {};
}

}  // namespace detail

constexpr graph_status check_graph(const graph& g) {
  if (g.status.code != graph_code::ok) return g.status;
  growing_array<bool> ready(g.tensor.size);
  for (int t = 0; t < g.tensor.size; ++t) {
    const graph_tensor& whole = g.tensor[t];
    ready[t] =
        whole.producer < 0 && whole.kind != graph_tensor_kind::activation && whole.kind != graph_tensor_kind::gradient;
    if (whole.replaces >= 0 &&
        (whole.type != g.tensor[whole.replaces].type || !(whole.shape == g.tensor[whole.replaces].shape)))
      return {graph_code::replaced_tensor_differs, -1, whole.name};
    if (whole.kind == graph_tensor_kind::gradient && whole.source >= 0 &&
        !(whole.shape == g.tensor[whole.source].shape))
      return {graph_code::replaced_tensor_differs, -1, whole.name};
  }
  growing_array<bool> closed(g.segment.size, false);  // segments of the phase whose run of operators has ended
  for (int i = 0; i < g.op.size; ++i) {
    const graph_operator& o = g.op[i];
    if (i > 0) {
      const graph_operator& before = g.op[i - 1];
      if (o.phase < before.phase) return {graph_code::phases_are_out_of_order, o.name};
      if (o.phase != before.phase) {
        closed.clear();
        closed.resize(g.segment.size, false);
      } else if (before.segment >= 0 && before.segment != o.segment) {
        closed[before.segment] = true;
      }
      if (o.segment >= 0 && closed[o.segment]) return {graph_code::segment_is_torn, o.name};
    }
    if (const graph_status s = detail::check_loops(g, o); s.code != graph_code::ok) return s;
    const factor_rule& rule = g.rule_of(o);
    for (int n = 0; n < o.operand_count; ++n) {
      if (!ready[o.operand[n]]) return {graph_code::operand_does_not_exist, o.name, g.tensor[o.operand[n]].name, n};
      const graph_status s = detail::check_operator_tensor(g, o, rule.operand[n], o.operand[n], n);
      if (s.code != graph_code::ok) return s;
    }
    for (int r = 0; r < o.result_count; ++r) {
      const int t = o.result[r];
      if (ready[t] || g.tensor[t].producer != i) return {graph_code::tensor_is_made_twice, o.name, g.tensor[t].name};
      ready[t] = true;
      const graph_status s = detail::check_operator_tensor(g, o, rule.result[r], t, r);
      if (s.code != graph_code::ok) return s;
    }
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
