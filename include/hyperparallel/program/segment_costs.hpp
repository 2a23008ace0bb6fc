// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each part of a model costs under each of its candidates, measured by the partitioner, so exactly that the costs
// of a plan's parts add up to the evaluation of the plan.
//
// A part meets its neighbours at joints. What it does depends on its own candidate, on how the joint before it comes
// (the state: its layout, the layout in which its gradient is to be summed, and the layout in which the segment carries
// it) and on how the gradient of the joint behind it comes. So a *variant* of a part is a candidate with what comes
// from both sides; it has a time, a memory, and what it leaves to both sides. Two neighbours' variants fit together
// where each finds what it reckons with.
//
// Law: a choice of candidates has exactly one row of variants that fit, and their times add up to evaluate_plan's time;
// their memories, of what is certainly held when forward ends, to at most its memory.
// Whole models are partitioned under chosen candidates; each tells a variant of every part. Forwards, states that can
// be reached are found part by part; backwards, the gradients that can come to them. Complexity: at most one
// partitioning a variant.

#include <hyperparallel/program/plan_evaluation.hpp>
#include <hyperparallel/program/strategy_candidates.hpp>

namespace hyperparallel {

/// How a joint, or its gradient, comes.
struct joint_state {
  layout_value made{};     ///< as its part makes it
  layout_value wanted{};   ///< of a joint: where the sum of its gradient is to be made
  layout_value carried{};  ///< in which the segment takes it from one repetition to the next
  friend constexpr bool operator==(const joint_state&, const joint_state&) = default;
};

/// States are numbers of their joint; 0 where there is no joint.
struct part_variant {
  int enters = 0, candidate = 0, gradient_enters = 0;
  int leaves = 0, gradient_leaves = 0;
  extent_t time = 0, memory = 0;
  int example = -1;  ///< the first choice in which it was met
};

class segment_costs {
 public:
  /// `g` is the training graph, `parts` those of the graph that programs have: g, or g with its attention in a ring.
  constexpr segment_costs(const graph& g, const graph& planned_graph, const model_parts& of, const plan_space& covered,
                          plan_prices& prices)
      : given(g), planned(planned_graph), parts(of), space(covered), price(prices), form(g, covered.frame.pipeline) {
    const int n = parts.part.size;
    variant.resize(n);
    state.resize(n);
    gradient.resize(n);
    for (int p = 0; p < n; ++p) most_ = larger(most_, extent_t{space.candidate[p].size});
    dead_.resize(n * static_cast<int>(most_), false);
    find_sums();
  }

  growing_array<growing_array<part_variant>> variant;  ///< of each part
  growing_array<int> choices;                          ///< that were partitioned, one after the other
  bool rules_fit = true;                               ///< no choice had more rules than a strategy holds
  strategy_status refused{};                           ///< the last refusal

  constexpr int size() const { return parts.part.size; }
  /// Whether the partitioner refuses the candidate.
  constexpr bool is_dead(int p, int c) const { return dead_[p * static_cast<int>(most_) + c]; }
  constexpr int partitionings() const { return choices.size / size(); }
  /// Whether every part has a candidate.
  constexpr bool alive() const {
    for (int p = 0; p < size(); ++p)
      if (first_alive(p) < 0) return false;
    return true;
  }

  /// Measures every variant that some choice of candidates has.
  constexpr void measure_all() {
    const int n = size();
    growing_array<int> choice;
    choice.resize(n, 0);
    for (int k = 0; k < most_ && alive(); ++k) {
      for (int p = 0; p < n; ++p) choice[p] = k % space.candidate[p].size;
      measure(choice);
    }
    for (int p = 0; p < n && alive(); ++p) reach(p);
    for (int p = n - 1; p >= 0 && alive(); --p) complete(p);
  }

  /// The gradients that may come to part p when it leaves `leaves`: calls visit(gradient, example of the suffix).
  template <class Visit>
  constexpr void visit_gradients(int p, int leaves, const Visit& visit) const {
    if (p + 1 == size()) return visit(0, -1);
    growing_array<bool> seen;
    seen.resize(gradient[p].size + 1, false);
    for (int v = 0; v < variant[p + 1].size; ++v) {
      const part_variant& next = variant[p + 1][v];
      if (next.enters != leaves || seen[next.gradient_leaves] || is_dead(p + 1, next.candidate)) continue;
      seen[next.gradient_leaves] = true;
      visit(next.gradient_leaves, next.example);
    }
  }

