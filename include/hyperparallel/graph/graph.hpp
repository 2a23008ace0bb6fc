// SPDX-License-Identifier: Apache-2.0
#pragma once
// The graph of a model for one device: named dims, tensors, operators, repeated segments.
//
// Operators stand in the order in which one device runs them, phase by phase. Law: every operand is an input, a
// parameter, a state, or the result of an earlier operator; every tensor has at most one producer. A result that
// `replaces` a tensor is that tensor's next value in the same memory (parameters, states, accumulators).
//
// A segment is a period of operators stored once and repeated: its `carried_in` is the result `carried_out` of the
// repetition before. Whatever belongs to a segment counts `repeats` times in sums; the two tensors have one shape.

#include <hyperparallel/graph/graph_status.hpp>
#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class graph_tensor_kind : unsigned char { input, parameter, activation, gradient, state };

constexpr const char* name_of(graph_tensor_kind kind) {
  constexpr const char* names[] = {"input", "parameter", "activation", "gradient", "state"};
  return names[static_cast<int>(kind)];
}

/// How a parameter begins. `by_reader`: as its first reader says (`operator_value::starts_at_one`, `starts_at_zero`),
/// and drawn where it says nothing. `drawn`: uniform, of the variance that keeps the width of the first reader's result.
enum class first_value : unsigned char { by_reader, zeros, ones, drawn };

/// A named dim: strategies speak of it.
struct graph_dim {
  int name = 0;
  extent_t extent = 1;
  friend constexpr bool operator==(const graph_dim&, const graph_dim&) = default;
};

struct graph_tensor {
  int name = 0;  ///< place in `graph::text`
  data_type type = data_type::f32;
  graph_tensor_kind kind = graph_tensor_kind::activation;
  first_value first = first_value::by_reader;  ///< of a parameter
  bool frozen = false;  ///< a parameter that is not trained: it gets no gradient; a state: no update
  hyperparallel::shape shape{};
  int dim[max_dims] = {};  ///< named dims
  int producer = -1;       ///< operator
  int source = -1;         ///< gradient or recomputed value: of which tensor; state: of which parameter
  int replaces = -1;       ///< the tensor whose memory this next value of it takes
  int segment = -1;
  int gradient = -1;  ///< the tensor that is its gradient; tensors that are summed may share one
  friend constexpr bool operator==(const graph_tensor&, const graph_tensor&) = default;
};

/// When an operator runs: forward to accumulate once a micro-batch, norm and update once a step.
enum class graph_phase : unsigned char { forward, backward, accumulate, norm, update };
inline constexpr int graph_phase_count = 5;

constexpr const char* name_of(graph_phase p) {
  constexpr const char* names[] = {"forward", "backward", "accumulate", "norm", "update"};
  return names[static_cast<int>(p)];
}

inline constexpr int max_operator_loops = max_factors;
inline constexpr int max_operator_operands = max_operands;
inline constexpr int max_operator_results = max_results;

/// One loop of an operator's iteration space.
struct operator_loop {
  int dim = 0;  ///< the graph's named dim
  extent_t extent = 1;
  friend constexpr bool operator==(const operator_loop&, const operator_loop&) = default;
};

/// An operator of a graph and the box of loops it runs over. Law: it works on any box of its loops by itself; where a
/// loop that is sharded is missing from a result, the result is partial by the operator's reduction, and nothing else
/// about distribution is ever asked of a kernel. A backward operator runs over the loops of its forward operator.
struct graph_operator : operator_attributes {
  operator_id kind = id_of<ops::sum>;
  graph_phase phase = graph_phase::forward;
  int name = 0;
  int rule = -1;  ///< of `graph::rule`; its factors are the loops
  int loop_count = 0;
  operator_loop loop[max_operator_loops] = {};
  int operand_count = 0;
  int operand[max_operator_operands] = {};  ///< tensors
  int result_count = 0;
  int result[max_operator_results] = {};
  int forward = -1;   ///< of a backward or recomputed operator: whose loops it runs over (same loops, same numbers)
  int rotation = -1;  ///< of an operator of a ring: how far its block has travelled along the ring's axis
  int segment = -1;
  bool recomputed = false;
  unsigned char product_bits =
      0;  ///< of a forward contraction: of the floats that it and its gradients multiply; 0: as operands are stored
};

