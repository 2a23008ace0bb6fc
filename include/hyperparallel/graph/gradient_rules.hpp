// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backward operators in a graph, from what the operators' gradients say (operators/gradient_writer.hpp).
//
// Operands that pass the result's gradient, as those of `sum`, need none. The cross entropy has one for its four operators: the
// gradient of a token's loss goes straight to the logits, over the loops of `exp_sum`.

#include <hyperparallel/graph/rule_table.hpp>
#include <hyperparallel/operators/gradient_fit.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A backward operator whose results are not yet tensors.
struct backward_operator {
  graph_operator op;
  int operand[max_operator_results] = {};  ///< each result is the gradient of this operand of `op.forward`
};

/// A copy of the forward operator's loops and attributes without operands and results.
constexpr graph_operator start_backward(const graph& g, int forward, operator_id kind) {
  graph_operator b = g.op[forward];
  b.kind = kind;
  b.phase = graph_phase::backward;
  b.name = 0;
  b.reduction = reduce_op::sum;
  b.forward = forward;
  b.operand_count = b.result_count = 0;
  return b;
}

/// The rule that a gradient text writes over the factors of rule `forward`; factors that it does not use keep their
/// numbers. O(rules of the kind · length).
constexpr int find_backward_rule(graph& g, operator_id kind, int forward, const char* text) {
  for (int i = 0; i < g.rule.size; ++i) {
    const graph_rule& r = g.rule.item[i];
    if (r.kind == kind && r.forward == forward && same_text(g.text_at(r.text), text)) return i;
  }
  const factor_rule b = backward_rule(g.rule[forward].rule, g.operators[kind], text);
  return g.rule.push({kind, reduce_op::sum, add_text(g, text), forward, {}, b});
}

/// Whether the rule made from a user's gradient text is the one that the backward operator's own text writes. Built-in
/// gradients are not asked.
constexpr bool is_rule_of_its_operator(const graph& g, const graph_operator& backward) {
  if (is_builtin(g.op[backward.forward].kind)) return true;
  return writes_rule(g.value_of(backward), g.rule_of(backward));
}

/// A gradient of `source`, not named yet: its name says whether it is the only part.
constexpr int append_gradient(graph& g, int source, int segment, int producer) {
  graph_tensor t;
  t.name = -1;
  t.type = g.tensor.item[source].type;
  t.kind = graph_tensor_kind::gradient;
  t.shape = g.tensor.item[source].shape;
  for (int d = 0; d < t.shape.rank; ++d) t.dim[d] = g.tensor.item[source].dim[d];
  t.producer = producer;
  t.source = source;
  t.segment = segment;
  return g.tensor.push(t);
}

/// "gradient(name)", or "gradient(name):part". An operator has the name of its first result.
constexpr void name_gradient(graph& g, int tensor, int source, int part) {
  char suffix[16] = {')', ':'};
  if (part == 0) {
    suffix[1] = '\0';
  } else {
    char digits[12] = {};
    int count = 0, at = 2;
    for (int n = part; n > 0; n /= 10) digits[count++] = static_cast<char>('0' + n % 10);
    while (count > 0) suffix[at++] = digits[--count];
  }
  const int name = add_text(g, "gradient(", g.name_of_tensor(source), suffix);
  g.tensor.item[tensor].name = name;
  graph_operator& producer = g.op.item[g.tensor.item[tensor].producer];
  if (producer.result[0] == tensor) producer.name = name;
}

/// The backward operator of a rule. Gradients of the forward operator's results are in `graph_tensor::gradient`.
constexpr backward_operator build_backward(graph& g, int forward, const gradient_rule& rule) {
  const graph_operator& f = g.op[forward];
  backward_operator b{detail::start_backward(g, forward, rule.backward)};
  b.op.rule = detail::find_backward_rule(g, rule.backward, f.rule, rule.text);
  const char* at = rule.text;
  for (; *at != '>'; at += at[2] == ',' ? 3 : 2) {
    const int n = at[1] - '0', tensor = at[0] == 'x' ? f.operand[n] : f.result[n];
    b.op.operand[b.op.operand_count++] = at[0] == 'g' ? g.tensor[tensor].gradient : tensor;
  }
  for (++at; *at != '\0'; ++at) b.operand[b.op.result_count++] = *at - '0';
  if (rule.reverses) b.op.integer[0] = f.integer[0] < 0 ? 1 : -1;
  return b;
}

/// Zeros over the factors of result `r`: its gradient where nothing reads it. Factors that the result lacks are not
/// reduced, so the zeros are whole wherever the forward operator is placed.
constexpr graph_operator build_zero_gradient(graph& g, int forward, int r) {
  graph_operator b = detail::start_backward(g, forward, id_of<ops::fill>);
  static_cast<operator_attributes&>(b) = {};
  const char text[] = {'-', '>', 'y', static_cast<char>('0' + r), '\0'};
  const int of = b.rule;
  b.rule = g.rule.push(
      {b.kind, reduce_op::sum, add_text(g, text), of, {}, zero_gradient_rule(g.rule[of].rule, g.operators[b.kind], r)});
  b.result_count = 1;
  return b;
}

/// The gradient of the logits for a loss whose operands are the maximum, the sum of exponentials and the picked logit of the
/// same logits (`operator_value::logits`); without operands where they are not.
constexpr backward_operator build_cross_entropy(graph& g, int loss) {
  const graph_operator& f = g.op[loss];
  const logits_operators& made_by = g.value_of(f).logits;
  const operator_id kind = g.operators.id_of_key(made_by.gradient);
  int producer[3] = {};
  for (int i = 0; i < 3; ++i) {
    producer[i] = g.tensor[f.operand[i]].producer;
    if (producer[i] < 0) return {};
  }
  const graph_operator& largest = g.op[producer[0]];
  const graph_operator& exponentials = g.op[producer[1]];
  const graph_operator& picked = g.op[producer[2]];
  const int label = f.operand[3], logits = exponentials.operand[0];
  const auto is = [&g](const graph_operator& o, std::uint64_t key) { return g.value_of(o).key == key; };
  if (!is(largest, made_by.largest) || largest.reduction != reduce_op::max || !is(exponentials, made_by.exponentials) ||
      !is(picked, made_by.picked) || largest.operand[0] != logits || exponentials.operand[1] != f.operand[0] ||
      picked.operand[0] != logits || picked.operand[1] != label || !g.operators.has(kind))
    return {};
  backward_operator b{detail::start_backward(g, producer[1], kind)};
  b.op.rule = detail::find_backward_rule(g, kind, exponentials.rule, "g0,x0,x1,y0,x1>0");
  b.op.segment = f.segment;
  const int operands[] = {g.tensor[f.result[0]].gradient, logits, f.operand[0], f.operand[1], label};
  for (const int t : operands) b.op.operand[b.op.operand_count++] = t;
  b.op.result_count = 1;
  return b;
}

}}}  // namespace hyperparallel::v0_2::detail
