// SPDX-License-Identifier: Apache-2.0
#pragma once
// How gradients of an operator's operands come from gradients of its results: one row for each backward operator.
//
//   {contract, contract, "g0,x1>0"}    reads the gradient of result 0 and operand 1, makes the gradient of operand 0
//
// `g`, `x`, `y` and a number stand for the gradient of a result, an operand, a result; after '>' are the operands whose
// gradients the backward operator makes. Every tensor has the factors that it, or what it is the gradient of, has in the
// forward operator's rule: the backward rule numbers them alike, so that one placement serves both. Only which of them
// are reduced is found anew. Attributes are copied too; a rotation turns the other way.
//
// `sum` has no row: each operand's gradient is the result's. The cross entropy has one rule for its four operators: the
// gradient of a token's loss goes straight to the logits, over the loops of `exp_sum`.
// Source: Griewank & Walther, "Evaluating derivatives", 2008, chapter 3.

#include <hyperparallel/model/rule_table.hpp>

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

inline constexpr int max_gradient_rules = 8;

/// What the gradient of a user's operator is told to: its backward operators.
class gradient_writer {
 public:
  constexpr gradient_writer(const own_operators& own, model_op forward) : own_(own), forward_(forward) {}

  gradient_rule rule[max_gradient_rules] = {};
  int count = 0;  ///< may exceed the room: then the gradient is refused

  template <class Backward>
  constexpr void backward(const char* text);
  constexpr void backward(model_op kind, const char* text) {
    if (count < max_gradient_rules) rule[count] = {forward_, kind, text};
    ++count;
  }

 private:
  const own_operators& own_;
  model_op forward_;
};

/// The rows of an operator, its own or the table's.
constexpr gradient_writer gradient_of_operator(const graph& g, model_op kind) {
  gradient_writer w(g.own, kind);
  const int own = static_cast<int>(kind) - model_op_count;
  if (own >= 0) {
    if (g.own.item[own]->gradient != nullptr) g.own.item[own]->gradient(w);
    return w;
  }
  for (const gradient_rule& row : gradient_rules)
    if (row.forward == kind) w.backward(row.backward, row.text);
  return w;
}

/// A backward operator whose results are not yet tensors.
struct backward_operator {
  graph_operator op;
  int operand[max_operator_results] = {};  ///< each result is the gradient of this operand of `op.forward`
};

/// Whether result `r` of such an operator changes with its operands at all: chosen experts and counts do not.
constexpr bool is_differentiable(const graph& g, model_op kind, int r) {
  const int own = static_cast<int>(kind) - model_op_count;
  if (own >= 0) return g.own.item[own]->differentiable;
  const bool chooses = kind == model_op::top_k || kind == model_op::biased_top_k;
  return !(chooses && r == 1) && kind != model_op::count_experts && kind != model_op::update_bias &&
         kind != model_op::fill;
}

