// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/check_graph.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer.hpp>

namespace {

using namespace hyperparallel;

graph trained() {
  model_builder m;
  const int b = m.dim("batch", 2), h = m.dim("hidden", 3);
  int x = m.input("x", {b, h});
  x = m.repeat("layers", 2, x, [h](model_builder& layer, int t) {
    const int w = layer.parameter("w", {h, h});
    return layer.apply<ops::silu>("act", {layer.contract("product", "*k,kn->*n", t, w)});
  });
  m.loss(m.apply<ops::reduce>("loss", {x}, {.text = "*->"}));
  differentiate(m.graph);
  append_optimizer(m.graph, {});
  return m.graph;
}

template <class Change>
graph_code code_after(const Change& change) {
  graph g = trained();
  change(g);
  return check_graph(g).code;
}

int place_of(const graph& g, operator_id kind) {
  for (int o = 0; o < g.op.size; ++o)
    if (g.op[o].kind == kind) return o;
  return -1;
}

TEST(check_graph, accepts_what_the_passes_make) { EXPECT_EQ(check_graph(trained()), graph_status{}); }

TEST(check_graph, finds_each_breach) {
  EXPECT_EQ(code_after([](graph& g) { g.fail({graph_code::too_many_loops}); }), graph_code::too_many_loops);
  // An operator before the one whose result it reads.
  EXPECT_EQ(code_after([](graph& g) {
              const graph_operator first = g.op[0];
              g.op[0] = g.op[1];
              g.op[1] = first;
              for (int t = 0; t < g.tensor.size; ++t)
                if (g.tensor[t].producer == 0 || g.tensor[t].producer == 1) g.tensor[t].producer ^= 1;
            }),
            graph_code::operand_does_not_exist);
  EXPECT_EQ(code_after([](graph& g) { g.tensor[g.op[1].result[0]].producer = 0; }), graph_code::tensor_is_made_twice);
  EXPECT_EQ(code_after([](graph& g) { g.op[1].result[0] = g.op[0].result[0]; }), graph_code::tensor_is_made_twice);
  EXPECT_EQ(code_after([](graph& g) { g.op[0].phase = graph_phase::update; }), graph_code::phases_are_out_of_order);
  EXPECT_EQ(code_after([](graph& g) { g.op[0].loop[0].extent = 7; }), graph_code::dim_differs_between_operands);
  EXPECT_EQ(code_after([](graph& g) { g.op[0].rule = -1; }), graph_code::operator_differs_from_its_rule);
  EXPECT_EQ(code_after([](graph& g) { g.op[0].rule = g.rule.size; }), graph_code::operator_differs_from_its_rule);
  EXPECT_EQ(code_after([](graph& g) { --g.op[0].operand_count; }), graph_code::operator_differs_from_its_rule);
  EXPECT_EQ(code_after([](graph& g) { ++g.op[0].loop_count; }), graph_code::operator_differs_from_its_rule);
  // A rule of as many operands, results and loops whose first operand has another rank.
  EXPECT_EQ(code_after([](graph& g) {
              g.op[0].rule = hyperparallel::detail::find_rule(g, g.op[0], "a,bc->ab", {2, {1, 2}}).rule;
            }),
            graph_code::rank_differs_from_text);
  EXPECT_EQ(code_after([](graph& g) { g.op[place_of(g, id_of<ops::silu_gradient>)].loop[0].dim = 1; }),
            graph_code::loops_differ_from_forward);
  EXPECT_EQ(
      code_after([](graph& g) { g.tensor[g.op[place_of(g, id_of<ops::adamw>)].result[1]].type = data_type::f16; }),
      graph_code::replaced_tensor_differs);
  EXPECT_EQ(code_after([](graph& g) {
              g.op[1].segment = -1;
              g.op[2].segment = 0;
            }),
            graph_code::segment_is_torn);
}

TEST(check_graph, names_the_operator_and_the_tensor) {
  graph g = trained();
  g.op[0].loop[0].extent = 7;
  const graph_status s = check_graph(g);
  EXPECT_STREQ(g.text_at(s.op), "layers.0-1.product");
  EXPECT_STREQ(g.text_at(s.tensor), "x");
  EXPECT_EQ(s.extent, 2);
  EXPECT_EQ(s.other, 7);
}

}  // namespace
