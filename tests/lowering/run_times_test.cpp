// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/run_times.hpp>

#include <gtest/gtest.h>

#include <utility>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

static_assert(hp::step_bound{.work = 3, .links = 5, .path = 4}.most() == 5);
static_assert(hp::step_bound{.work = 6, .links = 5, .path = 4}.most() == 6);
static_assert(hp::step_bound{.work = 3, .links = 5, .path = 7}.most() == 7);
static_assert(hp::run_times{}.ok() && !hp::run_times{.code = hp::cost_code::overflow}.ok());

TEST(RunTimes, AreUnknownUntilAPlanIsClocked) {
  const hp::graph g = searched::small_model{.unrolled = true}.build();
  hp::lowered_program l = hp::lower_training(hp::partition(g, hp::strategy_called("dp", 4).strategy),
                                             {.topology = hp::on_topology(hp::matrix384::topology)});
  EXPECT_FALSE(l.times.ok());
  const hp::run_times t = hp::simulate(l, hp::matrix384::device);
  ASSERT_TRUE(t.ok());
  l = hp::clocked(std::move(l), hp::matrix384::device);
  EXPECT_EQ(l.times.makespan, t.makespan);
  EXPECT_EQ(l.times.bound.most(), t.bound.most());
}

TEST(RunTimes, AreUnknownOfAPlanThatIsNone) {
  const hp::graph g = searched::small_model{}.build();  // its layers are folded
  EXPECT_FALSE(
      hp::clocked(hp::lower_training(hp::partition(g, hp::strategy_called("dp", 4).strategy)), hp::matrix384::device)
          .times.ok());
}

}  // namespace