 private:
  /// The operator that sums the gradient of each joint, if one does.
  constexpr void find_sums() {
    sum_of.resize(size(), -1);
    for (int o = 0; o < planned.op.size; ++o)
      if (parts.ruled_by[o] != parts.of_op[o]) sum_of[parts.ruled_by[o]] = o;
    by_name.resize(planned.text.size, -1);
    for (int o = planned.op.size - 1; o >= 0; --o) by_name[planned.op[o].name] = o;
  }

  constexpr int first_alive(int p) const {
    for (int c = 0; c < space.candidate[p].size; ++c)
      if (!is_dead(p, c)) return c;
    return -1;
  }
  constexpr bool all_alive(const growing_array<int>& choice) const {
    for (int p = 0; p < size(); ++p)
      if (is_dead(p, choice[p])) return false;
    return true;
  }

  /// Every candidate of part p in every state that part p - 1 leaves.
  constexpr void reach(int p) {
    growing_array<int> choice;
    for (int s = 0; s < state_count(p); ++s) {
      const int before = p == 0 ? -1 : example_of_state(p - 1, s);
      if (p > 0 && before < 0) continue;
      for (int c = 0; c < space.candidate[p].size; ++c) {
        if (is_dead(p, c) || leaves_of(p, s, c) >= 0) continue;
        start_with(choice, before, p, c, -1);
        measure(choice);
      }
    }
  }

  /// Every gradient that may come to part p, in every state and candidate.
  constexpr void complete(int p) {
    growing_array<int> choice;
    for (int s = 0; s < state_count(p); ++s) {
      const int before = p == 0 ? -1 : example_of_state(p - 1, s);
      if (p > 0 && before < 0) continue;
      for (int c = 0; c < space.candidate[p].size; ++c) {
        const int leaves = is_dead(p, c) ? -1 : leaves_of(p, s, c);
        if (leaves < 0) continue;
        growing_array<int> suffix;
        visit_gradients(p, leaves, [&](int gradient_enters, int example) {
          if (!is_known(p, s, c, gradient_enters)) suffix.push(example);
        });
        for (const int example : suffix) {
          start_with(choice, before, p, c, example);
          measure(choice);
        }
      }
    }
  }

  constexpr int state_count(int p) const { return p == 0 ? 1 : state[p - 1].size; }
  constexpr int example_of_state(int p, int s) const {
    for (int v = 0; v < variant[p].size; ++v)
      if (variant[p][v].leaves == s && !is_dead(p, variant[p][v].candidate)) return variant[p][v].example;
    return -1;
  }
  constexpr int leaves_of(int p, int enters, int candidate) const {
    for (int v = 0; v < variant[p].size; ++v)
      if (variant[p][v].enters == enters && variant[p][v].candidate == candidate) return variant[p][v].leaves;
    return -1;
  }
  constexpr bool is_known(int p, int enters, int candidate, int gradient_enters) const {
    for (int v = 0; v < variant[p].size; ++v)
      if (variant[p][v].enters == enters && variant[p][v].candidate == candidate &&
          variant[p][v].gradient_enters == gradient_enters)
        return true;
    return false;
  }

  /// Parts before p as in choice `before`, those behind it as in choice `behind`; -1: the first candidates.
  constexpr void start_with(growing_array<int>& choice, int before, int p, int c, int behind) const {
    choice.resize(size(), 0);
    for (int i = 0; i < size(); ++i) {
      const int like = i < p ? before : behind;
      choice[i] = i == p ? c : like >= 0 ? choices[like * size() + i] : first_alive(i);
    }
  }

  constexpr void measure(const growing_array<int>& choice) {
    if (!all_alive(choice)) return;
    strategy_value s;
    if (!compose(space, choice.item, s)) {
      rules_fit = false;
      return;
    }
    const sharded_program program = partition(given, s);
    if (program.status.code != strategy_code::ok) return bury(program, choice);
    for (const int c : choice) choices.push(c);
    record(program, s, choice);
  }

