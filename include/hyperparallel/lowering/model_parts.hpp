// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a model that choose how to shard by themselves: embedding, attention and feed-forward blocks, head.
//
// The forward operators are cut where one tensor alone goes on (the sum of a residual, or an embedding): that tensor
// joins two parts. A repeated layer is folded, so its parts choose once. Everything else of a training graph follows:
// backward operators belong to the part of their forward operator, gradients, states and updates to that of their
// tensor; the sum that makes the gradient of a joint, and whatever leads to it, to the part that reads the joint.
//
// Laws: every operator and tensor belongs to one part; parts are a chain, part i reads what part i - 1 leaves and
// nothing else that an operator made. Where a parameter or an input is read in two parts, or a cut would lie inside a
// segment's end, the model is one part. Complexity: O(operators + tensors).

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A model of more parts is one part.
inline constexpr int max_model_parts = 32;

struct model_part {
  int first = 0, last = 0;  ///< forward operators
  int leaves = -1;          ///< the joint to the next part; -1: the last part
  int segment = -1;
  friend constexpr bool operator==(const model_part&, const model_part&) = default;
};

struct model_parts {
  growing_array<model_part> part;
  growing_array<int> of_op;
  growing_array<int> of_tensor;
  growing_array<int> joint;           ///< of each tensor: the part that leaves it, recomputed or not; -1: no joint
  growing_array<int> joint_gradient;  ///< of each tensor: the part of whose joint it is the gradient, or -1
  growing_array<int> ruled_by;        ///< of each operator: the part whose names it has
};

namespace detail {

class part_finder {
 public:
  constexpr explicit part_finder(const graph& given) : g(given) {
    while (forward < g.op.size && g.op[forward].phase == graph_phase::forward) ++forward;
  }

  constexpr model_parts run() {
    cut();
    if (parts.part.size > max_model_parts || !is_chain()) {
      parts.part.clear();
      parts.part.push({0, forward - 1, -1, -1});
      for (int o = 0; o < forward; ++o) parts.of_op[o] = 0;
    }
    spread();
    return static_cast<model_parts&&>(parts);
  }

 private:
  constexpr bool joins(const graph_operator& o) const {
    const operator_value& value = g.value_of(o);
    return (value.adds || value.gathered != 0) && o.result_count == 1 && g.tensor[o.result[0]].shape.rank > 1;
  }

  constexpr void cut() {
    growing_array<int> last_use(g.tensor.size, -1);
    for (int o = 0; o < forward; ++o)
      for (int i = 0; i < g.op[o].operand_count; ++i) last_use[g.op[o].operand[i]] = o;
    parts.of_op.resize(g.op.size, -1);
    int alive = 0, first = 0;
    for (int o = 0; o < forward; ++o) {
      const graph_operator& op = g.op[o];
      for (int r = 0; r < op.result_count; ++r) alive += last_use[op.result[r]] > o ? 1 : 0;
      for (int i = 0; i < op.operand_count; ++i) {
        int& last = last_use[op.operand[i]];
        if (last != o || g.tensor[op.operand[i]].producer < 0) continue;
        last = -2;  // an operand that is read twice is counted once
        --alive;
      }
      parts.of_op[o] = parts.part.size;
      const bool ends = o + 1 == forward;
      if (!ends && !(alive == 1 && joins(op) && last_use[op.result[0]] > o)) continue;
      parts.part.push({first, o, ends ? -1 : op.result[0], op.segment});
      first = o + 1;
    }
  }

  /// Whether no part spans segments, and nothing but joints is shared by two parts.
  constexpr bool is_chain() const {
    growing_array<int> reader(g.tensor.size, -1);
    for (int o = 0; o < forward; ++o) {
      const graph_operator& op = g.op[o];
      if (op.segment != parts.part[parts.of_op[o]].segment) return false;
      for (int i = 0; i < op.operand_count; ++i) {
        const int t = op.operand[i];
        if (g.tensor[t].producer >= 0 && g.op[g.tensor[t].producer].phase == graph_phase::forward) continue;
        if (reader[t] >= 0 && reader[t] != parts.of_op[o]) return false;
        reader[t] = parts.of_op[o];
      }
    }
    return true;
  }

  constexpr void spread() {
    const int tensors = g.tensor.size;
    parts.of_tensor.resize(tensors, -1);
    parts.joint.resize(tensors, -1);
    parts.joint_gradient.resize(tensors, -1);
    for (int o = forward - 1; o >= 0; --o)
      for (int i = 0; i < g.op[o].operand_count; ++i)
        if (is_given(g.op[o].operand[i])) parts.of_tensor[g.op[o].operand[i]] = parts.of_op[o];
    for (int p = 0; p + 1 < parts.part.size; ++p) parts.joint[parts.part[p].leaves] = p;
    for (int t = 0; t < tensors; ++t) {
      const int source = g.tensor[t].source;
      if (source < 0 || parts.joint[source] < 0) continue;
      if (g.tensor[t].kind == graph_tensor_kind::gradient)
        parts.joint_gradient[t] = parts.joint[source];
      else
        parts.joint[t] = parts.joint[source];
    }
    parts.ruled_by.resize(g.op.size, -1);
    for (int o = 0; o < g.op.size; ++o) {
      parts.of_op[o] = part_of_op(o);
      parts.ruled_by[o] = parts.of_op[o];
      const int t = g.op[o].result_count > 0 ? g.op[o].result[0] : -1;
      if (g.op[o].forward >= 0 || !g.value_of(g.op[o]).adds || t < 0 || parts.joint_gradient[t] < 0) continue;
      parts.ruled_by[o] = parts.joint_gradient[t];
      parts.of_op[o] = parts.joint_gradient[t] + 1;
    }
    for (int t = 0; t < tensors; ++t) parts.of_tensor[t] = part_of_tensor(t);
  }

  constexpr bool is_given(int t) const {
    return g.tensor[t].producer < 0 || g.op[g.tensor[t].producer].phase != graph_phase::forward;
  }

  constexpr int part_of_op(int o) const {
    const graph_operator& op = g.op[o];
    if (op.phase == graph_phase::forward) return parts.of_op[o];
    if (op.forward >= 0) return part_of_op(op.forward);
    if (op.result_count > 0) {
      const graph_tensor& t = g.tensor[op.result[0]];
      if (t.source >= 0) return part_of_tensor(t.source);
      if (t.replaces >= 0) return part_of_tensor(t.replaces);
    }
    return op.operand_count > 0 ? part_of_tensor(op.operand[0]) : parts.part.size - 1;
  }

  constexpr int part_of_tensor(int t) const {
    if (parts.of_tensor[t] >= 0) return parts.of_tensor[t];
    const graph_tensor& x = g.tensor[t];
    if (x.producer >= 0 && g.op[x.producer].phase == graph_phase::forward) return parts.of_op[x.producer];
    if (x.source >= 0 && x.source != t) return part_of_tensor(x.source);
    if (x.replaces >= 0) return part_of_tensor(x.replaces);
    if (x.producer >= 0) return part_of_op(x.producer);
    return parts.part.size - 1;
  }

  const graph& g;
  int forward = 0;
  model_parts parts;
};

/// The parts of a training graph, or of its forward operators alone. Domain: the graph's status is ok.
constexpr model_parts find_parts(const graph& g) { return detail::part_finder(g).run(); }

}  // namespace detail

}}  // namespace hyperparallel::v0_2
