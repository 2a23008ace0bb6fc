// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the operators of a graph as steps of the program of every device.
//
// Each gets its placement (strategy_layouts.hpp), its operands are brought to the
// layouts that it implies, its results are values of the layouts that it leaves. Reductions wait as partial values
// until somebody needs them: sums add terms that wait alike before they are communicated, so terms of one sum travel
// once. A parameter lives where the `parameter` rules put it and is gathered where it is used; a complete gradient is
// reduced at once or at the update; an update happens where the states are, and its parameter goes home.

#include <hyperparallel/strategy/program_writer.hpp>

namespace hyperparallel { inline namespace v0_2 {

class operator_writer : protected program_writer {
 protected:
  constexpr operator_writer(graph&& g, const strategy_value& s, const program_stages* stages)
      : program_writer(static_cast<graph&&>(g), s, stages) {
    placement_.resize(program_.graph.op.size, operator_placement{});
  }

  constexpr void walk(int o) {
    const graph_operator& op = program_.graph.op.item[o];
    if (program_.graph.value_of(op).accumulates || op.phase >= graph_phase::accumulate) return update(o);
    if (op.rotation >= 0) return rotate(o);
    if (detail::passes_sums_together(program_.graph.rule_of(op)) && pass_on(o)) return;
    compute(o, placement(o));
  }

  constexpr operator_placement placement(int o) {
    const graph_operator& op = program_.graph.op.item[o];
    if (op.forward >= 0) return placement_.item[o] = placement_.item[op.forward];
    return placement_[o] = layouts().place(program_.graph, o);
  }

  growing_array<operator_placement> placement_;  ///< of each forward operator
  growing_array<bool> complete_;                 ///< tensors that are gradients of parameters

 private:
  /// Emits the operator under a placement.
  constexpr void compute(int o, const operator_placement& p) {
    const graph_operator op = program_.graph.op.item[o];
    const factor_rule& rule = program_.graph.rule_of(op);
    program_compute c;
    c.op = o;
    c.placement = p;
    unsigned waiting = 0;  // axes along which the operator works on terms
    for (int i = 0; i < op.operand_count; ++i) {
      const layout_value wanted = layout_of(rule.operand[i], p, mesh());
      const bool linear = waiting == 0 && detail::passes_sums_of(rule, i);
      c.operand[i] = linear ? waiting_value(op.operand[i], wanted, p, waiting) : -1;
      if (c.operand[i] < 0) c.operand[i] = ensure(op.operand[i], wanted);
    }
    for (int r = 0; r < op.result_count; ++r) {
      layout_value left = detail::layout_of_result(rule, r, p, mesh());
      for (int a = 0; a < mesh().axis_count; ++a)
        if ((waiting >> a & 1u) != 0) left.partial[a] = reduce_op::sum;
      c.result[r] = book_.add(op.result[r], left);
    }
    step(false, program_.compute.push(c));
    for (int r = 0; r < op.result_count; ++r) settle(op.result[r], c.result[r]);
  }

  /// An operator of a ring: a block of keys that has travelled, or the sum of gradients that travels with it.
  constexpr void rotate(int o) {
    const graph_operator op = program_.graph.op[o];
    const value_rotation turned = turned_by(op.rotation);
    if (program_.graph.value_of(op).adds) {
      const int term = book_.find_turned(op.operand[1], turned);
      const int at[] = {ensure(op.operand[0], program_.value[term].layout, turned), term};
      return compute_in(o, at, program_.value[term].layout, turned);
    }
    const factor_rule& rule = program_.graph.rule_of(op);
    const auto [queries, keys] = detail::ring_loops_of(program_.graph, op);
    operator_placement p = placement(o);
    if (p.loop[ring_] != queries) {
      layouts().fail({strategy_code::ring_axis_does_not_shard_the_sequence, -1, ring_, o, -1, op.loop[queries].dim});
      return;
    }
    p.turned[ring_] = static_cast<signed char>(keys);
    program_compute c;
    c.op = o;
    c.placement = p;
    for (int i = 0; i < op.operand_count; ++i)
      c.operand[i] = ensure(op.operand[i], layout_of(rule.operand[i], p, mesh()),
                            has_factor(rule.operand[i], keys) ? turned : value_rotation{});
    for (int r = 0; r < op.result_count; ++r)
      c.result[r] = book_.add(op.result[r], detail::layout_of_result(rule, r, p, mesh()),
                              has_factor(rule.result[r], keys) ? turned : value_rotation{});
    step(false, program_.compute.push(c));
  }

