// SPDX-License-Identifier: Apache-2.0
#pragma once
// To which part of a model each step of a program belongs, and how the joints between parts lie in it.
//
// A compute step belongs to its operator's part, a move to the part that asks for it: of a joint or its gradient, the
// part that reads it; where a repetition hands it to the next one, the part that leaves it.
// Laws: every step has one part; under one strategy for a part and its surroundings alike, so has its cost.
// O(values + steps) for a state, O(1) for a step.

#include <hyperparallel/lowering/model_parts.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How a joint, or its gradient, comes.
struct joint_state {
  layout_value made{};     ///< as its part makes it
  layout_value wanted{};   ///< of a joint: where the sum of its gradient is to be made
  layout_value carried{};  ///< in which the segment takes it from one repetition to the next
  friend constexpr bool operator==(const joint_state&, const joint_state&) = default;
};

class step_parts {
 public:
  /// `parts` are those of `planned_graph`, the graph that the programs have before the partitioner adds to it.
  constexpr step_parts(const graph& planned_graph, const model_parts& of) : planned(planned_graph), parts(of) {
    sum_of.resize(parts.part.size, -1);
    for (int o = 0; o < planned.op.size; ++o)
      if (parts.ruled_by[o] != parts.of_op[o]) sum_of[parts.ruled_by[o]] = o;
    by_name.resize(planned.text.size, -1);
    for (int o = planned.op.size - 1; o >= 0; --o) by_name[planned.op[o].name] = o;
  }

  /// How the joint that part p leaves comes to the next one.
  constexpr joint_state state_of(const sharded_program& program, strategy_layouts& layouts, int p) const {
    joint_state s;
    s.made = first_layout(program, parts.part[p].leaves);
    if (const int o = sum_of[p]; o >= 0) {
      const factor_rule& rule = program.graph.rule_of(program.graph.op[o]);
      s.wanted = detail::layout_of_result(rule, 0, layouts.place(program.graph, o), program.mesh.shape);
    }
    const int segment = parts.part[p].segment;
    if (segment >= 0)
      s.carried = first_read(program, program.graph.segment[segment].carried_in, segment, graph_phase::forward);
    return s;
  }

  /// How the gradient of that joint comes back to part p.
  constexpr joint_state gradient_state_of(const sharded_program& program, int p) const {
    joint_state s;
    const int segment = parts.part[p + 1].segment;
    const bool enters = segment >= 0 && parts.part[p].segment != segment;
    s.made = first_layout(
        program, enters ? planned.segment[segment].gradient_out : planned.tensor[parts.part[p].leaves].gradient);
    if (segment >= 0)
      s.carried = first_read(program, program.graph.segment[segment].gradient_in, segment, graph_phase::backward);
    return s;
  }

  constexpr int part_of_step(const sharded_program& program, int i) const {
    const program_step& s = program.step[i];
    if (!s.is_move) return part_of_op(program, program.compute[s.index].op);
    const int t = program.value[program.move[s.index].source].tensor;
    if (t >= parts.of_tensor.size) return part_of_op(program, program.graph.tensor[t].producer);
    const auto in_segment = [&](int p) { return s.segment >= 0 && parts.part[p].segment == s.segment; };
    if (const int p = parts.joint[t]; p >= 0) return in_segment(p) && !in_segment(p + 1) ? p : p + 1;
    const int p = parts.joint_gradient[t];
    if (p < 0) return parts.of_tensor[t];
    const int segment = parts.part[p + 1].segment;
    const bool whole = t == planned.tensor[parts.part[p].leaves].gradient ||
                       (segment >= 0 && t == planned.segment[segment].gradient_out);
    return !whole || (in_segment(p + 1) && !in_segment(p)) ? p + 1 : p;
  }

 private:
  static constexpr layout_value first_layout(const sharded_program& program, int tensor) {
    for (int v = 0; v < program.value.size && tensor >= 0; ++v)
      if (program.value[v].tensor == tensor) return program.value[v].layout;
    return {};
  }
  static constexpr layout_value first_read(const sharded_program& program, int tensor, int segment, graph_phase phase) {
    for (int i = 0; i < program.step.size && tensor >= 0; ++i) {
      const program_step& s = program.step[i];
      if (s.is_move || s.segment != segment || s.phase != phase) continue;
      const program_compute& c = program.compute[s.index];
      for (int k = 0; k < program.graph.op[c.op].operand_count; ++k)
        if (program.value[c.operand[k]].tensor == tensor) return program.value[c.operand[k]].layout;
    }
    return {};
  }

  /// Operators that the partitioner adds have the name of the one that they are taken from.
  constexpr int part_of_op(const sharded_program& program, int o) const {
    return parts.of_op[o < parts.of_op.size ? o : by_name[program.graph.op[o].name]];
  }

  const graph& planned;
  const model_parts& parts;
  growing_array<int> sum_of;   ///< of each joint: the operator that sums its gradient, or -1
  growing_array<int> by_name;  ///< the first operator of each name
};

}}  // namespace hyperparallel::v0_2
