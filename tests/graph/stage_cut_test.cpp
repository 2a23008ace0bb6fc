// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/stage_cut.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/trained_models.hpp"

namespace {

using namespace hyperparallel;

graph step_of(extent_t layers, int micro_batches, bool recomputes) {
  return programs::moe_graph(
      {.unrolled = true, .micro_batches = micro_batches, .recomputed = recomputes ? "layers.*" : nullptr},
      {.batch = 4, .sequence = 8, .layers = layers, .hidden = 16});
}

/// Tensors that cross from one stage to another, by the pair of stages: those with dims, and single numbers.
struct crossings {
  std::set<int> tensors, numbers;
};

std::map<std::pair<int, int>, crossings> crossings_of(const graph& g, const stage_cut& c, graph_phase first,
                                                      graph_phase last) {
  std::map<std::pair<int, int>, crossings> all;
  for (int o = 0; o < g.op.size; ++o) {
    if (g.op[o].phase < first || g.op[o].phase > last) continue;
    for (int i = 0; i < g.op[o].operand_count; ++i) {
      const int t = g.op[o].operand[i];
      if (c.of_tensor[t] == c.of_op[o]) continue;
      crossings& one = all[{c.of_tensor[t], c.of_op[o]}];
      (g.tensor[t].shape.rank > 0 ? one.tensors : one.numbers).insert(t);
    }
  }
  return all;
}

void expect_laws(const graph& g, const stage_cut& c) {
  ASSERT_EQ(c.status, stage_cut_status{});
  ASSERT_EQ(c.of_op.size, g.op.size);
  for (int o = 0; o < g.op.size; ++o) {
    const graph_operator& op = g.op[o];
    ASSERT_TRUE(c.of_op[o] >= 0 && c.of_op[o] < c.stages) << g.name_of_op(o);
    EXPECT_EQ(c.of_op[o], c.of_op[op.forward < 0 ? o : op.forward]) << g.name_of_op(o);
    for (int i = 0; i < op.operand_count && op.phase == graph_phase::forward; ++i)
      EXPECT_LE(c.of_tensor[op.operand[i]], c.of_op[o]) << g.name_of_op(o);
    for (int r = 0; r < op.result_count; ++r) {
      EXPECT_EQ(c.of_tensor[op.result[r]], c.of_op[o]);
      const int home = g.tensor[op.result[r]].replaces;  // a next value is made where the one before it is
      EXPECT_EQ(c.of_tensor[home < 0 ? op.result[r] : home], c.of_op[o]) << g.name_of_op(o);
    }
  }
}

TEST(stage_cut, one_activation_and_one_gradient_cross_a_boundary) {
  for (const bool recomputes : {false, true})
    for (const int micro_batches : {1, 4})
      for (int stages = 1; stages <= 4; ++stages) {
        const graph g = step_of(8, micro_batches, recomputes);
        const stage_cut c = cut_evenly(g, stages);
        expect_laws(g, c);
        std::set<std::pair<int, int>> forward, backward;
        for (const auto& [pair, one] : crossings_of(g, c, graph_phase::forward, graph_phase::forward)) {
          EXPECT_LT(pair.first, pair.second);
          EXPECT_LE(one.tensors.size(), 1u);
          if (!one.tensors.empty()) forward.insert(pair);
        }
        for (const auto& [pair, one] : crossings_of(g, c, graph_phase::backward, graph_phase::backward)) {
          const auto gradients = std::count_if(one.tensors.begin(), one.tensors.end(),
                                               [&](int t) { return g.tensor[t].kind == graph_tensor_kind::gradient; });
          EXPECT_LE(gradients, 1) << pair.first << " to " << pair.second;
          if (gradients > 0) backward.insert(pair);
        }
        std::set<std::pair<int, int>> down, up;
        for (int s = 0; s + 1 < stages; ++s) {
          down.insert({s, s + 1});
          up.insert({s + 1, s});
        }
        EXPECT_EQ(forward, down);
        EXPECT_EQ(backward, up);
        for (const auto& [pair, one] : crossings_of(g, c, graph_phase::norm, graph_phase::update))
          EXPECT_TRUE(one.tensors.empty());
      }
}

TEST(stage_cut, middle_stages_of_equal_layers_have_equal_work) {
  for (const bool recomputes : {false, true}) {
    const graph g = step_of(8, 4, recomputes);
    const stage_cut c = cut_evenly(g, 4);
    int operators[4] = {};
    for (int o = 0; o < g.op.size; ++o)
      if (g.op[o].phase <= graph_phase::backward) ++operators[c.of_op[o]];
    EXPECT_EQ(operators[1], operators[2]);
    EXPECT_GT(operators[0], operators[1]);  // the embedding
    EXPECT_GT(operators[3], operators[1]);  // head and loss
  }
}

TEST(stage_cut, layers_go_where_they_are_said_to) {
  const graph g = step_of(6, 1, false);
  const stage_cut c = cut_by_layers(g, {3, 1, 2});
  expect_laws(g, c);
  const int expected[] = {0, 0, 0, 1, 2, 2};
  for (int o = 0; o < g.op.size; ++o) {
    const std::string name = g.name_of_op(o);
    if (g.op[o].phase != graph_phase::forward) continue;
    if (name.starts_with("layers.")) {
      EXPECT_EQ(c.of_op[o], expected[name[7] - '0']) << name;
    }
    if (name.starts_with("embedding")) {
      EXPECT_EQ(c.of_op[o], 0);
    }
  }
  EXPECT_EQ(c.of_tensor[g.loss], 2);
  const stage_cut uneven = cut_evenly(step_of(7, 1, false), 3), named = cut_by_layers(step_of(7, 1, false), {3, 2, 2});
  for (int o = 0; o < uneven.of_op.size; ++o) EXPECT_EQ(uneven.of_op[o], named.of_op[o]);
}

TEST(stage_cut, names_cut_as_layers_do) {
  const graph g = step_of(4, 2, true);
  const stage_cut by_layers = cut_by_layers(g, {1, 3});
  const stage_cut by_names = cut_by_names(g, {{short_text("layers.0.*"), 0}, {short_text("layers.*"), 1}}, 2);
  expect_laws(g, by_names);
  for (int o = 0; o < g.op.size; ++o) EXPECT_EQ(by_layers.of_op[o], by_names.of_op[o]) << g.name_of_op(o);
}

TEST(stage_cut, what_cannot_be_cut_is_refused) {
  const graph g = step_of(4, 1, false);
  EXPECT_EQ(cut_evenly(g, 0).status, (stage_cut_status{stage_cut_code::stages_are_not_positive, -1, 0, 1}));
  EXPECT_EQ(cut_evenly(g, 5).status, (stage_cut_status{stage_cut_code::layers_are_too_few, -1, 4, 5}));
  EXPECT_EQ(cut_by_layers(g, {2, 1}).status, (stage_cut_status{stage_cut_code::layers_do_not_add_up, -1, 3, 4}));
  EXPECT_EQ(cut_by_layers(g, {2, 3}).status, (stage_cut_status{stage_cut_code::layers_do_not_add_up, -1, 5, 4}));
  EXPECT_EQ(cut_by_layers(g, {4, 0}).status, (stage_cut_status{stage_cut_code::stage_has_no_layer, 1}));
  EXPECT_EQ(cut_by_names(g, {{short_text("layers.*"), 2}}, 2).status,
            (stage_cut_status{stage_cut_code::stage_does_not_exist, 0, 2, 2}));
  EXPECT_EQ(cut_by_names(g, {{short_text("layer.*"), 1}}, 2).status,
            (stage_cut_status{stage_cut_code::rule_matches_nothing, 0}));
  EXPECT_EQ(cut_by_names(g, {{short_text("layers.*"), 1}}, 3).status,
            (stage_cut_status{stage_cut_code::stage_has_no_operator, 2}));
  const stage_cut back = cut_by_names(g, {{short_text("layers.0.*"), 1}, {short_text("layers.*"), 0}}, 2);
  EXPECT_EQ(back.status.code, stage_cut_code::operator_reads_later_stage);
  EXPECT_EQ(back.status.given, 0);
  EXPECT_EQ(back.status.expected, 1);
  const graph folded = programs::moe_graph({}, {.batch = 4, .sequence = 8, .layers = 4, .hidden = 16});
  EXPECT_EQ(cut_evenly(folded, 2).status.code, stage_cut_code::segment_is_folded);
  graph refused = g;
  refused.fail({graph_code::model_has_no_loss});
  EXPECT_EQ(cut_evenly(refused, 2).status.code, stage_cut_code::graph_is_refused);
}

/// What is said operator by operator is what patterns of names say, and what is not said follows as there.
TEST(stage_cut, operators_may_be_said_one_by_one) {
  const graph g = step_of(4, 2, true);
  const stage_cut by_layers = cut_by_layers(g, {1, 3});
  growing_array<int> said(g.op.size, -1);
  for (int o = 0; o < g.op.size; ++o)
    if (g.op[o].phase == graph_phase::forward) said[o] = by_layers.of_op[o];
  const stage_cut c = cut_as_said(g, said, 2);
  expect_laws(g, c);
  EXPECT_EQ(c.of_op, by_layers.of_op);
  EXPECT_EQ(c.of_tensor, by_layers.of_tensor);
  EXPECT_EQ(cut_as_said(g, said, 0).status.code, stage_cut_code::stages_are_not_positive);
  EXPECT_EQ(cut_as_said(g, said, 3).status, (stage_cut_status{stage_cut_code::stage_has_no_operator, 2}));
}

}  // namespace
