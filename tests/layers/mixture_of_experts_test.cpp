// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <hyperparallel/layers/mixture_of_experts.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

hp::mixture_of_experts eight_experts() { return {.experts = 8, .top_k = 2, .width = 5, .capacity_factor = 1.25}; }

TEST(MixtureOfExperts, CapacityIsTheEvenShareRoundedUp) {
  for (hp::extent_t tokens = 1; tokens <= 40; ++tokens)
    for (hp::extent_t experts = 1; experts <= 12; ++experts)
      for (hp::extent_t top_k = 1; top_k <= experts; ++top_k)
        for (int quarters = 1; quarters <= 12; ++quarters) {
          // The least number of slots that holds tokens · top_k · factor / experts rows, of all tokens at most.
          hp::extent_t slots = 1;
          while (slots < tokens && slots * experts * 4 < tokens * top_k * quarters) ++slots;
          EXPECT_EQ(hp::detail::expert_capacity(tokens, experts, top_k, quarters / 4.0), slots)
              << tokens << " " << experts << " " << top_k << " " << quarters;
        }
}

TEST(MixtureOfExperts, MakesNamedTensors) {
  token_graph g(2, 16, 4);
  const int y = eight_experts()(g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, y), "moe.combine (batch 2, seq 16, hidden 4)");
  EXPECT_EQ(
      described(g.m.graph, hp::graph_tensor_kind::parameter),
      (strings{"moe.router.weight (hidden 4, experts 8)", "moe.experts.gate.weight (experts 8, hidden 4, expert_ffn 5)",
               "moe.experts.up.weight (experts 8, hidden 4, expert_ffn 5)",
               "moe.experts.down.weight (experts 8, expert_ffn 5, hidden 4)"}));
  EXPECT_EQ(operators(g.m.graph),
            (strings{"contract moe.router", "softmax moe.scores", "top_k moe.choice", "dispatch moe.dispatch",
                     "contract moe.experts.gate", "contract moe.experts.up", "swiglu moe.experts.activation",
                     "contract moe.experts.down", "combine moe.combine"}));
  EXPECT_EQ(described(g.m.graph, "moe.choice:1"), "moe.choice:1 (batch 2, seq 16, top_k 2)");
  EXPECT_EQ(g.m.graph.tensor[find_tensor(g.m.graph, "moe.choice:1")].type, hp::i32);
  EXPECT_EQ(described(g.m.graph, "moe.dispatch"), "moe.dispatch (batch 2, experts 8, capacity 5, hidden 4)");
}

TEST(MixtureOfExperts, EverySlotsEveryScores) {
  for (const hp::expert_slots slots :
       {hp::expert_slots::per_group, hp::expert_slots::joint, hp::expert_slots::dropless})
    for (const hp::expert_scores scores : {hp::expert_scores::softmax, hp::expert_scores::sigmoid})
      for (const hp::extent_t shared : {0, 7})
        for (const double balance : {0.0, 0.01}) {
          token_graph g(3, 16, 4);
          hp::mixture_of_experts layer = eight_experts();
          layer.slots = slots;
          layer.scores = scores;
          layer.shared_width = shared;
          layer.balance_scale = balance;
          const int y = layer(g.m, g.x);
          ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
          EXPECT_EQ(g.m.graph.tensor[y].shape, g.m.graph.tensor[g.x].shape);
          EXPECT_EQ(hp::parameter_count(g.m.graph), 4 * 8 + 3 * 8 * 4 * 5 + 3 * 4 * shared);
          const std::string rows = slots == hp::expert_slots::per_group ? "(batch 3, experts 8, capacity 5, hidden 4)"
                                   : slots == hp::expert_slots::joint   ? "(experts 8, capacity 15, hidden 4)"
                                                                        : "(batch 3, experts 8, capacity 16, hidden 4)";
          EXPECT_EQ(described(g.m.graph, "moe.dispatch"), "moe.dispatch " + rows);
          EXPECT_EQ(described(g.m.graph, "moe.experts.down"), "moe.experts.down " + rows);
          const bool sigmoid = scores == hp::expert_scores::sigmoid;
          EXPECT_EQ(described(g.m.graph, hp::graph_tensor_kind::state),
                    sigmoid ? strings{"moe.router.bias (experts 8)"} : strings{});
          EXPECT_EQ(described(g.m.graph, "moe.expert_counts"),
                    sigmoid || balance > 0 ? "moe.expert_counts (experts 8)" : "no tensor");
          EXPECT_EQ(described(g.m.graph, "moe.balance_loss"), balance > 0 ? "moe.balance_loss ()" : "no tensor");
          EXPECT_EQ(operator_called(g.m.graph, "moe.choice").kind,
                    sigmoid ? hp::id_of<hp::ops::biased_top_k> : hp::id_of<hp::ops::top_k>);
          if (shared > 0) {
            EXPECT_EQ(described(g.m.graph, "moe.shared.gate.weight"),
                      "moe.shared.gate.weight (hidden 4, shared_ffn 7)");
            EXPECT_EQ(operator_called(g.m.graph, "moe.output").kind, hp::id_of<hp::ops::sum>);
          }
        }
}

