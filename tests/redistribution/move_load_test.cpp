// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/move_load.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using worlds::levels;
using worlds::link;

hp::step_levels on_level(int level, hp::extent_t elements) {
  hp::step_levels one;
  one.level[level] = {1, elements, elements};
  one.received = elements;
  return one;
}

TEST(MoveLoad, TimesAndAmountsOfStepsAddUp) {
  const hp::interconnect net = hp::on_topology(levels({link(1000, 5, 4), link(100, 50)}));
  hp::move_load load;
  load.add(on_level(0, 30));
  load.add(hp::step_levels());
  load.add(on_level(1, 40));
  load.add(on_level(1, 2));
  EXPECT_EQ(load.step.size, 3) << "nothing is received in a step that is left out";
  EXPECT_EQ(hp::detail::elements_over(load, 0), 30);
  EXPECT_EQ(hp::detail::elements_over(load, 1), 42);
  EXPECT_EQ(hp::detail::messages_over(load, 1), 2);
  EXPECT_EQ(hp::detail::received_by_all(load), 72);
  hp::time_cost sum;
  for (const hp::step_levels& one : load.step) sum = hp::then(sum, hp::time_of(one, 2, net));
  EXPECT_EQ(hp::time_of(load, 2, net), sum);
}

TEST(MoveLoad, AStepThatIsNotCarriedIsTold) {
  hp::move_load load;
  hp::step_levels apart;
  apart.code = hp::cost_code::ranks_are_not_connected;
  load.add(apart);
  load.add(on_level(0, 1));
  EXPECT_EQ(hp::time_of(load, 1, hp::on_topology(levels({link(1, 1)}))).code, hp::cost_code::ranks_are_not_connected);
}

/// All links of a full mesh at once: the greatest latency, then the longest of them.
TEST(MoveLoad, LinksOfAFullMeshWorkAtOnce) {
  const hp::link_level along[2] = {link(1000, 5), link(100, 50)};
  const hp::interconnect net = hp::on_full_mesh({2, {2, 2}}, along);
  hp::step_levels both = on_level(0, 3000);
  both.level[1] = {1, 100, 100};
  EXPECT_EQ(hp::time_of(both, 1, net), (hp::time_cost{hp::cost_code::ok, 50 + 3 * hp::second}));
}

}  // namespace
