// SPDX-License-Identifier: Apache-2.0
#pragma once
// The partitioner: a graph for one device and a strategy give the program of every device.
//
// Operators are walked in order. Each gets its placement (strategy_layouts.hpp), its operands are brought to the
// layouts that it implies, its results are values of the layouts that it leaves. Reductions wait as partial values
// until somebody needs them: sums add terms that wait alike before they are communicated, so terms of one sum travel
// once. A parameter lives where the `parameter` rules put it and is gathered where it is used; a complete gradient is
// reduced at once or at the update; an update happens where the states are, and its parameter goes home.
//
// A segment is walked once for all its repetitions, on the assumption that what it carries comes in its *entry*, the
// layout in which a repetition leaves it. Where one leaves it otherwise, the entry is corrected and the walk starts
// over at once, so that nothing behind an open segment decides anything: with all before it at rest, a segment's entry,
// and so its steps, depend on its own rules and on how its input comes. That is what lets costs of parts add up
// (search/segment_costs.hpp). An entry is corrected at most twice in each phase, then it stays, and each repetition
// moves what it leaves there; so there are at most 1 + 4 · segments walks.
//
// Laws: those of sharded_program.hpp; steps of forward up to a segment's end do not depend on rules of what is behind
// it. Complexity: O(operators · (axes · rules · loops + operands · values)) a walk. Sources: GSPMD
// (2105.04663) for one rule per dim, ZeRO (1910.02054), Megatron sequence parallelism (2205.05198).

#include <hyperparallel/strategy/gradient_buckets.hpp>
#include <hyperparallel/strategy/program_writer.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Where a repetition of a segment takes over what it carries: forward, and its gradient backward. Rank -1: unknown.
struct segment_entry {
  layout_value forward{{}, -1};
  layout_value backward{{}, -1};
  int corrected[2] = {};  ///< how often, by phase
};

class partitioner : program_writer {
 public:
  /// `entries` has one of each segment of the graph; the walk corrects the first that is open.
  constexpr partitioner(graph&& g, const strategy_value& s, growing_array<segment_entry>& entries,
                        const program_stages* stages = nullptr)
      : program_writer(static_cast<graph&&>(g), s, stages), entries_(entries) {
    placement_.resize(program_.graph.op.size, operator_placement{});
  }

  /// Whether the walk came to its end. Otherwise it stopped at a segment that left what it carries elsewhere.
  constexpr bool closed() const { return closed_; }

  constexpr sharded_program run() {
    if (program_.graph.status.code != graph_code::ok) {
      program_.status.code = strategy_code::graph_is_refused;
      return static_cast<sharded_program&&>(program_);
    }
    if (status().code != strategy_code::ok) {
      program_.status = status();
      return static_cast<sharded_program&&>(program_);
    }
    if (!takes_stages()) {
      program_.status.code = strategy_code::stages_are_refused;
      return static_cast<sharded_program&&>(program_);
    }
    complete_ = detail::complete_gradients(program_.graph);
    const int operators = program_.graph.op.size;  // what the walk adds is not walked
    graph_phase phase = graph_phase::forward;
    for (int o = 0; o < operators && closed_ && status().code == strategy_code::ok; ++o) {
      const graph_operator& op = program_.graph.op.item[o];
      const bool enters = op.segment >= 0 && (o == 0 || program_.graph.op[o - 1].segment != op.segment ||
                                              program_.graph.op[o - 1].phase != op.phase);
      if (op.phase != phase && phase == graph_phase::forward)
        book_.enter_backward([&](int part, bool parameter) {
          return parameter ? !strategy_of(part).reshard_after_forward : strategy_of(part).keep_moved;
        });
      phase = phase_ = op.phase;
      segment_ = -1;
      if (enters && phase_ <= graph_phase::backward) enter_segment(o);
      segment_ = op.segment;
      if (stages_ != nullptr) enter_stage(stages_->cut.of_op[o]);
      walk(o);
      if (segment_ >= 0 && phase_ <= graph_phase::backward &&
          (o + 1 == operators || program_.graph.op[o + 1].segment != segment_ ||
           program_.graph.op[o + 1].phase != phase_))
        leave_segment();
    }
    finish_layouts(closed_);
    bucket_gradients(program_, [&](int part) { return strategy_of(part).bucket_bytes; });
    return static_cast<sharded_program&&>(program_);
  }

