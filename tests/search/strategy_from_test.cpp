// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/strategy_from.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/layers.hpp>
#include <hyperparallel/search/strategy_search.hpp>
#include <hyperparallel/step/training_step.hpp>

namespace {

namespace hp = hyperparallel;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int b = m.dim("batch", 4), s = m.dim("seq", 4);
    const int ids = m.index_input("ids", {b, s}), labels = m.index_input("labels", {b, s});
    int x = hp::token_embedding{.vocabulary = 8, .hidden = 8}(m, ids);
    x = hp::residual_branch(m, "norm", "residual", 1e-6, x, hp::swiglu_layer{.width = 8});
    hp::language_head{.vocabulary = 8}(m, x, labels);
  }
};

constexpr hp::search_result search() {
  const hp::graph g = hp::training_graph<model>({});
  constexpr hp::search_limits few{.reduced = true, .tensor = 2, .context = 1, .pipeline = 1, .named = false};
  return hp::search_strategies(&g, 1, hp::matrix384::device, hp::matrix384::topology, 2, few);
}
constexpr hp::search_result found = search();
static_assert(found.ok() && found.plan.size >= 2);

template <int Row>
using step_of = hp::train_step<model, hp::strategy_from<found, Row>, hp::adamw, hp::matrix384>;

// The winner is a type: what the search said of it, the step says too, to the picosecond and to the byte.
static_assert(hp::strategy_type<hp::strategy_from<found>>);
static_assert(step_of<0>::verified && step_of<0>::lawful);
static_assert(step_of<0>::account.times.total.picoseconds == found.plan[0].evaluation.time);
static_assert(step_of<0>::account.memory.peak == found.plan[0].evaluation.memory);
static_assert(step_of<0>::clock.ok() && step_of<0>::clock.makespan >= found.plan[0].evaluation.time);
static_assert(step_of<1>::account.times.total.picoseconds == found.plan[1].evaluation.time);

TEST(StrategyFrom, IsTheStrategyOfThePlan) {
  EXPECT_EQ((hp::strategy_from<found>::value), found.plan[0].strategy);
  EXPECT_EQ((hp::strategy_from<found, 1>::value), found.plan[1].strategy);
  EXPECT_NE(found.plan[0].strategy, found.plan[1].strategy);
}

}  // namespace
