// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/refused_program.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace hp = hyperparallel;

namespace {

hp::graph product(hp::extent_t batch = 4) {
  hp::model_builder m({.unrolled = true});
  const int hidden = m.dim("hidden", 8), wide = m.dim("ffn", 4);
  const int x = m.input("x", {m.dim("batch", batch), hidden});
  const int y = m.contract("up", "*k,kn->*n", x, m.parameter("weight", {hidden, wide}));
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  return m.graph;
}

std::string text(const hp::graph& g, const hp::strategy_value& s) { return text_of_refusal(hp::partition(g, s), s); }

TEST(refused_program, an_unknown_strategy_is_told_the_names) {
  const std::string what = text(product(), hp::strategy_called("zero9", 8).strategy);
  EXPECT_EQ(what.find("no strategy is called \"zero9\", the nearest is \"zero1\"; there are single, dp, zero1, "), 0U)
      << what;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    EXPECT_NE(what.find(std::string(" ") + hp::named_strategy_at(i).name), std::string::npos);
}

TEST(refused_program, a_strategy_is_told_its_numbers) {
  const int degrees[] = {3, 2};
  EXPECT_EQ(text(product(), hp::strategy_called("dp-tp", 8, degrees, 2).strategy),
            "strategy \"dp-tp\" is refused: 8 ranks are not the product of its degrees, 6");
  EXPECT_EQ(text(product(), hp::strategy_called("dp", 3).strategy),
            "strategy \"dp\" is refused: dim_does_not_divide, axis \"dp\", operator \"up\", dim \"batch\", 4 by 3");
  EXPECT_EQ(text(product(), hp::strategy_value{}),
            "strategy \"\" is refused: its mesh has no axes, expected at least one");
  hp::strategy_value s = hp::strategy_called("dp", 2).strategy;
  s.mesh.shape.size[0] = 0;
  EXPECT_EQ(text(product(), s),
            "strategy \"dp\" is refused: its mesh has 0 devices along axis \"dp\", expected at least 1");
  hp::strategy_value many = hp::strategy_called("dp", 2).strategy;
  while (many.refused.code == hp::strategy_code::ok) many.add(hp::shard_dim("batch", "dp"));
  EXPECT_EQ(text(product(), many), "strategy \"dp\" is refused: 49 rules or pins, a strategy holds 48");
  hp::strategy_value nothing = hp::strategy_called("dp", 2).strategy;
  nothing.add(hp::shard_dim("vocabulary", "dp"));
  EXPECT_EQ(
      text(product(), nothing),
      "strategy \"dp\" is refused: the strategy shards dim vocabulary over axis dp, and no operator has it there: "
      "the dims are batch, hidden, ffn; strategies that match the model: dp, tp, 2d, 3d, hsdp1, hsdp2, hsdp3, zero1, "
      "zero2, zero3, zero3-tp");
  hp::strategy_value misspelt = hp::strategy_called("dp", 2).strategy;
  hp::detail::add_column_parallel(misspelt, "u*pp", "dp");
  EXPECT_EQ(text(product(), misspelt),
            "strategy \"dp\" is refused: no operator is called u*pp: did you mean up? There are 2 operators; "
            "strategies that match the model: dp, tp, 2d, 3d, hsdp1, hsdp2, hsdp3, zero1, zero2, zero3, zero3-tp");
}

TEST(refused_program, an_unknown_axis_is_told_the_nearest_and_those_that_are_there) {
  hp::strategy_value s = hp::strategy_called("dp-tp", 4).strategy;
  s.add(hp::shard_dim("batch", "rp"));
  EXPECT_EQ(text(product(), s),
            "strategy \"dp-tp\" is refused: the strategy names the axis rp, which its mesh lacks: did you mean dp? The "
            "axes are dp, tp");
}

TEST(refused_program, a_graph_is_told_its_names_and_numbers) {
  const auto refused = [](const auto& change) {
    hp::graph g = product();
    change(g);
    return text(g, hp::strategy_called("dp", 2).strategy);
  };
  const std::string prefix = "the graph is refused: ";
  EXPECT_EQ(text(product(-8), hp::strategy_called("dp", 2).strategy),
            prefix + "dim \"batch\" has extent -8, expected at least 1");
  EXPECT_EQ(refused([](hp::graph& g) { g.micro_batches = 0, hp::differentiate(g); }),
            prefix + "0 micro-batches, expected at least 1");
  EXPECT_EQ(refused([](hp::graph& g) { hp::append_optimizer(g, {}); }),
            prefix +
                "no parameter has a gradient of the loss \"loss\": call differentiate, then append_optimizer, on a "
                "loss that depends on parameters");
  EXPECT_EQ(refused([](hp::graph& g) { g.loss = -1, hp::differentiate(g); }), prefix + "the model names no loss");
  EXPECT_EQ(refused([](hp::graph& g) { hp::differentiate(g), hp::append_optimizer(g, {.rate = std::nan("")}); }),
            prefix + "the optimizer's rate is nan, expected at least 0 and finite");
  EXPECT_EQ(refused([](hp::graph& g) { hp::differentiate(g), hp::append_optimizer(g, {.beta1 = 1.5}); }),
            prefix + "the optimizer's beta1 is 1.5, expected at least 0 and below 1");
  EXPECT_EQ(refused([](hp::graph& g) { hp::differentiate(g), hp::differentiate(g); }),
            prefix +
                "differentiate was called on a graph that has operators of backward or of an optimizer already, "
                "the first \"gradient(loss)\"");
  EXPECT_EQ(refused([](hp::graph& g) {
              g.fail({hp::graph_code::operand_holds_no_indices, g.op[0].name, g.tensor[0].name, 0, 0, 0});
            }),
            prefix + "operand 0 of operator \"up\" is \"x\", which holds floats: the operator takes indices there");
  EXPECT_EQ(refused([](hp::graph& g) {
              g.fail({hp::graph_code::operand_holds_indices, g.op[0].name, g.tensor[0].name, 1, 0, 1});
            }),
            prefix + "operand 1 of operator \"up\" is \"x\", which holds indices: the operator takes floats there");
  EXPECT_EQ(refused([](hp::graph& g) {
              g.fail({hp::graph_code::dim_differs_between_operands, g.op[0].name, g.tensor[0].name, 0, 0, 8, 6});
            }),
            prefix + "dim_differs_between_operands, operator \"up\", tensor \"x\", 8 and 6");
}

TEST(refused_program, every_code_has_a_text_of_its_own) {
  std::set<std::string> texts;
  const hp::graph g = product();
  const int codes = static_cast<int>(hp::graph_code::last_dim_is_no_multiple);
  for (int c = 1; c <= codes; ++c)
    texts.insert(text_of_refusal(g, {static_cast<hp::graph_code>(c), g.op[0].name, g.tensor[0].name, 0, 0, 3, 4}));
  EXPECT_EQ(static_cast<int>(texts.size()), codes);
  for (const std::string& one : texts) EXPECT_EQ(one.find('\n'), std::string::npos);
}

}  // namespace