 private:
  // ---- operators ----

  constexpr void walk(int o) {
    const graph_operator& op = program_.graph.op.item[o];
    if (program_.graph.value_of(op).accumulates || op.phase >= graph_phase::accumulate) return update(o);
    if (op.rotation >= 0) return rotate(o);
    if (passes_sums_together(program_.graph.rule_of(op)) && pass_on(o)) return;
    compute(o, placement(o));
  }

  constexpr operator_placement placement(int o) {
    const graph_operator& op = program_.graph.op.item[o];
    if (op.forward >= 0) return placement_.item[o] = placement_.item[op.forward];
    return placement_[o] = layouts().place(program_.graph, o);
  }

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
      const bool linear = waiting == 0 && passes_sums_of(rule, i);
      c.operand[i] = linear ? waiting_value(op.operand[i], wanted, p, waiting) : -1;
      if (c.operand[i] < 0) c.operand[i] = ensure(op.operand[i], wanted);
    }
    for (int r = 0; r < op.result_count; ++r) {
      layout_value left = layout_of_result(rule, r, p, mesh());
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
    if (op.kind == id_of<ops::sum>) {
      const int term = book_.find_turned(op.operand[1], turned);
      const int at[] = {ensure(op.operand[0], program_.value[term].layout, turned), term};
      return compute_in(o, at, program_.value[term].layout, turned);
    }
    const factor_rule& rule = program_.graph.rule_of(op);
    const auto [queries, keys] = ring_loops_of(program_.graph, op);
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
      c.result[r] = book_.add(op.result[r], layout_of_result(rule, r, p, mesh()),
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
    if (op.kind != id_of<ops::sum>) return false;
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

  /// `sum` of other operands. They are alike, so that it has the same loops.
  constexpr graph_operator sum_of(graph_operator sum, const int* operands, int count) {
    bind_loops(program_.graph, sum, ops::sum::text, operands, count, nullptr, 0);
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
    c.placement = placement_in(rule, l);
    if (op.rotation >= 0 && ring_ >= 0) c.placement.turned[ring_] = c.placement.loop[ring_];
    for (int i = 0; i < op.operand_count; ++i) c.operand[i] = at[i];
    for (int r = 0; r < op.result_count; ++r) {
      const layout_value lies = rule.result[r].rank == l.rank ? l : layout_of_result(rule, r, c.placement, mesh());
      c.result[r] = next_value(op.result[r], lies, turned);
    }
    step(false, program_.compute.push(c));
    for (int r = 0; r < op.result_count; ++r) bring_home(op.result[r], c.result[r]);
    if (op.phase <= graph_phase::backward)
      for (int r = 0; r < op.result_count; ++r) settle(op.result[r], c.result[r]);
  }

  // ---- the update ----

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
      if (is_whole(rule, rule.operand[0].term[d])) whole |= 1u << d;
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
      if (passes_sums_together(rule) && pass_on(o)) return;
      return compute(o, placement(o));
    }
    layout_value l;
    if (program_.graph.value_of(op).accumulates) {
      const int fresh = book_.best(op.operand[1]);
      if (fresh < 0) return compute(o, placement(o));  // an input, that no operator has placed
      l = program_.value[fresh].layout;
    } else if (op.kind == id_of<ops::count_experts> || op.kind == id_of<ops::reduce>) {
      return compute(o, placement(o));
    } else {
      l = update_layout(op);
    }
    for (int i = 0; i < op.operand_count; ++i)
      at[i] = rule.operand[i].rank == l.rank ? ensure_reduced(op.operand[i], l)
                                             : ensure(op.operand[i], replicated_of(rule.operand[i].rank));
    compute_in(o, at, l);
  }

  // ---- segments ----

  /// The tensor that a repetition takes over from the one before: forward the carried one, backward its gradient.
  constexpr int carried(bool entering) const {
    const graph_segment& s = program_.graph.segment[segment_in_];
    if (phase_ == graph_phase::forward) return entering ? s.carried_in : s.carried_out;
    return entering ? s.gradient_in : s.gradient_out;
  }
  constexpr layout_value& entry() {
    return phase_ == graph_phase::forward ? entries_[segment_in_].forward : entries_[segment_in_].backward;
  }
  /// Brings what is carried, once, to where each repetition leaves it for the next; there alone the period finds it.
  constexpr void enter_segment(int o) {
    segment_in_ = program_.graph.op[o].segment;
    const int tensor = carried(true), next = carried(false);
    if (tensor < 0 || next < 0) return;
    const int outside = book_.best(tensor), producer = program_.graph.tensor[next].producer;
    if (entry().rank < 0 && outside >= 0 && !is_partial(program_.value[outside].layout))
      entry() = program_.value[outside].layout;
    const graph_operator op = program_.graph.op[producer];
    for (int r = 0; r < op.result_count; ++r)
      if (op.result[r] == next && entry().rank < 0)
        entry() = layout_of(program_.graph.rule_of(op).result[r], placement(producer), mesh());
    book_.keep_only(tensor, ensure(tensor, entry()));
  }
  /// What a repetition leaves waits for nothing. Where it lies otherwise than was assumed, the walk ends here.
  constexpr void leave_segment() {
    const int tensor = carried(false), value = tensor < 0 ? -1 : book_.best(tensor);
    if (value < 0) return;
    ensure(tensor, entry());
    const layout_value left = program_.value[value].layout;
    int& corrected = entries_[segment_in_].corrected[phase_ == graph_phase::forward ? 0 : 1];
    if (is_partial(left) || left == entry() || corrected == most_corrections) return;
    ++corrected;
    closed_ = false;
    entry() = left;
  }

  growing_array<operator_placement> placement_;  ///< of each forward operator
  growing_array<bool> complete_;                 ///< tensors that are gradients of parameters
  growing_array<segment_entry>& entries_;
  static constexpr int most_corrections = 2;
  int segment_in_ = -1;
  bool closed_ = true;
};

