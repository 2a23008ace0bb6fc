// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/check_training.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include "models/trained_models.hpp"

namespace {

namespace hp = hyperparallel;
using hp::graph_code;

hp::graph forward(bool has_loss = true, bool has_parameter = true) {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 8), in = m.dim("in", 6), out = m.dim("out", 5);
  const int x = m.input("x", {batch, in});
  const int w = has_parameter ? m.parameter("w", {in, out}) : m.input("w", {in, out});
  const int y = m.contract("y", "bk,kn->bn", x, w);
  const int loss = m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"});
  if (has_loss) m.loss(loss);
  return m.graph;
}
hp::graph differentiated(int micro_batches = 1) {
  hp::graph g = forward();
  g.micro_batches = micro_batches;
  hp::differentiate(g);
  return g;
}
hp::graph trained(int micro_batches = 1) {
  hp::graph g = differentiated(micro_batches);
  hp::append_optimizer(g, {});
  return g;
}

TEST(check_training, accepts_what_the_passes_make_under_every_strategy) {
  for (const int micro_batches : {1, 2, 7}) {
    EXPECT_EQ(hp::check_training(trained(micro_batches)).code, graph_code::ok) << micro_batches;
    for (const bool unrolled : {true, false}) {
      const hp::graph g = programs::moe_graph({.unrolled = unrolled, .micro_batches = micro_batches});
      EXPECT_EQ(hp::check_training(g).code, graph_code::ok);
      for (const char* const name : {"dp", "ring", "zero3-tp"})
        EXPECT_EQ(hp::check_training(hp::partition(g, hp::strategy_called(name, 4).strategy).graph).code,
                  graph_code::ok);
    }
  }
}

TEST(check_training, says_what_is_missing) {
  EXPECT_EQ(hp::check_training(forward(false)).code, graph_code::model_has_no_loss);
  EXPECT_EQ(hp::check_training(forward()).code, graph_code::graph_has_no_gradients);
  EXPECT_EQ(hp::check_training(differentiated()).code, graph_code::graph_has_no_optimizer);
  hp::graph none = trained();
  none.micro_batches = 0;
  EXPECT_EQ(hp::check_training(none).code, graph_code::micro_batches_are_not_positive);
  hp::graph refused = trained();
  refused.fail({graph_code::top_k_exceeds_experts});
  EXPECT_EQ(hp::check_training(refused).code, graph_code::top_k_exceeds_experts);
}

// Each change of the number between the passes gives other updates than those of the mean, so each is refused.
TEST(check_training, micro_batches_are_those_of_the_gradient) {
  for (int before = 1; before <= 3; ++before)
    for (int after = 1; after <= 3; ++after) {
      hp::graph late = trained(before), between = differentiated(before);
      late.micro_batches = between.micro_batches = after;
      hp::append_optimizer(between, {});
      for (const hp::graph_status& s : {hp::check_training(late), between.status}) {
        EXPECT_EQ(s.code, before == after ? graph_code::ok : graph_code::micro_batches_changed);
        EXPECT_EQ(s.extent, before == after ? 0 : after);
        EXPECT_EQ(s.other, before == after ? 0 : before);
      }
    }
  // The gradient of another number of micro-batches, mended by hand: it is still the last one's alone.
  hp::graph g = trained(1);
  g.micro_batches = 2;
  for (hp::graph_operator& o : g.op)
    if (o.kind == hp::id_of<hp::ops::fill> && o.phase == hp::graph_phase::backward) o.real[0] = 0.5;
  EXPECT_EQ(hp::check_training(g).code, graph_code::micro_batches_changed);
}

TEST(check_training, passes_in_another_order_are_refused) {
  hp::graph early = forward();
  hp::append_optimizer(early, {});
  EXPECT_EQ(early.status.code, graph_code::graph_has_no_gradients);
  EXPECT_EQ(early.op.size, forward().op.size) << "stays as it was";
  hp::graph fixed = forward(true, false);
  hp::differentiate(fixed);
  hp::append_optimizer(fixed, {});
  EXPECT_EQ(fixed.status.code, graph_code::graph_has_no_gradients) << "the loss depends on no parameter";
  hp::graph twice = trained();
  hp::append_optimizer(twice, {});
  EXPECT_EQ(twice.status.code, graph_code::graph_has_an_optimizer_already);
  for (hp::graph again : {differentiated(), trained()}) {
    hp::differentiate(again);
    EXPECT_EQ(again.status.code, graph_code::graph_has_gradients_already);
  }
  for (const int number : {0, -4}) {
    hp::graph none = forward();
    none.micro_batches = number;
    hp::differentiate(none);
    EXPECT_EQ(none.status.code, graph_code::micro_batches_are_not_positive);
    EXPECT_EQ(none.status.extent, number);
  }
}

constexpr bool refuses_in_the_compiler() {
  hp::model_builder m;
  const int x = m.parameter("x", {m.dim("n", 4)});
  m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
  if (hp::check_training(m.graph).code != graph_code::graph_has_no_gradients) return false;
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return hp::check_training(m.graph).code == graph_code::ok;
}
static_assert(refuses_in_the_compiler());

}  // namespace