  /// The tensor's waiting value, if only its partial axes, which the placement leaves free, part it from `wanted`;
  /// else -1. Sets `waiting` to these axes.
  constexpr int waiting_value(int tensor, const layout_value& wanted, const operator_placement& p,
                              unsigned& waiting) const {
    const int v = book_.best(tensor);
    if (v < 0 || !is_partial(program_.value[v].layout)) return -1;
    layout_value whole = program_.value[v].layout;
    unsigned axes = 0;
    for (int a = 0; a < mesh().axis_count; ++a) {
      if (whole.partial[a] == reduce_op::none) continue;
      if (whole.partial[a] != reduce_op::sum || p.loop[a] >= 0) return -1;
      axes |= 1u << a;
      whole.partial[a] = reduce_op::none;
    }
    if (!(whole == wanted)) return -1;
    waiting = axes;
    return v;
  }

  /// What happens to a fresh result: complete gradients are reduced, pinned tensors go to their place.
  constexpr void settle(int tensor, int value) {
    const graph_tensor& t = program_.graph.tensor.item[tensor];
    layout_value wanted;
    if (tensor < complete_.size && complete_.item[tensor]) {
      if (!strategy().reduce_at_once) return;
      const layout_value& base = base_of(t.source);
      if (!(base.mesh == mesh())) return;  // brought to where it is wanted by the part that has a home
      wanted = layouts().refine(program_.graph, t.source, base, rule_stage::gradient);
    } else if (strategy().pin.size == 0 || !layouts().pinned(program_.graph, tensor, wanted)) {
      return;
    }
    if (program_.value[value].layout == wanted) return;
    ensure(tensor, wanted);
    book_.forget(value);
  }

  /// Operators that take waiting terms: where all operands lie alike the result lies so too. Otherwise the terms that
  /// wait alike are added first, and false says that the rest is an operator like any other.
  constexpr bool pass_on(int o) {
    const graph_operator op = program_.graph.op[o];
    int at[max_operator_operands] = {};
    bool alike = true;
    for (int i = 0; i < op.operand_count; ++i) {
      at[i] = book_.best(op.operand[i]);
      if (at[i] < 0) return false;
      alike = alike && program_.value.item[at[i]].layout == program_.value.item[at[0]].layout;
    }
    if (alike) {
      compute_in(o, at, program_.value[at[0]].layout);
      return true;
    }
    if (!program_.graph.value_of(op).adds) return false;
    for (int i = 0; i < op.operand_count; ++i) {
      const layout_value waiting = program_.value[at[i]].layout;
      if (!is_partial(waiting)) continue;
      int terms[max_operator_operands] = {}, rest[max_operator_operands] = {}, taken[max_operator_operands] = {};
      int joined = 0, left = 0;
      for (int k = 0; k < op.operand_count; ++k) {
        const bool joins = program_.value.item[at[k]].layout == waiting;
        if (joins) taken[joined] = at[k];
        (joins ? terms[joined++] : rest[left++]) = op.operand[k];
      }
      if (joined < 2) continue;
      rest[left++] = add_terms(op, terms, joined);
      compute_in(program_.graph.op.size - 1, taken, waiting);
      placement_.resize(program_.graph.op.size + 1, placement(o));
      program_.graph.op.push(sum_of(op, rest, left));
      walk(program_.graph.op.size - 1);
      return true;
    }
    return false;
  }

