// SPDX-License-Identifier: Apache-2.0
#pragma once
// How gradients of an operator's operands come from gradients of its results: one row for each backward operator.
//
//   {contract, contract, "g0,x1>0"}    reads the gradient of result 0 and operand 1, makes the gradient of operand 0
//
// `g`, `x`, `y` and a number stand for the gradient of a result, an operand, a result; after '>' are the operands whose
// gradients the backward operator makes. Every tensor follows the loops that it, or what it is the gradient of, follows
// in the forward operator: loops and their numbers are copied, so that one placement serves both. Only which loops are
// reduced is found anew. Attributes are copied too; a rotation turns the other way.
//
// `sum` has no row: each operand's gradient is the result's. The cross entropy has one rule for its four operators: the
// gradient of a token's loss goes straight to the logits, over the loops of `exp_sum`.
// Source: Griewank & Walther, "Evaluating derivatives", 2008, chapter 3.

#include <hyperparallel/model/graph.hpp>

namespace hyperparallel::inline v0_2 {

struct gradient_rule {
  model_op forward;
  model_op backward;
  const char* text;
};

inline constexpr gradient_rule gradient_rules[] = {
    {model_op::contract, model_op::contract, "g0,x1>0"},
    {model_op::contract, model_op::contract, "g0,x0>1"},
    {model_op::reduce, model_op::broadcast, "g0>0"},
    {model_op::broadcast, model_op::reduce, "g0>0"},
    {model_op::scale, model_op::scale, "g0>0"},
    {model_op::multiply, model_op::multiply, "g0,x1>0"},
    {model_op::multiply, model_op::multiply, "g0,x0>1"},
    {model_op::embed, model_op::embed_gradient, "x0,g0>1"},
    {model_op::rms_norm, model_op::rms_norm_gradient, "g0,x0,x1>01"},
    {model_op::rope, model_op::rope, "g0>0"},
    {model_op::attention, model_op::attention_gradient, "g0,x0,x1,x2,y0,y1>012"},
    {model_op::latent_attention, model_op::latent_attention_gradient, "g0,x0,x1,x2,x3,x4,y0,y1>01234"},
    {model_op::swiglu, model_op::swiglu_gradient, "g0,x0,x1>01"},
    {model_op::silu, model_op::silu_gradient, "g0,x0>0"},
    {model_op::sigmoid, model_op::sigmoid_gradient, "g0,y0>0"},
    {model_op::softmax, model_op::softmax_gradient, "g0,y0>0"},
    {model_op::top_k, model_op::top_k_gradient, "g0,x0,y1>0"},
    {model_op::biased_top_k, model_op::top_k_gradient, "g0,x0,y1>0"},
    {model_op::dispatch, model_op::undispatch, "g0,x1>0"},
    {model_op::combine, model_op::dispatch_weighted, "g0,x1,x2>0"},
    {model_op::combine, model_op::combine_weight_gradient, "g0,x0,x1>2"},
};
inline constexpr int gradient_rule_count = static_cast<int>(sizeof(gradient_rules) / sizeof(gradient_rules[0]));

/// A backward operator whose results are not yet tensors.
struct backward_operator {
  graph_operator op;
  int operand[max_operator_results] = {};  ///< each result is the gradient of this operand of `op.forward`
};

/// Whether result `r` of such an operator changes with its operands at all: chosen experts and counts do not.
constexpr bool is_differentiable(model_op kind, int r) {
  const bool chooses = kind == model_op::top_k || kind == model_op::biased_top_k;
  return !(chooses && r == 1) && kind != model_op::count_experts && kind != model_op::update_bias &&
         kind != model_op::fill;
}

namespace detail {

/// Loops that no result follows.
constexpr void find_reduced_loops(graph_operator& o) {
  for (int l = 0; l < o.loop_count; ++l) {
    o.loop[l].reduced = true;
    for (int r = 0; r < o.result_count; ++r)
      if (follows(o.result[r], l)) o.loop[l].reduced = false;
  }
}

/// A copy of the forward operator's loops and attributes without operands and results.
constexpr graph_operator start_backward(const graph& g, int forward, model_op kind) {
  const graph_operator& f = g.op[forward];
  graph_operator b;
  b.kind = kind;
  b.phase = graph_phase::backward;
  b.forward = forward;
  b.segment = f.segment;
  b.loop_count = f.loop_count;
  for (int l = 0; l < f.loop_count; ++l) b.loop[l] = f.loop[l];
  for (int i = 0; i < 2; ++i) b.integer[i] = f.integer[i];
  for (int i = 0; i < 5; ++i) b.real[i] = f.real[i];
  return b;
}

constexpr void read(graph_operator& b, const operator_tensor& like, int tensor) {
  b.operand[b.operand_count] = like;
  b.operand[b.operand_count++].tensor = tensor;
}

constexpr void make_gradient(backward_operator& b, const graph_operator& f, int operand) {
  b.operand[b.op.result_count] = operand;
  b.op.result[b.op.result_count] = f.operand[operand];
  b.op.result[b.op.result_count++].tensor = -1;
}

/// Whether some tensor has a loop that the row's backward operator could not know: a diagonal, or a loop that one
/// operand of a contraction has alone.
constexpr bool is_beyond_rules(const graph_operator& f) {
  if (f.kind != model_op::contract && f.kind != model_op::reduce && f.kind != model_op::broadcast) return false;
  if (f.kind == model_op::reduce && f.reduction != reduce_op::sum) return true;
  int seen[max_operator_loops] = {};
  for (int i = 0; i <= f.operand_count; ++i) {
    const operator_tensor& t = i < f.operand_count ? f.operand[i] : f.result[0];
    for (int d = 0; d < t.rank; ++d) {
      for (int e = 0; e < d; ++e)
        if (t.loop[e] == t.loop[d]) return true;
      ++seen[t.loop[d]];
    }
  }
  for (int l = 0; l < f.loop_count; ++l)
    if (f.kind == model_op::contract && f.loop[l].reduced && seen[l] < 2) return true;
  return false;
}

}  // namespace detail

/// The rule's result positions as digits, after its '>'.
constexpr const char* gradients_made_by(const gradient_rule& rule) {
  const char* at = rule.text;
  while (*at != '>') ++at;
  return at + 1;
}

/// Whether the rule reads the gradient of result `r`.
constexpr bool reads_gradient(const gradient_rule& rule, int r) {
  for (const char* at = rule.text; *at != '>'; ++at)
    if (at[0] == 'g' && at[1] - '0' == r) return true;
  return false;
}

/// The backward operator of a row. Gradients of the forward operator's results are in `graph_tensor::gradient`.
constexpr backward_operator build_backward(const graph& g, int forward, const gradient_rule& rule) {
  const graph_operator& f = g.op[forward];
  backward_operator b{detail::start_backward(g, forward, rule.backward)};
  const char* at = rule.text;
  for (; *at != '>'; at += at[2] == ',' ? 3 : 2) {
    const int n = at[1] - '0';
    const operator_tensor& like = at[0] == 'x' ? f.operand[n] : f.result[n];
    detail::read(b.op, like, at[0] == 'g' ? g.tensor[like.tensor].gradient : like.tensor);
  }
  for (++at; *at != '\0'; ++at) detail::make_gradient(b, f, *at - '0');
  detail::find_reduced_loops(b.op);
  if (rule.backward == model_op::rope) b.op.integer[0] = f.integer[0] < 0 ? 1 : -1;
  return b;
}

/// The gradient of the logits for a `token_loss` whose operands are the maximum, the sum of exponentials and the picked
/// logit of the same logits; without operands where they are not.
constexpr backward_operator build_cross_entropy(const graph& g, int token_loss) {
  const graph_operator& f = g.op[token_loss];
  int producer[3] = {};
  for (int i = 0; i < 3; ++i) {
    producer[i] = g.tensor[f.operand[i].tensor].producer;
    if (producer[i] < 0) return {};
  }
  const graph_operator& largest = g.op[producer[0]];
  const graph_operator& exponentials = g.op[producer[1]];
  const graph_operator& picked = g.op[producer[2]];
  const int label = f.operand[3].tensor, logits = exponentials.operand[0].tensor;
  if (largest.kind != model_op::reduce || largest.reduction != reduce_op::max ||
      exponentials.kind != model_op::exp_sum || picked.kind != model_op::pick || largest.operand[0].tensor != logits ||
      exponentials.operand[1].tensor != f.operand[0].tensor || picked.operand[0].tensor != logits ||
      picked.operand[1].tensor != label)
    return {};
  backward_operator b{detail::start_backward(g, producer[1], model_op::cross_entropy_gradient)};
  b.op.segment = f.segment;
  detail::read(b.op, exponentials.result[0], g.tensor[f.result[0].tensor].gradient);
  detail::read(b.op, exponentials.operand[0], logits);
  detail::read(b.op, exponentials.operand[1], f.operand[0].tensor);
  detail::read(b.op, exponentials.result[0], f.operand[1].tensor);
  detail::read(b.op, exponentials.operand[1], label);
  detail::make_gradient(b, exponentials, 0);
  detail::find_reduced_loops(b.op);
  return b;
}

}  // namespace hyperparallel::inline v0_2
