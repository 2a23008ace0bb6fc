// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/whole_tensors.hpp>

#include <string>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>
#include <world/padded_steps.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace {

namespace hp = hyperparallel;

hp::graph graph_of(int batch, hp::optimizer_kind optimizer) {
  return programs::moe_graph({.optimizer = optimizer}, padded_steps::sizes_of(batch));
}

/// Whatever the number of devices.
TEST(whole_tensors, there_are_none_where_updates_run_on_pieces) {
  for (int devices = 2; devices <= 48; ++devices)
    for (const char* name : {"zero1", "zero2", "zero3"})
      for (const hp::optimizer_kind optimizer : {hp::optimizer_kind::adamw, hp::optimizer_kind::sgd}) {
        const hp::sharded_program p =
            hp::partition(graph_of(devices, optimizer), hp::strategy_called(name, devices).strategy);
        ASSERT_EQ(p.status.code, hp::strategy_code::ok);
        EXPECT_EQ(p.whole.size, 0) << name << " on " << devices;
        EXPECT_EQ(hp::whole_bytes(p), 0);
      }
}

/// Momenta of matrices whose update needs both sides: of experts there is a dim beside them, and of each list entry the
/// bytes are those of what the program keeps at home.
TEST(whole_tensors, are_the_states_of_whole_matrix_updates) {
  const hp::sharded_program p =
      hp::partition(graph_of(6, hp::optimizer_kind::muon), hp::strategy_called("zero1", 6).strategy);
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  ASSERT_GT(p.whole.size, 0);
  hp::extent_t bytes = 0;
  for (const hp::whole_tensor& w : p.whole) {
    EXPECT_EQ(w.stage, hp::rule_stage::state);
    EXPECT_EQ(w.axis, 0);
    const hp::shape& s = p.graph.tensor[w.parameter].shape;
    const hp::extent_t repeats = p.graph.tensor[w.parameter].segment >= 0 ? padded_steps::sizes_of(6).layers : 1;
    EXPECT_EQ(hp::detail::bytes_of_whole(p, w), 4 * repeats * hp::element_count(s).value)
        << p.graph.name_of_tensor(w.parameter);
    bytes += hp::detail::bytes_of_whole(p, w);
  }
  EXPECT_EQ(hp::whole_bytes(p), bytes);
}

constexpr hp::extent_t whole_under_sgd() {
  hp::model_builder m;
  const int b = m.dim("batch", 6), i = m.dim("in", 5), o = m.dim("out", 7);
  const int x = m.input("x", {b, i}), w = m.parameter("weight", {i, o});
  const int y = m.contract("product", "*k,kn->*n", x, w);
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  const hp::graph g = programs::trained(m, {.optimizer = hp::optimizer_kind::sgd});
  return hp::whole_bytes(hp::partition(g, hp::strategy_called("zero3", 6).strategy));
}
static_assert(whole_under_sgd() == 0);

}  // namespace