  /// A sum of other operands. They are alike, so that it has the same loops.
  constexpr graph_operator sum_of(graph_operator sum, const int* operands, int count) {
    bind_loops(program_.graph, sum, program_.graph.value_of(sum).text, operands, count, nullptr, 0);
    return sum;
  }
  /// A sum of some of a sum's operands, as an operator and a tensor of the program's own graph.
  constexpr int add_terms(const graph_operator& sum, const int* operands, int count) {
    graph& g = program_.graph;
    graph_operator terms = sum_of(sum, operands, count);
    graph_tensor t = g.tensor[sum.result[0]];
    t.name = add_text(g, "terms of ", g.text_at(t.name));
    t.source = -1;
    t.producer = g.op.size;
    terms.result[0] = g.tensor.push(t);
    program_.home.resize(g.tensor.size, -1);
    base_.resize(g.tensor.size, layout_value{});
    placement_.resize(g.op.size + 1, operator_placement{});
    g.op.push(terms);
    return terms.result[0];
  }

  /// Emits an operator whose tensors of the first operand's rank all lie as `l`; numbers lie everywhere.
  constexpr void compute_in(int o, const int* at, const layout_value& l, const value_rotation& turned = {}) {
    const graph_operator op = program_.graph.op.item[o];
    const factor_rule& rule = program_.graph.rule_of(op);
    program_compute c;
    c.op = o;
    c.placement = detail::placement_in(rule, l);
    if (op.rotation >= 0 && ring_ >= 0) c.placement.turned[ring_] = c.placement.loop[ring_];
    for (int i = 0; i < op.operand_count; ++i) c.operand[i] = at[i];
    for (int r = 0; r < op.result_count; ++r) {
      const layout_value lies =
          rule.result[r].rank == l.rank ? l : detail::layout_of_result(rule, r, c.placement, mesh());
      c.result[r] = next_value(op.result[r], lies, turned);
    }
    step(false, program_.compute.push(c));
    for (int r = 0; r < op.result_count; ++r) bring_home(op.result[r], c.result[r]);
    if (op.phase <= graph_phase::backward)
      for (int r = 0; r < op.result_count; ++r) settle(op.result[r], c.result[r]);
  }

  /// Where an update happens: where its states are. Loops that must be whole are, and no stage cuts them.
  constexpr layout_value update_layout(const graph_operator& op) {
    const graph& g = program_.graph;
    int parameter = op.operand[0];
    if (g.tensor.item[parameter].source >= 0) parameter = g.tensor.item[parameter].source;
    while (g.tensor[parameter].replaces >= 0) parameter = g.tensor[parameter].replaces;
    if (g.tensor[parameter].kind == graph_tensor_kind::state && g.tensor[parameter].source >= 0)
      parameter = g.tensor[parameter].source;
    const factor_rule& rule = g.rule_of(op);
    const layout_value base =
        program_.home.item[parameter] >= 0 ? base_.item[parameter] : replicated_of(rule.operand[0].rank);
    unsigned whole = 0;
    for (int d = 0; d < base.rank; ++d)
      if (detail::is_whole(rule, rule.operand[0].term[d])) whole |= 1u << d;
    layout_value l = layouts().refine(g, parameter, base, rule_stage::state, ~whole);
    const layout_value refined = l;
    l.cut_count = 0;
    for (int i = 0; i < refined.cut_count; ++i)
      if ((whole >> refined.cut[i].dim & 1u) == 0) l.cut[l.cut_count++] = refined.cut[i];
    return l;
  }

  constexpr void update(int o) {
    const graph_operator op = program_.graph.op[o];
    int at[max_operator_operands] = {};
    const factor_rule& rule = program_.graph.rule_of(op);
    if (op.operand_count == 0 || rule.operand[0].rank == 0 || op.loop_count == 0) {
      if (detail::passes_sums_together(rule) && pass_on(o)) return;
      return compute(o, placement(o));
    }
    layout_value l;
    if (program_.graph.value_of(op).accumulates) {
      const int fresh = book_.best(op.operand[1]);
      if (fresh < 0) return compute(o, placement(o));  // an input, that no operator has placed
      l = program_.value[fresh].layout;
    } else {
      l = update_layout(op);
    }
    for (int i = 0; i < op.operand_count; ++i)
      at[i] = rule.operand[i].rank == l.rank ? ensure_reduced(op.operand[i], l)
                                             : ensure(op.operand[i], replicated_of(rule.operand[i].rank));
    compute_in(o, at, l);
  }
};

}}  // namespace hyperparallel::v0_2