namespace detail {

constexpr sharded_program partition_here(const graph& g, const strategy_value& s) {
  growing_array<segment_entry> entries;
  entries.resize(g.segment.size, segment_entry{});
  for (;;) {
    partitioner p(copy_with_room(g), s, entries);
    sharded_program program = p.run();
    if (p.closed()) return program;
  }
}
/// One walk is enough where no segment is folded.
constexpr sharded_program partition_here(graph&& g, const strategy_value& s) {
  if (g.segment.size > 0) return partition_here(g, s);
  growing_array<segment_entry> entries;
  return partitioner(static_cast<graph&&>(g), s, entries).run();
}
sharded_program partition_in_library(const graph& g, const strategy_value& s);

}  // namespace detail

/// The program of every device of the strategy's mesh. Its status has what was refused, and why.
constexpr sharded_program partition(const graph& g, const strategy_value& s) {
  HYPERPARALLEL_TWIN(detail::partition_in_library(g, s));
  return detail::partition_here(g, s);
}
/// The same of a graph that is not needed any more, which a constant evaluation need not copy.
constexpr sharded_program partition(graph&& g, const strategy_value& s) {
  HYPERPARALLEL_TWIN(detail::partition_in_library(g, s));
  return detail::partition_here(static_cast<graph&&>(g), s);
}

}}  // namespace hyperparallel::v0_2
