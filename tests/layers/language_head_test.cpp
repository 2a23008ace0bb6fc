// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/layers/embedding.hpp>
#include <hyperparallel/layers/language_head.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(LanguageHead, EndsInOneNumber) {
  token_graph g(2, 3, 4);
  const int labels = g.m.index_input("labels", {g.batch, g.sequence});
  const int loss = hp::language_head{.vocabulary = 11}(g.m, g.x, labels);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(g.m.graph.loss, loss);
  EXPECT_EQ(described(g.m.graph, loss), "head.cross_entropy ()");
  EXPECT_EQ(operators(g.m.graph), (strings{"rms_norm head.norm", "contract head.logits", "reduce head.max",
                                           "exp_sum head.exp_sum", "pick head.picked", "token_loss head.token_loss",
                                           "reduce head.loss_sum", "scale head.cross_entropy"}));
  EXPECT_EQ(described(g.m.graph, "head.logits.weight"), "head.logits.weight (hidden 4, vocab 11)");
  EXPECT_EQ(operator_called(g.m.graph, "head.max").reduction, hp::reduce_op::max);
  EXPECT_EQ(operator_called(g.m.graph, "head.loss_sum").reduction, hp::reduce_op::sum);
  EXPECT_EQ(operator_called(g.m.graph, "head.cross_entropy").real[0], 1.0 / 6.0);
  ASSERT_EQ(g.m.graph.monitor.size, 1);
  EXPECT_EQ(g.m.graph.monitor[0], loss);
}

TEST(LanguageHead, LogitsMayBeScaledAndBounded) {
  token_graph g(2, 3, 4);
  const int labels = g.m.index_input("labels", {g.batch, g.sequence});
  hp::language_head{.vocabulary = 11, .norm = hp::norm_form::layer, .hidden_scale = 0.5, .logit_cap = 4.0}(g.m, g.x,
                                                                                                           labels);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  strings first = operators(g.m.graph);
  first.resize(7);
  EXPECT_EQ(first, (strings{"layer_norm head.norm", "scale head.hidden_scaled", "contract head.logits",
                            "scale head.logits_by_cap", "tanh head.logits_bounded", "scale head.logits_capped",
                            "reduce head.max"}));
  EXPECT_EQ(operator_called(g.m.graph, "head.logits_by_cap").real[0], 0.25);
}

TEST(LanguageHead, NothingNeedsAWholeVocabulary) {
  token_graph g(2, 3, 4);
  const int labels = g.m.index_input("labels", {g.batch, g.sequence});
  hp::language_head{.vocabulary = 11}(g.m, g.x, labels);
  int loops = 0;
  for (const hp::graph_operator& o : g.m.graph.op)
    for (int l = 0; l < o.loop_count; ++l)
      if (std::string("vocab") == g.m.graph.name_of_dim(o.loop[l].dim)) {
        ++loops;
        EXPECT_FALSE(hp::detail::is_whole(g.m.graph.rule_of(o), l));
      }
  EXPECT_EQ(loops, 4) << "logits, max, sum of exponentials, picked logit";
}

TEST(LanguageHead, WeightsMultiplyTheTokensLosses) {
  token_graph g(2, 3, 4);
  const int labels = g.m.index_input("labels", {g.batch, g.sequence});
  const int weights = g.m.input("weights", {g.batch, g.sequence});
  hp::language_head{.vocabulary = 11}(g.m, g.x, labels, weights);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  const hp::graph_operator& weighted = operator_called(g.m.graph, "head.weighted_loss");
  EXPECT_STREQ(g.m.graph.name_of_tensor(weighted.operand[0]), "head.token_loss");
  EXPECT_EQ(weighted.operand[1], weights);
  EXPECT_EQ(operator_called(g.m.graph, "head.loss_sum").operand[0], weighted.result[0]);
}

TEST(LanguageHead, EveryAuxiliaryLossIsAddedOnce) {
  for (int count = 0; count <= 30; ++count) {
    token_graph g(2, 3, 4);
    const int labels = g.m.index_input("labels", {g.batch, g.sequence});
    std::vector<int> added(1000, 0);
    for (int i = 0; i < count; ++i) g.m.auxiliary_loss(g.m.input(("number" + std::to_string(i)).c_str(), {}));
    const int cross_entropy = hp::language_head{.vocabulary = 11}(g.m, g.x, labels);
    ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
    // Walks the sums back from the loss.
    int at = g.m.graph.loss;
    while (at != cross_entropy) {
      const hp::graph_operator& sum = g.m.graph.op[g.m.graph.tensor[at].producer];
      ASSERT_EQ(sum.kind, hp::id_of<hp::ops::sum>);
      for (int i = 1; i < sum.operand_count; ++i) ++added[static_cast<std::size_t>(sum.operand[i])];
      at = sum.operand[0];
    }
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(added[static_cast<std::size_t>(find_tensor(g.m.graph, ("number" + std::to_string(i)).c_str()))], 1);
  }
}

TEST(LanguageHead, ReadsTheTableOfTheEmbeddingThatItIsTiedTo) {
  hp::model_builder m;
  const int ids = m.index_input("tokens", {m.dim("batch", 2), m.dim("seq", 3)});
  const int labels = m.index_input("labels", {m.dim("batch", 2), m.dim("seq", 3)});
  const int x = hp::token_embedding{.name = "words", .vocabulary = 11, .hidden = 4}(m, ids);
  hp::language_head{.vocabulary = 11, .tied_to = "words"}(m, x, labels);
  ASSERT_EQ(mistake(m.graph), "ok 0 0");
  EXPECT_EQ(described(m.graph, hp::graph_tensor_kind::parameter),
            (strings{"words.weight (vocab 11, hidden 4)", "head.norm.weight (hidden 4)"}));
  EXPECT_EQ(described(m.graph, "head.logits"), "head.logits (batch 2, seq 3, vocab 11)");
  EXPECT_EQ(operator_called(m.graph, "head.logits").operand[1], find_tensor(m.graph, "words.weight"));
  hp::differentiate(m.graph);
  ASSERT_EQ(mistake(m.graph), "ok 0 0");
  const int gradient = gradient_of(m.graph, find_tensor(m.graph, "words.weight"));
  EXPECT_EQ(m.graph.op[m.graph.tensor[gradient].producer].kind, hp::id_of<hp::ops::sum>) << "of both readers";

  token_graph other(2, 3, 4);
  const int others = other.m.index_input("labels", {other.batch, other.sequence});
  EXPECT_EQ((hp::language_head{.vocabulary = 11, .tied_to = "word"}(other.m, other.x, others)), -1);
  EXPECT_EQ(mistake(other.m.graph), "operand_does_not_exist head word.weight 0 0");
}

TEST(LanguageHead, MisuseIsReported) {
  token_graph g(2, 3, 4);
  EXPECT_EQ(hp::language_head{}(g.m, g.x, -1), -1);
  EXPECT_EQ(mistake(g.m.graph), "operand_does_not_exist head 0 0");
  EXPECT_EQ(g.m.graph.loss, -1);
  token_graph other(2, 3, 4);
  const int labels = other.m.index_input("labels", {other.batch, other.m.dim("other_seq", 5)});
  EXPECT_LT(hp::language_head{.vocabulary = 11}(other.m, other.x, labels), 0);
  EXPECT_EQ(mistake(other.m.graph), "dim_differs_between_operands head.picked labels 5 3");
  token_graph wrong(2, 3, 4);
  wrong.m.auxiliary_loss(wrong.x);
  EXPECT_EQ(mistake(wrong.m.graph), "loss_is_not_one_number x 0 0");
}

}  // namespace