TEST(MixtureOfExperts, RouterAndExpertsMayHaveBiasesAndGatesALimit) {
  for (const hp::expert_slots slots : {hp::expert_slots::per_group, hp::expert_slots::joint}) {
    token_graph g(3, 16, 4);
    hp::mixture_of_experts layer = eight_experts();
    layer.slots = slots;
    layer.bias = true;
    layer.gate_limit = 7.0;
    layer(g.m, g.x);
    ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
    EXPECT_EQ(hp::parameter_count(g.m.graph), 4 * 8 + 8 + 8 * (3 * 4 * 5 + 2 * 5 + 4));
    EXPECT_EQ(described(g.m.graph, "moe.router.bias"), "moe.router.bias (experts 8)");
    for (const char* part : {"gate", "up"})
      EXPECT_EQ(described(g.m.graph, (std::string("moe.experts.") + part + ".bias").c_str()),
                std::string("moe.experts.") + part + ".bias (experts 8, expert_ffn 5)");
    EXPECT_EQ(described(g.m.graph, "moe.experts.down.bias"), "moe.experts.down.bias (experts 8, hidden 4)");
    const hp::graph_operator& activation = operator_called(g.m.graph, "moe.experts.activation");
    EXPECT_EQ(activation.kind, hp::id_of<hp::ops::clamped_swiglu>);
    EXPECT_EQ(activation.real[0], 7.0);
    EXPECT_EQ(activation.real[1], 1.702);
  }
}

TEST(MixtureOfExperts, GroupsMayBeSharded) {
  for (const bool joint : {false, true}) {
    token_graph g(2, 16, 4);
    hp::mixture_of_experts layer = eight_experts();
    if (joint) layer.slots = hp::expert_slots::joint;
    layer(g.m, g.x);
    for (const char* name : {"moe.dispatch", "moe.combine"}) {
      const hp::graph_operator& o = operator_called(g.m.graph, name);
      for (int l = 0; l < o.loop_count; ++l) {
        const std::string dim = g.m.graph.name_of_dim(o.loop[l].dim);
        const bool free = dim == "experts" || dim == "capacity" || dim == "hidden" || (dim == "batch" && !joint);
        EXPECT_EQ(hp::detail::is_whole(g.m.graph.rule_of(o), l), !free) << name << " " << dim;
      }
    }
  }
}

TEST(MixtureOfExperts, AnEvenLoadCostsTheBalanceScale) {
  for (const hp::extent_t experts : {2, 4, 8})
    for (const hp::extent_t top_k : {1, 2})
      for (const hp::extent_t batch : {1, 3}) {
        token_graph g(batch, 16, 4);
        hp::mixture_of_experts{.experts = experts, .top_k = top_k, .width = 5, .balance_scale = 0.25}(g.m, g.x);
        const double tokens = static_cast<double>(batch * 16), e = static_cast<double>(experts);
        const double count = tokens * static_cast<double>(top_k) / e, mass = tokens / e;
        const double scale = operator_called(g.m.graph, "moe.balance_loss").real[0];
        EXPECT_NEAR(scale * e * count * mass, 0.25, 1e-15);
        // All tokens to the first top_k experts with certainty: top_k experts of e have everything.
        EXPECT_NEAR(scale * tokens * tokens, 0.25 * e / static_cast<double>(top_k), 1e-12);
      }
}

TEST(MixtureOfExperts, TheBalanceIsPartOfTheLoss) {
  token_graph g(2, 16, 4);
  hp::mixture_of_experts layer = eight_experts();
  layer.balance_scale = 0.01;
  layer(g.m, g.x);
  const int number = g.m.input("number", {});
  g.m.loss(number);
  const hp::graph_operator& sum = operator_called(g.m.graph, "loss_and_auxiliary");
  ASSERT_EQ(sum.operand_count, 2);
  EXPECT_EQ(sum.operand[0], number);
  EXPECT_STREQ(g.m.graph.name_of_tensor(sum.operand[1]), "moe.balance_loss");
  EXPECT_EQ(g.m.graph.loss, sum.result[0]);
}

TEST(MixtureOfExperts, WeightsAreNormalisedAndScaledAsTold) {
  for (const bool normalise : {false, true}) {
    token_graph g(2, 16, 4);
    hp::mixture_of_experts layer = eight_experts();
    layer.normalise = normalise;
    layer.weight_scale = 2.5;
    layer(g.m, g.x);
    const hp::graph_operator& choice = operator_called(g.m.graph, "moe.choice");
    EXPECT_EQ(choice.integer[1], normalise ? 1 : 0);
    EXPECT_EQ(choice.real[0], 2.5);
  }
}

TEST(MixtureOfExperts, MisuseIsReported) {
  for (const hp::extent_t top_k : {0, 9}) {
    token_graph g(2, 16, 4);
    hp::mixture_of_experts layer = eight_experts();
    layer.top_k = top_k;
    EXPECT_EQ(layer(g.m, g.x), -1);
    EXPECT_EQ(mistake(g.m.graph), "top_k_exceeds_experts moe " + std::to_string(top_k) + " 8");
  }
  token_graph g(2, 16, 4);
  EXPECT_EQ(eight_experts()(g.m, -1), -1);
  EXPECT_EQ(mistake(g.m.graph), "operand_does_not_exist moe 0 0");
}

}  // namespace
