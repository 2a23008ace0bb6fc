// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/step_parts.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/lowering/named_plans.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

TEST(StepParts, EveryStepHasOne) {
  std::mt19937 random(9);
  for (int i = 0; i < 20; ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    hp::visit_named_strategies(4, [&](const hp::strategy_value& s) {
      const hp::sharded_program p = hp::partition(g, s);
      if (p.status.code != hp::strategy_code::ok) return;
      const int ring = hp::axis_index(s.mesh, s.ring_axis.text);
      const hp::graph planned = ring < 0 ? g : hp::rotate_attention(g, s.mesh.shape.size[ring]);
      const hp::model_parts parts = hp::detail::find_parts(planned);
      const hp::step_parts sorted(planned, parts);
      for (int k = 0; k < p.step.size; ++k) {
        const int part = sorted.part_of_step(p, k);
        ASSERT_GE(part, 0) << s.name.text;
        ASSERT_LT(part, parts.part.size) << s.name.text;
        const hp::program_step& step = p.step[k];
        if (!step.is_move && p.compute[step.index].op < planned.op.size) {
          EXPECT_EQ(part, parts.of_op[p.compute[step.index].op]);
        }
      }
    });
  }
}

TEST(StepParts, MovesOfAJointAreItsReaders) {
  const hp::graph g = searched::small_model{}.build();
  const hp::model_parts parts = hp::detail::find_parts(g);
  const hp::step_parts sorted(g, parts);
  // The embedding is partial along tp; the attention behind it asks for it whole.
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("tp", 2).strategy);
  const int joint = parts.part[0].leaves;
  int moves = 0;
  for (int k = 0; k < p.step.size; ++k) {
    if (!p.step[k].is_move || p.value[p.move[p.step[k].index].source].tensor != joint) continue;
    EXPECT_EQ(sorted.part_of_step(p, k), 1);
    ++moves;
  }
  EXPECT_GT(moves, 0);
  const hp::strategy_value strategy = hp::strategy_called("tp", 2).strategy;
  hp::strategy_layouts layouts(p.graph, strategy);
  const hp::joint_state left = sorted.state_of(p, layouts, 0), between = sorted.state_of(p, layouts, 1);
  EXPECT_TRUE(hp::is_partial(left.made));
  EXPECT_FALSE(hp::is_partial(between.made));
  EXPECT_TRUE(between.carried == between.made);
}

}  // namespace
