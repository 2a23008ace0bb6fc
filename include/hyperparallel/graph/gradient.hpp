// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reverse mode: appends to a graph the operators that compute the gradient of its loss for every parameter.
//
// Operators are visited backwards; each whose results have gradients adds its backward operators (gradient_rules.hpp).
// Laws: only what depends on parameters that are not frozen gets a gradient; a gradient has the shape and the type of its tensor; several
// contributions to one tensor are joined by `sum` operators of up to 8 operands, chained beyond, in the order in which
// they were made, just before the sum is first read (of a parameter: after its last contribution). Operands that pass the
// gradient of a result (those of a `sum`) share it. Where a backward operator reads the gradients of several results and nothing reads some of
// these, it is given zeros for them. Backward operators number at most 2 · operators + operands / 7.
//
// Micro-batches: the loss is the mean over the whole step, so its own gradient is 1 / graph::micro_batches.
//
// Segments: backward operators of a segment belong to it and repeat in reverse. `gradient_in` is the gradient of
// `carried_out`; `gradient_out`, that of `carried_in` in one repetition, is the gradient_in of the next one. What a
// segment makes and the outside reads stands for every repetition's, so each gets the outside's gradient. A tensor of
// the outside that depends on parameters, is read in a segment and is not carried is refused.
// O(operators + contributions). Source: Griewank & Walther, "Evaluating derivatives", 2008, chapter 3.

#include <hyperparallel/graph/gradient_rules.hpp>
#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The tensor that holds the gradient of `t`, or -1.
constexpr int gradient_of(const graph& g, int t) { return g.tensor[t].gradient; }

namespace detail {

class gradient_pass {
 public:
  constexpr explicit gradient_pass(graph& given)
      : g(given), forward_count(given.op.size), carried_slot(given.tensor.size) {
    g.op.reserve(3 * forward_count + 8);
    g.tensor.reserve(3 * g.tensor.size + 8);
    contributed.resize(carried_slot + 1);
    find_dependent();
  }

  constexpr void run() {
    contribute(g.loss, append_seed());
    int segment = -1;
    for (int f = forward_count - 1; f >= 0 && g.status.code == graph_code::ok; --f) {
      const int next = g.op[f].segment;
      if (next != segment) {
        if (segment >= 0) leave(segment);
        if (next >= 0) enter(next);
        segment = next;
      }
      bool reached = false;
      for (int r = 0; r < g.op.item[f].result_count; ++r) {
        const int t = g.op[f].result[r], joined = join(t, t, segment);
        if (joined < 0) continue;
        g.tensor[t].gradient = joined;
        reached = true;
      }
      if (reached) differentiate_operator(f);
      for (int i = 0; i < g.op.item[f].operand_count; ++i) {
        const int t = g.op.item[f].operand[i];
        if (g.tensor.item[t].kind == graph_tensor_kind::parameter && first_reader.item[t] == f &&
            g.tensor.item[t].gradient < 0)
          g.tensor[t].gradient = join(t, t, segment);
      }
    }
    if (segment >= 0) leave(segment);
    for (int t = carried_slot; t < g.tensor.size; ++t)  // of a pass that a mistake ended
      if (g.tensor.item[t].name < 0) g.tensor.item[t].name = g.tensor.item[g.tensor.item[t].source].name;
  }

 private:
  struct contribution {
    int tensor = -1;
    int next = -1;
  };
  struct contribution_list {
    int first = -1;
    int last = -1;
  };

  constexpr bool is_carried(int t, int segment) const { return segment >= 0 && t == g.segment[segment].carried_in; }

  /// What depends on parameters; a carried tensor does, inside its segment. And the first reader of each tensor.
  constexpr void find_dependent() {
    depends.resize(carried_slot, false);
    first_reader.resize(carried_slot, -1);
    for (int t = 0; t < carried_slot; ++t)
      depends.item[t] = g.tensor.item[t].kind == graph_tensor_kind::parameter && !g.tensor.item[t].frozen;
    for (int f = 0; f < forward_count; ++f) {
      const graph_operator& o = g.op[f];
      bool reached = false;
      for (int i = 0; i < o.operand_count; ++i) {
        const int t = o.operand[i];
        reached = reached || depends[t] || is_carried(t, o.segment);
        if (first_reader.item[t] < 0) first_reader.item[t] = f;
      }
      for (int r = 0; r < o.result_count; ++r) depends[o.result[r]] = reached && !is_in(g.value_of(o).constant, r);
    }
  }

  constexpr bool wants_gradient(int f, int operand) const {
    const int t = g.op.item[f].operand[operand];
    return depends.item[t] || is_carried(t, g.op.item[f].segment);
  }