/// A rule that operators of the graph have, and what it was made for.
struct graph_rule {
  operator_id kind = id_of<ops::sum>;
  reduce_op reduction = reduce_op::sum;
  int text = 0;      ///< place in `graph::text`
  int forward = -1;  ///< of backward operators: the rule whose factors it has
  operand_ranks ranks{};
  factor_rule rule{};
};

struct graph_segment {
  int name = 0;
  extent_t repeats = 1;
  int carried_in = -1, carried_out = -1;
  int gradient_in = -1, gradient_out = -1;  ///< the same of the backward pass, which repeats in reverse
};

struct graph {
  growing_array<char> text;  ///< zero-terminated names, one after the other
  growing_array<graph_dim> dim;
  growing_array<graph_tensor> tensor;
  growing_array<graph_operator> op;
  growing_array<graph_rule> rule;  ///< each once
  operator_list operators = builtin_list;
  growing_array<graph_segment> segment;
  int loss = -1;               ///< tensor
  growing_array<int> monitor;  ///< tensors that a run shows: single numbers
  int micro_batches = 1;
  graph_status status{};

  constexpr const char* text_at(int name) const { return text.item + name; }
  constexpr const char* name_of_tensor(int t) const { return text_at(tensor.item[t].name); }
  constexpr const char* name_of_op(int o) const { return text_at(op[o].name); }
  constexpr const char* name_of_dim(int d) const { return text_at(dim.item[d].name); }
  constexpr const factor_rule& rule_of(const graph_operator& o) const { return rule.item[o.rule].rule; }
  constexpr const operator_value& value_of(const graph_operator& o) const { return operators[o.kind]; }

  constexpr void fail(const graph_status& s) {
    if (status.code == graph_code::ok) status = s;
  }
};

/// Stores the texts one after the other as one text; returns its place. They may lie in the graph's own text.
constexpr int add_text(graph& g, const char* a, const char* b = "", const char* c = "") {
  const char* const part[] = {a, b, c};
  const int at = g.text.size;
  int end = at + 1;
  for (const char* p : part) end += detail::text_length(p);
  growing_array<char> larger_one;
  const bool grows = end > g.text.capacity();
  if (grows) {
    larger_one.reserve(end < 2048 ? 4096 : 2 * end);
    for (int i = 0; i < at; ++i) larger_one.item[i] = g.text.item[i];
  }
  char* const text = grows ? larger_one.item : g.text.item;
  int to = at;
  for (const char* p : part)
    for (char letter = *p; letter != '\0'; letter = *p) {
      text[to] = letter;
      to = to + 1;
      p = p + 1;
    }
  text[to] = '\0';
  if (grows) g.text = static_cast<growing_array<char>&&>(larger_one);
  g.text.size = end;
  return at;
}

namespace detail {

/// Gives `t`, which `o` makes as `result`, its shape and its named dims.
constexpr void give_shape(const graph& g, const graph_operator& o, int result, graph_tensor& t) {
  const tensor_factors& factors = g.rule_of(o).result[result];
  t.shape.rank = factors.rank;
  for (int d = 0; d < factors.rank; ++d) {
    t.shape.extent[d] = o.loop[factors.term[d]].extent;
    t.dim[d] = o.loop[factors.term[d]].dim;
  }
}

/// The dim called `name`, or -1. O(dims).
constexpr int find_dim(const graph& g, const char* name) {
  for (int d = 0; d < g.dim.size; ++d)
    if (same_text(g.name_of_dim(d), name)) return d;
  return -1;
}

}  // namespace detail

/// The tensor called `name`, or -1. O(tensors).
constexpr int find_tensor(const graph& g, const char* name) {
  for (int t = 0; t < g.tensor.size; ++t)
    if (detail::same_text(g.name_of_tensor(t), name)) return t;
  return -1;
}

namespace detail {

/// How often what belongs to `segment` happens.
constexpr extent_t repeats_of(const graph& g, int segment) { return segment < 0 ? 1 : g.segment[segment].repeats; }

}  // namespace detail

constexpr extent_t elements_of(const graph_tensor& t) { return element_count(t.shape).value; }
constexpr extent_t bytes_of(const graph_tensor& t) { return elements_of(t) * bytes_of(t.type); }

/// Elements of all parameters, repeated ones as often as they are.
constexpr extent_t parameter_count(const graph& g) {
  extent_t n = 0;
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == graph_tensor_kind::parameter && g.tensor[t].replaces < 0)
      n += elements_of(g.tensor[t]) * detail::repeats_of(g, g.tensor[t].segment);
  return n;
}

}}  // namespace hyperparallel::v0_2