  /// A refusal is the fault of the candidate of the part that it names, or of all of them.
  constexpr void bury(const sharded_program& program, const growing_array<int>& choice) {
    refused = program.status;
    const int o = refused.op, t = refused.tensor;
    const int p = o >= 0 && o < parts.ruled_by.size        ? parts.ruled_by[o]
                  : t >= 0 && t < parts.of_tensor.size ? parts.of_tensor[t]
                                                       : -1;
    for (int i = 0; i < size(); ++i)
      for (int c = 0; c < space.candidate[i].size; ++c)
        if (p < 0 || (i == p && c == choice[i])) dead_[i * static_cast<int>(most_) + c] = true;
  }

  constexpr void record(const sharded_program& program, const strategy_value& s, const growing_array<int>& choice) {
    const int n = size();
    growing_array<extent_t> time, memory;
    time.resize(n, 0);
    memory.resize(n, 0);
    visit_prices(program, form, price, [&](int i, extent_t t) { time[part_of_step(program, i)] += t; });
    if (form.degree > 1 && !planned.segment.empty())
      time[parts.of_tensor[planned.segment.last().carried_out]] += hop_time(program, form, price.topology()).picoseconds;
    visit_kept_memory(program, form, [&](int storage, int first, extent_t bytes) {
      const bool is_home = program.storage[storage].home;
      memory[is_home ? parts.of_tensor[program.storage[storage].tensor] : part_of_step(program, first)] += bytes;
    });
    strategy_layouts layouts(program.graph, s);
    int enters = 0;
    growing_array<int> comes;
    comes.resize(n, 0);
    for (int p = 0; p + 1 < n; ++p) comes[p] = number_of(gradient[p], gradient_state(program, p));
    for (int p = 0; p < n; ++p) {
      const int leaves = p + 1 < n ? number_of(state[p], forward_state(program, layouts, p)) : 0;
      if (!is_known(p, enters, choice[p], comes[p]))
        variant[p].push({enters, choice[p], comes[p], leaves, p > 0 ? comes[p - 1] : 0, time[p], memory[p],
                         partitionings() - 1});
      enters = leaves;
    }
  }

  static constexpr int number_of(growing_array<joint_state>& list, const joint_state& one) {
    for (int i = 0; i < list.size; ++i)
      if (list[i] == one) return i;
    return list.push(one);
  }

  constexpr joint_state forward_state(const sharded_program& program, strategy_layouts& layouts, int p) const {
    joint_state s;
    s.made = first_layout(program, parts.part[p].leaves);
    if (const int o = sum_of[p]; o >= 0) {
      const graph_operator& op = program.graph.op[o];
      s.wanted = layout_of(op, op.result[0], layouts.place(program.graph, o), program.mesh.shape, true);
    }
    const int segment = parts.part[p].segment;
    if (segment >= 0)
      s.carried = first_read(program, program.graph.segment[segment].carried_in, segment, graph_phase::forward);
    return s;
  }

  constexpr joint_state gradient_state(const sharded_program& program, int p) const {
    joint_state s;
    const int segment = parts.part[p + 1].segment;
    const bool enters = segment >= 0 && parts.part[p].segment != segment;
    s.made = first_layout(program, enters ? planned.segment[segment].gradient_out
                                          : planned.tensor[parts.part[p].leaves].gradient);
    if (segment >= 0)
      s.carried = first_read(program, program.graph.segment[segment].gradient_in, segment, graph_phase::backward);
    return s;
  }

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

  const graph& given;
  const graph& planned;
  const model_parts& parts;
  const plan_space& space;
  plan_prices& price;
  pipeline_form form;
  growing_array<growing_array<joint_state>> state;     ///< of each joint
  growing_array<growing_array<joint_state>> gradient;  ///< of its gradient
  growing_array<int> sum_of;
  growing_array<int> by_name;
  growing_array<bool> dead_;
  extent_t most_ = 0;  ///< candidates of a part
};

}  // namespace hyperparallel
