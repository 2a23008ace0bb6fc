// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/gradient_rules.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/layers/linear_attention.hpp>

#include "models/language_model.hpp"

namespace {

using namespace hyperparallel;

/// The mean of what is transposed, cut, joined and regrouped.
int moved(model_builder& m, int x) {
  const int tail = m.dim("tail", 2), joined = m.dim("joined", 8), pairs = m.dim("pairs", 4);
  const int end = m.apply<ops::slice>(
      "end", {x}, {.text = "bsA->bsC", .created = {{'C', tail}}, .created_count = 1, .integer = {1, 2}});
  int y = m.apply<ops::concat>("joined", {x, end},
                               {.text = "bsA,bsB->bsC", .created = {{'C', joined}}, .created_count = 1});
  y = m.apply<ops::reshape>("pairs", {y},
                            {.text = "bsC->bsAB", .created = {{'A', pairs}, {'B', tail}}, .created_count = 2});
  return m.apply<ops::mean>("mean", {m.apply<ops::transpose>("turned", {y}, {.text = "bsuv->bvsu"})}, {.text = "*->"});
}

/// All attentions, both routers, joint and grouped slots, the head: every row but those of plain einsums.
graph every_operator() {
  model_builder m;
  const programs::text_inputs text(m, {2, 3, 11, 6});
  int x = position_embedding{}(m, text.x);
  const attention_layer attention{.query_heads = 4, .key_heads = 2, .head_dim = 8, .rope_base = 1e4};
  const latent_attention_layer latent{
      .heads = 2, .head_dim = 8, .rope_dim = 4, .value_dim = 10, .query_rank = 5, .key_value_rank = 7};
  mixture_of_experts routed{.experts = 5, .top_k = 2, .width = 13, .balance_scale = 0.5};
  x = m.scope("first", [&] {
    return transformer_block<attention_layer, mixture_of_experts>{.attention = attention, .feed_forward = routed}(m, x);
  });
  routed.scores = expert_scores::sigmoid;
  routed.slots = expert_slots::joint;
  routed.width = 13;
  x = m.scope("second", [&] {
    model_builder& inner = m;
    return transformer_block<latent_attention_layer, swiglu_layer>{.attention = latent, .feed_forward = {.width = 9}}(
        inner, x);
  });
  x = m.apply<ops::multiply>("gated", {x, m.apply<ops::silu>("gate", {x})});
  x = m.apply<ops::divide>("quotient", {m.apply<ops::relu>("cut", {x}), m.apply<ops::exp>("growth", {x})});
  x = m.apply<ops::maximum>("larger", {m.apply<ops::tanh>("bent", {x}), m.apply<ops::sqrt>("root", {x})});
  x = m.apply<ops::subtract>("difference", {m.apply<ops::log>("order", {x}), x});
  attention_layer sinking = attention;
  sinking.name = "sinking";
  sinking.sinks = true;
  sinking.rope_base = 0.0;
  x = geglu_layer{"gated_by_gelu", 7, "plain_width"}(m, sinking(m, x));
  x = gelu_tanh_layer{"plain_by_tanh", 7, "plain_width"}(m, x);
  x = m.apply<ops::clamped_swiglu>("clamped", {x, m.apply<ops::negate>("opposite", {x})}, {.real = {7.0, 1.7}});
  linear_attention_layer linear{.key_heads = 2, .value_heads = 4, .key_dim = 3, .value_dim = 5};
  x = linear(m, x);
  linear.name = "spaced";
  linear.form = linear_form::state_space;
  x = squared_relu_layer{"squared", 7, "plain_width"}(m, linear(m, x));
  x = dropout_layer{}(m, gelu_layer{"plain", 7, "plain_width"}(m, layer_norm_layer{"centred"}(m, x)));
  const int image =
      m.input("image", {m.dim("batch", 2), m.dim("colours", 3), m.dim("height", 5), m.dim("image_width", 5)});
  const int channels = m.dim("channels", 4);
  int seen = convolution_layer{.output = channels, .padding = 1}(m, image);
  seen = convolution_layer{.name = "again", .output = m.dim("groups", 2), .taps = 2, .stride = 2}(m, seen);
  seen = m.apply<ops::broadcast>("grouped", {seen},
                                 {.text = "bgyx->bgcyx", .created = {{'c', channels}}, .created_count = 1});
  seen = m.apply<ops::reduce>("seen", {group_norm_layer{"groups_norm"}(m, seen)}, {.text = "*->"});
  m.auxiliary_loss(seen);
  m.auxiliary_loss(moved(m, x));
  language_head{.vocabulary = 11}(m, x, text.labels);
  differentiate(m.graph);
  return m.graph;
}

/// A router with a bias and one group of slots.
graph biased_router() {
  model_builder m;
  const int x = m.parameter("x", {m.dim("batch", 2), m.dim("seq", 3), m.dim("hidden", 6)});
  const int y = mixture_of_experts{
      .experts = 5, .top_k = 2, .width = 13, .scores = expert_scores::sigmoid, .slots = expert_slots::joint}(m, x);
  m.loss(m.apply<ops::reduce>("loss", {y}, {.text = "*->"}));
  differentiate(m.graph);
  return m.graph;
}

/// Whether binding the row's own text to the operands gives the loops that the operator has, numbers apart.
void expect_row_text(graph& g, const graph_operator& o, bool joint) {
  const operator_value& row = g.value_of(o);
  const char* text = row.text;
  if (joint && o.kind == id_of<ops::undispatch>) text = "ech,BSK->BSh";
  if (joint && o.kind == id_of<ops::dispatch_weighted>) text = "BSh,BSK,BSK->ech";
  if (joint && o.kind == id_of<ops::combine_weight_gradient>) text = "BSh,ech,BSK->BSK";
  if (o.kind == id_of<ops::rms_norm_gradient> && g.rule_of(o).operand[2].rank == 3) text = "*aBC,*aBC,aBC->*aBC,aBC";
  if (text[0] == '\0') return;
  int operands[max_operator_operands] = {};
  for (int i = 0; i < o.operand_count; ++i) operands[i] = o.operand[i];
  created_dim created[3];
  int count = 0;
  const auto create = [&](char letter, int loop) { created[count++] = {letter, o.loop[loop].dim}; };
  const factor_rule made = g.rule_of(o);
  const tensor_factors& first = made.result[0];
  if (o.kind == id_of<ops::embed_gradient>) create('v', first.term[0]);
  if (o.kind == id_of<ops::dispatch_weighted>) {
    create('c', first.term[first.rank - 2]);
    create('e', first.term[first.rank - 3]);
  }
  graph_operator read;
  read.kind = o.kind;
  const graph_status s = bind_loops(g, read, text, operands, o.operand_count, created, count);
  ASSERT_EQ(s.code, graph_code::ok) << row.name << " " << name_of(s.code);
  ASSERT_EQ(read.result_count, o.result_count) << row.name;
  int same[max_operator_loops];
  for (int& l : same) l = -1;
  const factor_rule& written = g.rule_of(read);
  EXPECT_EQ(written.flops_per_point, made.flops_per_point);
  EXPECT_EQ(written.partials, made.partials) << row.name;
  const auto compare = [&](const tensor_factors& a, const tensor_factors& b) {
    ASSERT_EQ(a.rank, b.rank) << row.name;
    for (int d = 0; d < a.rank; ++d) {
      int& match = same[a.term[d]];
      if (match < 0) match = b.term[d];
      EXPECT_EQ(match, b.term[d]) << row.name;
      EXPECT_EQ(read.loop[a.term[d]], o.loop[b.term[d]]) << row.name;
      EXPECT_EQ(written.factor[a.term[d]].kind, made.factor[b.term[d]].kind) << row.name;
      EXPECT_EQ(written.factor[a.term[d]].op, made.factor[b.term[d]].op) << row.name;
    }
  };
  for (int i = 0; i < o.operand_count; ++i) compare(written.operand[i], made.operand[i]);
  for (int r = 0; r < o.result_count; ++r) compare(written.result[r], made.result[r]);
}

TEST(gradient_rules, make_operators_of_their_rows_text) {
  bool met[builtin_operator_count] = {};
  for (const bool joint : {false, true}) {
    graph g = joint ? biased_router() : every_operator();
    ASSERT_EQ(g.status.code, graph_code::ok) << g.text_at(g.status.op);
    for (const graph_operator& o : g.op) {
      if (o.phase != graph_phase::backward) continue;
      met[static_cast<int>(o.kind)] = true;
      expect_row_text(g, o, joint);
    }
  }
  for (int i = 0; i < builtin_operator_count; ++i) {
    gradient_writer rules(builtin_list);
    const operator_value& value = builtin_list[static_cast<operator_id>(i)];
    value.gradient(rules);
    for (int n = 0; n < rules.count; ++n)
      EXPECT_TRUE(met[static_cast<int>(rules.rule[n].backward)]) << value.name << " " << rules.rule[n].text;
  }
  EXPECT_TRUE(met[static_cast<int>(id_of<ops::cross_entropy_gradient>)]);
}

TEST(gradient_rules, keep_the_loops_of_the_forward_operator) {
  const graph g = every_operator();
  for (const graph_operator& o : g.op) {
    if (o.forward < 0) continue;
    const graph_operator& f = g.op[o.forward];
    ASSERT_EQ(o.loop_count, f.loop_count);
    for (int l = 0; l < o.loop_count; ++l) {
      EXPECT_EQ(o.loop[l], f.loop[l]);
      EXPECT_EQ(hyperparallel::detail::is_whole(g.rule_of(o), l), hyperparallel::detail::is_whole(g.rule_of(f), l));
    }
  }
}

TEST(gradient_rules, turn_rotations_back_and_copy_attributes) {
  const graph g = every_operator();
  int rotations = 0;
  for (const graph_operator& o : g.op) {
    if (o.forward < 0) continue;
    const graph_operator& f = g.op[o.forward];
    for (int i = 0; i < 5; ++i) EXPECT_EQ(o.real[i], f.real[i]);
    if (o.kind != id_of<ops::rope>) {
      EXPECT_EQ(o.integer[0], f.integer[0]);
    } else {
      EXPECT_EQ(o.integer[0], -f.integer[0]);
      ++rotations;
    }
    EXPECT_EQ(o.integer[1], f.integer[1]);
  }
  EXPECT_EQ(rotations, 4);
}

/// The pieces of the cross entropy must be of the same logits and the same labels.
TEST(gradient_rules, find_the_logits_of_a_token_loss) {
  for (int wrong = 0; wrong < 5; ++wrong) {
    model_builder m;
    const int b = m.dim("batch", 2), v = m.dim("vocab", 3);
    const int x = m.parameter("x", {b, v}), other = m.parameter("other", {b, v});
    const int label = m.index_input("label", {b}), other_label = m.index_input("other_label", {b});
    const int max =
        m.apply<ops::reduce>("max", {wrong == 1 ? other : x}, {.text = "*v->*", .reduction = reduce_op::max});
    const int total = m.apply<ops::exp_sum>("exp_sum", {wrong == 2 ? other : x, max});
    const int picked = m.apply<ops::pick>("picked", {wrong == 3 ? other : x, label});
    const int loss = m.apply<ops::token_loss>("token_loss", {max, total, picked, wrong == 4 ? other_label : label});
    m.loss(m.apply<ops::reduce>("loss", {loss}, {.text = "b->"}));
    differentiate(m.graph);
    EXPECT_EQ(m.graph.status.code, wrong == 0 ? graph_code::ok : graph_code::operator_has_no_gradient) << wrong;
  }
}

}  // namespace
