// SPDX-License-Identifier: Apache-2.0
#pragma once
// Appends to a differentiated graph what makes a step of training of it: accumulation, norms, updates.
//
//   accumulate   with several micro-batches: "accumulated(p)" takes each gradient right after it is complete, so that
//                no two gradients need live together; these operators stand in the backward phase, those of the
//                experts' counts in the accumulate phase. What is accumulated is zero before the first micro-batch.
//   norm         Σ g² over all gradients ("squared_norm", monitored), and the factor that clips them
//   update       one operator for each parameter that has a gradient; router biases from the experts' counts
//
// States are tensors "first_moment(p)", "second_moment(p)", "momentum(p)", "master(p)" of at least 32 bits; parameters
// that are narrower have an exact master. Results replace what they are the next value of.
// Muon's operators have the batch dims of a matrix (optimizer_value.hpp) as loops that may be sharded, whole sides, and
// integer[0], integer[1] = the first dim of either side. Other parameters, and those that `without_muon` names, get
// adamw.
//
// Operators belong to their parameter's segment. A segment's squared norms are summed over its repetitions.
// Sources: Loshchilov & Hutter, "Decoupled weight decay", 2019; Jordan et al., "Muon", 2024; DeepSeek-V3, 2024, 2.1.2.

#include <hyperparallel/graph/check_optimizer.hpp>
#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/graph/operator_order.hpp>
#include <hyperparallel/graph/optimizer_value.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class optimizer_pass {
 public:
  constexpr optimizer_pass(graph& given, const optimizer_value& options)
      : g(given), value(options), first_count(given.tensor.size) {
    gradient.resize(first_count, -1);
    counts.resize(first_count, -1);
    for (int t = 0; t < first_count; ++t)
      if (g.tensor.item[t].kind == graph_tensor_kind::parameter) gradient.item[t] = g.tensor.item[t].gradient;
  }

  constexpr void run() {
    if (g.micro_batches > 1) accumulate();
    find_router_biases();
    const int clip = append_norms();
    for (int t = 0; t < first_count; ++t) {
      if (gradient.item[t] >= 0) update(t, clip);
      if (counts.item[t] >= 0) update_bias(t);
    }
  }

 private:
  /// An operator whose loops are bound; its results come later.
  constexpr graph_operator start(operator_id kind, graph_phase phase, int segment, const char* text,
                                 const int* operands, int count) {
    graph_operator o;
    o.kind = kind;
    o.phase = phase;
    o.segment = segment;
    graph_status s = bind_loops(g, o, text, operands, count, nullptr, 0);
    if (s.code == graph_code::ok) return o;
    s.op = g.tensor[operands[0]].name;
    g.fail(s);
    return o;
  }

  /// Adds the operator; result r is the next value of tensor `replaced[r]` and has its name. Returns the first result.
  constexpr int append_replacing(graph_operator& o, const int* replaced) {
    const int first = g.tensor.size;
    for (int r = 0; r < o.result_count; ++r) {
      graph_tensor t = g.tensor.item[replaced[r]];
      t.producer = g.op.size;
      t.replaces = replaced[r];
      t.gradient = -1;
      if (r == 0) o.name = t.name;
      o.result[r] = g.tensor.push(t);
    }
    g.op.push(o);
    return first;
  }

  /// Adds an operator whose result is one number.
  constexpr int append_number(graph_operator& o, const char* name, const char* of, data_type type) {
    graph_tensor t;
    t.name = o.name = *of != '\0' ? add_text(g, name, of, ")") : add_text(g, name);
    t.type = type;
    t.kind = graph_tensor_kind::activation;
    t.producer = g.op.size;
    t.segment = o.segment;
    o.result[0] = g.tensor.push(t);
    g.op.push(o);
    return o.result[0];
  }

  constexpr int append_state(const char* prefix, int parameter) {
    const graph_tensor& p = g.tensor.item[parameter];
    graph_tensor t;
    t.type = at_least_f32(p.type);
    t.kind = graph_tensor_kind::state;
    t.shape = p.shape;
    for (int d = 0; d < p.shape.rank; ++d) t.dim[d] = p.dim[d];
    t.source = parameter;
    t.segment = p.segment;
    t.name = add_text(g, prefix, g.text_at(p.name), ")");
    return g.tensor.push(t);
  }

  constexpr void accumulate() {
    const int last = g.op.size;
    growing_array<int> first_after, next;  // chains of what follows each operator
    first_after.resize(last, -1);
    for (int t = 0; t < first_count; ++t) {
      if (gradient[t] < 0) continue;
      const int operands[] = {append_state("accumulated(", t), gradient[t]};
      int after = g.tensor[gradient[t]].producer;
      if (g.op[after].segment != g.tensor[t].segment)  // a gradient that it shares with a tensor outside
        for (int o = 0; o < last; ++o)
          if (g.op[o].phase == graph_phase::backward && g.op[o].segment == g.tensor[t].segment) after = o;
      graph_operator o =
          start(id_of<ops::accumulate>, graph_phase::backward, g.tensor[t].segment, ops::accumulate::text, operands, 2);
      gradient[t] = append_replacing(o, operands);
      next.push(first_after[after]);
      first_after[after] = next.size - 1;
    }
    growing_array<int> order;
    order.reserve(g.op.size);
    for (int o = 0; o < last; ++o) {
      order.push(o);
      for (int n = first_after[o]; n >= 0; n = next[n]) order.push(last + n);
    }
    arrange_operators(g, order);
  }

  /// Returns the factor of all gradients.
  constexpr int append_norms() {
    growing_array<int> squares;
    data_type type = data_type::f32;
    for (int t = 0; t < first_count; ++t) {
      if (gradient.item[t] < 0) continue;
      graph_operator o =
          start(id_of<ops::sum_of_squares>, graph_phase::norm, g.tensor[t].segment, "*->", &gradient[t], 1);
      if (g.tensor[gradient[t]].type == data_type::f64) type = data_type::f64;
      squares.push(append_number(o, "squared_norm(", g.name_of_tensor(t), at_least_f32(g.tensor[gradient[t]].type)));
      if (value.local_norms) g.monitor.push(squares.last());
    }
    monitor_once(g.loss);
    int total = squares.empty() ? -1 : squares[0];
    for (int next = 1; next < squares.size;) {
      int operands[max_operator_operands] = {total}, count = 1;
      while (next < squares.size && count < max_operator_operands) operands[count++] = squares[next++];
      graph_operator o = start(id_of<ops::sum>, graph_phase::norm, -1, ops::sum::text, operands, count);
      total = next < squares.size ? append_number(o, "sum_to(", g.name_of_tensor(squares[next - 1]), type)
                                  : append_number(o, "squared_norm", "", type);
    }
    if (total >= 0) g.monitor.push(total);
    graph_operator o;
    if (value.clip > 0.0 && total >= 0) {
      o = start(id_of<ops::clip_factor>, graph_phase::norm, -1, ops::clip_factor::text, &total, 1);
      o.real[0] = value.clip;
    } else {
      o = start(id_of<ops::fill>, graph_phase::norm, -1, "->", nullptr, 0);
      o.real[0] = 1.0;
    }
    return append_number(o, "clip", "", type);
  }

  constexpr void monitor_once(int t) {
    for (int i = 0; i < g.monitor.size; ++i)
      if (g.monitor[i] == t) return;
    g.monitor.push(t);
  }

  constexpr void update(int p, int clip) {
    matrix_sides sides;
    if (value.kind == optimizer_kind::muon && !name_matches(value.without_muon.text, g.name_of_tensor(p)))
      sides = sides_of(g, p);
    const int segment = g.tensor[p].segment;
    const bool has_master = at_least_f32(g.tensor[p].type) != g.tensor[p].type;
    int operands[6] = {p, gradient[p]}, replaced[4] = {p}, count = 2, results = 1;
    if (has_master) replaced[results++] = operands[count++] = append_state("master(", p);
    if (value.kind == optimizer_kind::sgd || sides.is_matrix) {
      replaced[results++] = operands[count++] = append_state("momentum(", p);
      operands[count++] = clip;
      const bool is_sgd = value.kind == optimizer_kind::sgd;
      char text[8 * max_dims + 16] = {};
      if (sides.is_matrix) write_matrix_text(text, g.tensor[p].shape.rank, sides.rows, results);
      const operator_id kind = is_sgd       ? has_master ? id_of<ops::sgd_master> : id_of<ops::sgd>
                                     : has_master ? id_of<ops::muon_master>
                                            : id_of<ops::muon>;
      graph_operator o =
          start(kind, graph_phase::update, segment, is_sgd ? g.operators[kind].text : text, operands, count);
      o.real[0] = is_sgd ? value.rate : value.muon_rate;
      o.real[1] = value.momentum;
      o.real[2] = value.weight_decay;
      o.integer[0] = sides.rows;
      o.integer[1] = sides.columns;
      append_replacing(o, replaced);
      return;
    }
    const operator_id kind = has_master ? id_of<ops::adamw_master> : id_of<ops::adamw>;
    replaced[results++] = operands[count++] = append_state("first_moment(", p);
    replaced[results++] = operands[count++] = append_state("second_moment(", p);
    operands[count++] = clip;
    graph_operator o = start(kind, graph_phase::update, segment, g.operators[kind].text, operands, count);
    const double real[] = {value.rate, value.beta1, value.beta2, value.epsilon, value.weight_decay};
    for (int i = 0; i < 5; ++i) o.real[i] = real[i];
    append_replacing(o, replaced);
  }

  /// "aYZ,aYZ,aYZ,->aYZ,aYZ" of two results: batch dims small, sides whole; an operand more than results beside the clip factor.
  static constexpr void write_matrix_text(char* text, int rank, int rows, int results) {
    int at = 0;
    for (int part = 0; part <= 2 * results; ++part) {
      for (int d = 0; d < rank; ++d) text[at++] = static_cast<char>((d < rows ? 'a' : 'A') + d);
      if (part == results) {
        text[at++] = ',';
        text[at++] = '-';
        text[at++] = '>';
      } else if (part < 2 * results) {
        text[at++] = ',';
      }
    }
  }

  /// The counts of the experts that each router's bias chose, of all micro-batches.
  constexpr void find_router_biases() {
    const int last = g.op.size;
    for (int f = 0; f < last; ++f) {
      const int balanced_by = g.value_of(g.op.item[f]).balanced_by;
      if (balanced_by < 0 || g.op.item[f].phase != graph_phase::forward) continue;
      const int bias = g.op[f].operand[balanced_by];
      for (int c = f + 1; c < last && g.tensor[bias].kind == graph_tensor_kind::state && !g.tensor[bias].frozen; ++c)
        if (g.value_of(g.op[c]).counts_choices && chooses(g.op[f], g.op[c].operand[0]))
          counts[bias] = g.op[c].result[0];
    }
    for (int t = 0; t < first_count && g.micro_batches > 1; ++t) {
      if (counts[t] < 0) continue;
      const int operands[] = {append_state("accumulated(", counts[t]), counts[t]};
      graph_operator o = start(id_of<ops::accumulate>, graph_phase::accumulate, g.tensor[t].segment,
                               ops::accumulate::text, operands, 2);
      counts[t] = append_replacing(o, operands);
    }
  }

  /// Whether tensor `t` holds what the operator has chosen.
  constexpr bool chooses(const graph_operator& o, int t) const {
    for (int r = 0; r < o.result_count; ++r)
      if (o.result[r] == t) return is_in(g.value_of(o).index_results, r);
    return false;
  }

  constexpr void update_bias(int bias) {
    const int operands[] = {bias, counts[bias]};
    graph_operator o = start(id_of<ops::update_bias>, graph_phase::update, g.tensor[bias].segment,
                             ops::update_bias::text, operands, 2);
    o.real[0] = value.bias_rate;
    append_replacing(o, operands);
  }

  graph& g;
  const optimizer_value& value;
  int first_count;
  growing_array<int> gradient;  ///< of each parameter: what norm and update read, or -1
  growing_array<int> counts;    ///< of each router bias, or -1
};

constexpr void append_optimizer_here(graph& g, const optimizer_value& value) {
  if (g.status.code != graph_code::ok) return;
  if (const graph_status s = check_before_optimizer(g, value); s.code != graph_code::ok) return g.fail(s);
  optimizer_pass(g, value).run();
}
void append_optimizer_in_library(graph& g, const optimizer_value& value);

}  // namespace detail

/// To be called after `differentiate`; `graph::micro_batches` as it was then. A graph without gradients, one that has
/// an optimizer already, and numbers that cannot be (a rate that is not a number) are refused: `graph::status`.
constexpr void append_optimizer(graph& g, const optimizer_value& value) {
  HYPERPARALLEL_TWIN(detail::append_optimizer_in_library(g, value));
  detail::append_optimizer_here(g, value);
}

}}  // namespace hyperparallel::v0_2