  constexpr void contribute(int slot, int tensor) {
    const int place = contributions.push({tensor, -1});
    contribution_list& list = contributed.item[slot];
    (list.first < 0 ? list.first : contributions[list.last].next) = place;
    list.last = place;
  }
  /// `tensor` is part of the gradient of an operand of operator `f`.
  constexpr void contribute_to_operand(int f, int operand, int tensor) {
    const int t = g.op.item[f].operand[operand], segment = g.op.item[f].segment;
    if (is_carried(t, segment))
      contribute(carried_slot, tensor);
    else if (segment >= 0 && g.tensor[t].segment != segment)
      g.fail({graph_code::segment_captures_tensor, g.op[f].name, g.tensor[t].name, operand});
    else
      contribute(t, tensor);
  }

  constexpr void refuse(int f, int tensor) {
    g.fail({graph_code::operator_has_no_gradient, g.op[f].name, g.tensor[tensor].name});
  }

  constexpr void refuse_text(int f) {
    g.fail({graph_code::gradient_does_not_fit_its_operator, g.op[f].name, g.tensor[g.op[f].result[0]].name});
  }

  constexpr void differentiate_operator(int f) {
    const operator_value& value = g.value_of(g.op[f]);
    const int operands = g.op.item[f].operand_count, first_result = g.op.item[f].result[0];
    if (value.logits.exist()) {
      const backward_operator b = build_cross_entropy(g, f);
      return b.op.operand_count > 0 ? append(b) : refuse(f, first_result);
    }
    if (!value.has_gradient_for(g.rule_of(g.op[f]))) return refuse(f, first_result);
    if (!gradient_passes(value, g.rule_of(g.op[f]))) return refuse_text(f);
    const int passed = g.tensor[first_result].gradient;
    for (int i = 0; i < operands && passed >= 0; ++i)
      if (is_in(value.passes_gradient, i) && wants_gradient(f, i)) contribute_to_operand(f, i, passed);
    bool read[max_operator_results] = {value.passes_gradient != 0};
    gradient_writer rules(g.operators, operands);
    value.gradient(rules);
    if (rules.count > max_gradient_rules) return refuse_text(f);
    for (int n = 0; n < rules.count; ++n) {
      const gradient_rule& rule = rules.rule[n];
      if (!reads_as_gradient(rule.text, operands, g.op[f].result_count)) return refuse_text(f);
      if (!g.operators.has(rule.backward))
        return g.fail({graph_code::operator_is_not_in_the_list, g.op[f].name,
                       rule.is_named ? add_text(g, rule.value->name) : -1});
      bool wanted = false, reached = false;
      for (const char* at = gradients_made_by(rule); *at != '\0'; ++at) wanted = wanted || wants_gradient(f, *at - '0');
      for (int r = 0; r < g.op.item[f].result_count; ++r) {
        if (!reads_gradient(rule, r)) continue;
        if (is_in(value.constant, r)) return refuse_text(f);
        read[r] = true;
        reached = reached || g.tensor.item[g.op.item[f].result[r]].gradient >= 0;
      }
      if (!wanted || !reached) continue;
      for (int r = 0; r < g.op.item[f].result_count; ++r)
        if (reads_gradient(rule, r) && g.tensor.item[g.op.item[f].result[r]].gradient < 0) append_zero_gradient(f, r);
      const backward_operator b = build_backward(g, f, rule);
      if (!is_rule_of_its_operator(g, b.op) || !numbers_fit(value, g.value_of(b.op), rule.text)) return refuse_text(f);
      append(b);
    }
    for (int r = 0; r < g.op.item[f].result_count; ++r)
      if (g.tensor.item[g.op.item[f].result[r]].gradient >= 0 && !read[r]) return refuse(f, g.op.item[f].result[r]);
  }

  /// Adds the operator, its results' tensors, and these to the gradients that they are part of.
  constexpr void append(const backward_operator& b) {
    const int number = g.op.push(b.op), forward = b.op.forward;
    for (int r = 0; r < b.op.result_count; ++r) {
      const int source = g.op.item[forward].operand[b.operand[r]];
      const int made = append_gradient(g, source, b.op.segment, number);
      g.op.item[number].result[r] = made;
      if (wants_gradient(forward, b.operand[r]))
        contribute_to_operand(forward, b.operand[r], made);
      else
        name_gradient(g, made, source, number);  // made beside one that is wanted
    }
  }