namespace detail {

/// A copy of the forward operator's loops and attributes without operands and results.
constexpr graph_operator start_backward(const graph& g, int forward, model_op kind) {
  graph_operator b = g.op[forward];
  b.kind = kind;
  b.phase = graph_phase::backward;
  b.name = 0;
  b.reduction = reduce_op::sum;
  b.forward = forward;
  b.operand_count = b.result_count = 0;
  return b;
}

/// The factors that `letter`, with its number, stands for in a gradient text.
constexpr const tensor_factors& factors_of(const factor_rule& forward, char letter, char number) {
  return letter == 'x' ? forward.operand[number - '0'] : forward.result[number - '0'];
}

/// The rule that a gradient text writes over the factors of rule `forward`; factors that it does not use keep their
/// numbers. O(rules of the kind · length).
constexpr int find_backward_rule(graph& g, model_op kind, int forward, const char* text) {
  for (int i = 0; i < g.rule.size; ++i) {
    const graph_rule& r = g.rule[i];
    if (r.kind == kind && r.forward == forward && same_text(g.text_at(r.text), text)) return i;
  }
  const operator_row& row = g.own.row_of(kind);
  const factor_rule& f = g.rule[forward].rule;
  factor_rule b;
  b.name = short_text(row.name);
  b.flops_per_point = row.flops_per_point;
  for (b.factor_count = 0; b.factor_count < f.factor_count; ++b.factor_count)
    b.factor[b.factor_count] = f.factor[b.factor_count];
  const char* at = text;
  for (; *at != '>'; at += at[2] == ',' ? 3 : 2) add_operand(b) = factors_of(f, at[0], at[1]);
  for (++at; *at != '\0'; ++at) add_result(b) = f.operand[*at - '0'];
  reduce_missing_factors(b, reduce_op::sum);
  b.partials = row.partials;
  index_places(b);
  return g.rule.push({kind, reduce_op::sum, add_text(g, text), forward, {}, b});
}

/// Whether a gradient text names operands and results that the operator has, and no more than a rule has room for.
constexpr bool reads_as_gradient(const char* text, const graph_operator& f) {
  int read = 0, made = 0;
  const auto below = [](char digit, int count) { return digit >= '0' && digit - '0' < count; };
  for (;; ++text) {
    if (*text != 'g' && *text != 'x' && *text != 'y') return false;
    if (!below(text[1], *text == 'x' ? f.operand_count : f.result_count) || ++read > max_operands) return false;
    text += 2;
    if (*text != ',') break;
  }
  if (*text != '>') return false;
  for (++text; *text != '\0'; ++text)
    if (!below(*text, f.operand_count) || ++made > max_results) return false;
  return made > 0;
}

/// Whether two rules say the same, numbers of factors apart.
constexpr bool same_but_for_numbers(const factor_rule& a, const factor_rule& b) {
  if (a.operand_count != b.operand_count || a.result_count != b.result_count) return false;
  int match[max_factors] = {}, used = 0;
  for (int i = 0; i < a.operand_count + a.result_count; ++i) {
    const tensor_factors& s = i < a.operand_count ? a.operand[i] : a.result[i - a.operand_count];
    const tensor_factors& t = i < a.operand_count ? b.operand[i] : b.result[i - a.operand_count];
    if (s.rank != t.rank) return false;
    for (int d = 0; d < s.rank; ++d) {
      const int x = s.term[d], y = t.term[d];
      const bool known = (used >> x & 1) != 0;
      for (int f = 0; f < max_factors && !known; ++f)
        if ((used >> f & 1) != 0 && match[f] == y) return false;
      if (known ? match[x] != y : a.factor[x].kind != b.factor[y].kind || a.factor[x].op != b.factor[y].op)
        return false;
      match[x] = y;
      used |= 1 << x;
    }
  }
  return true;
}

/// Whether the rule made from a user's gradient text is the one that the backward operator's own text writes. Built-in
/// ones without a text take any tensors of the right number.
constexpr bool is_rule_of_its_operator(const graph& g, const graph_operator& backward) {
  if (static_cast<int>(g.op[backward.forward].kind) < model_op_count) return true;
  const factor_rule& made = g.rule_of(backward);
  if (g.row_of(backward).text[0] == '\0')
    return made.operand_count == (backward.kind == model_op::contract ? 2 : 1) && made.result_count == 1;
  operand_ranks ranks{made.operand_count};
  for (int i = 0; i < made.operand_count; ++i) ranks.rank[i] = made.operand[i].rank;
  const rule_result written = rule_from("", g.row_of(backward).text, {}, ranks);
  return written.status.code == rule_code::ok && same_but_for_numbers(written.rule, made);
}

/// Whether the row's backward operator could not know a loop: one that an operand of a contraction has alone.
constexpr bool is_beyond_rules(const graph& g, const graph_operator& f) {
  if (f.kind == model_op::reduce) return f.reduction != reduce_op::sum;
  if (f.kind != model_op::contract) return false;
  const factor_rule& r = g.rule_of(f);
  return ((r.operand[0].mask ^ r.operand[1].mask) & ~r.result[0].mask) != 0;
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
  if (rule.backward == model_op::rope) b.op.integer[0] = f.integer[0] < 0 ? 1 : -1;
  return b;
}

/// The gradient of the logits for a `token_loss` whose operands are the maximum, the sum of exponentials and the picked
/// logit of the same logits; without operands where they are not.
constexpr backward_operator build_cross_entropy(graph& g, int token_loss) {
  const graph_operator& f = g.op[token_loss];
  int producer[3] = {};
  for (int i = 0; i < 3; ++i) {
    producer[i] = g.tensor[f.operand[i]].producer;
    if (producer[i] < 0) return {};
  }
  const graph_operator& largest = g.op[producer[0]];
  const graph_operator& exponentials = g.op[producer[1]];
  const graph_operator& picked = g.op[producer[2]];
  const int label = f.operand[3], logits = exponentials.operand[0];
  if (largest.kind != model_op::reduce || largest.reduction != reduce_op::max ||
      exponentials.kind != model_op::exp_sum || picked.kind != model_op::pick || largest.operand[0] != logits ||
      exponentials.operand[1] != f.operand[0] || picked.operand[0] != logits || picked.operand[1] != label)
    return {};
  backward_operator b{detail::start_backward(g, producer[1], model_op::cross_entropy_gradient)};
  b.op.rule = detail::find_backward_rule(g, model_op::cross_entropy_gradient, exponentials.rule, "g0,x0,x1,y0,x1>0");
  b.op.segment = f.segment;
  const int operands[] = {g.tensor[f.result[0]].gradient, logits, f.operand[0], f.operand[1], label};
  for (const int t : operands) b.op.operand[b.op.operand_count++] = t;
  b.op.result_count = 1;
  return b;
}

}  // namespace hyperparallel::inline v0_2
