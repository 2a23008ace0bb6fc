// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/stage_order.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <hyperparallel/groups/submodels.hpp>

#include "models/omni_model.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;

/// Every operator reads what an earlier one makes; forward stages rise, backward stages fall, all is there that was.
TEST(stage_order, is_an_order_of_the_graph_with_rising_and_falling_stages) {
  std::mt19937 random(7);
  int moved = 0;
  for (int n = tested::tries(50, 1000); n > 0; --n) {
    const hp::submodel_plan plan = programs::random_omni_plan(random);
    const auto shared = static_cast<programs::shared_parameter>(random() % 3);
    const hp::graph g = programs::omni_graph({.micro_batches = 1 + n % 2, .tower_layers = 2, .shared = shared});
    hp::submodel_cut by_modules = hp::cut_by_modules(g, plan.table);
    ASSERT_TRUE(by_modules.status.ok()) << name_of(by_modules.status.groups.code);
    hp::stage_cut& cut = by_modules.cut;
    hp::graph ordered = g;
    hp::arrange_by_stages(ordered, cut);
    ASSERT_EQ(ordered.op.size, g.op.size);
    ASSERT_EQ(cut.of_op.size, g.op.size);
    std::vector<int> made(static_cast<std::size_t>(g.tensor.size), 0);
    for (int o = 0; o < ordered.op.size; ++o) {
      const hp::graph_operator& op = ordered.op[o];
      for (int i = 0; i < op.operand_count; ++i) {
        const int producer = ordered.tensor[op.operand[i]].producer;
        ASSERT_LT(producer, o);
        ASSERT_TRUE(producer < 0 || made[static_cast<std::size_t>(op.operand[i])] == 1);
      }
      for (int r = 0; r < op.result_count; ++r) {
        ++made[static_cast<std::size_t>(op.result[r])];
        ASSERT_EQ(ordered.tensor[op.result[r]].producer, o);
      }
      if (op.forward >= 0) {
        ASSERT_EQ(cut.of_op[o], cut.of_op[op.forward]);
      }
      moved += g.op[o].name != op.name;
      if (o == 0) continue;
      const hp::graph_operator& before = ordered.op[o - 1];
      ASSERT_LE(before.phase, op.phase);
      if (before.phase != op.phase) continue;
      if (op.phase == hp::graph_phase::forward) {
        ASSERT_LE(cut.of_op[o - 1], cut.of_op[o]);
      }
      if (op.phase == hp::graph_phase::backward) {
        ASSERT_GE(cut.of_op[o - 1], cut.of_op[o]);
      }
    }
  }
  EXPECT_GT(moved, 500);
}

}  // namespace