  /// The gradient of result `r` of operator `f` where nothing reads the result: zeros that lie as it does.
  constexpr void append_zero_gradient(int f, int r) {
    const int number = g.op.push(build_zero_gradient(g, f, r)), t = g.op[f].result[r];
    g.tensor[t].gradient = append_gradient(g, t, g.op[f].segment, number);
    g.op[number].result[0] = g.tensor[t].gradient;
    name_gradient(g, g.tensor[t].gradient, t, 0);
  }

  /// The sum of a slot's contributions to the gradient of `t`, which it leaves empty; -1 where there are none.
  constexpr int join(int slot, int t, int segment) {
    int place = contributed.item[slot].first;
    if (place < 0) return -1;
    contributed.item[slot] = {};
    int joined = contributions.item[place].tensor, part = 0;
    bool last = contributions.item[place].next < 0;
    const auto name_part = [&](int tensor) {
      if (g.tensor.item[tensor].name < 0) name_gradient(g, tensor, t, last ? 0 : ++part);
    };
    name_part(joined);
    while (!last) {
      int operands[max_operator_operands] = {joined}, count = 1;
      while (!last && count < max_operator_operands) {
        place = contributions[place].next;
        name_part(contributions[place].tensor);
        operands[count++] = contributions[place].tensor;
        last = contributions[place].next < 0;
      }
      graph_operator o = start(id_of<ops::sum>, segment);
      bind_loops(g, o, ops::sum::text, operands, count, nullptr, 0);
      const int number = g.op.push(o);
      joined = append_gradient(g, t, segment, number);
      g.op[number].result[0] = joined;
      // Of a tensor that a segment carries, the part inside has the plain name where both need a sum.
      if (last)
        name_gradient(g, joined, t, g.tensor[t].gradient < 0 ? 0 : ++part);
      else
        name_part(joined);
    }
    return joined;
  }

  static constexpr graph_operator start(operator_id kind, int segment) {
    graph_operator o;
    o.kind = kind;
    o.phase = graph_phase::backward;
    o.segment = segment;
    return o;
  }

  constexpr int append_seed() {
    graph_operator o = start(id_of<ops::fill>, g.tensor[g.loss].segment);
    o.real[0] = 1.0 / static_cast<double>(g.micro_batches);
    bind_loops(g, o, "->", nullptr, 0, nullptr, 0);
    const int number = g.op.push(o), seed = append_gradient(g, g.loss, o.segment, number);
    g.op[number].result[0] = seed;
    return seed;
  }

  /// Before the first backward operator of a segment: what comes from outside for its last repetition.
  constexpr void enter(int segment) {
    const int out = g.segment[segment].carried_out, incoming = join(out, out, -1);
    g.segment[segment].gradient_in = g.tensor[out].gradient = incoming;
    if (incoming >= 0) contribute(out, incoming);
  }
  constexpr void leave(int segment) {
    graph_segment& s = g.segment[segment];
    s.gradient_out = join(carried_slot, s.carried_in, segment);
    if (s.gradient_out < 0) return;
    if (s.gradient_in < 0) g.fail({graph_code::operator_has_no_gradient, s.name, g.tensor[s.carried_out].name});
    if (!depends[s.carried_in]) return;
    g.tensor[s.carried_in].gradient = s.gradient_out;
    contribute(s.carried_in, s.gradient_out);
  }

  graph& g;
  int forward_count;
  int carried_slot;  ///< contributions to the carried tensor inside the segment at hand
  growing_array<bool> depends;
  growing_array<int> first_reader;
  growing_array<contribution> contributions;
  growing_array<contribution_list> contributed;
};

constexpr void differentiate_here(graph& g) {
  if (g.status.code != graph_code::ok) return;
  if (g.micro_batches < 1) return g.fail({graph_code::micro_batches_are_not_positive, -1, -1, 0, 0, g.micro_batches});
  for (const graph_operator& o : g.op)
    if (o.phase != graph_phase::forward) return g.fail({graph_code::graph_has_gradients_already, o.name});
  if (g.loss < 0) return g.fail({graph_code::model_has_no_loss});
  if (g.tensor[g.loss].shape.rank != 0) return g.fail({graph_code::loss_is_not_one_number, -1, g.tensor[g.loss].name});
  gradient_pass(g).run();
}
void differentiate_in_library(graph& g);

}  // namespace detail

/// Appends the backward phase. A graph with a mistake stays as it is; a new one is in `graph::status`, with the names
/// of the operator and the tensor.
constexpr void differentiate(graph& g) {
  HYPERPARALLEL_TWIN(detail::differentiate_in_library(g));
  detail::differentiate_here(g);
}

}}  // namespace hyperparallel::v0_2
