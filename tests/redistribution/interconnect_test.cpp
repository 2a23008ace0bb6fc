// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/interconnect.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(Interconnect, ALinkJoinsExactlyThePairsThatDifferAlongOneAxis) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {3, 4}}, hp::mesh_shape{3, {2, 1, 3}}, hp::mesh_shape{1, {5}}}) {
    const int positions = hp::position_count(m);
    for (int p = 0; p < positions; ++p)
      for (int q = 0; q < positions; ++q) {
        const hp::coordinate a = hp::coordinates_of(m, p), b = hp::coordinates_of(m, q);
        int differing = 0, axis = -1;
        for (int i = 0; i < m.axis_count; ++i)
          if (a.at[i] != b.at[i]) {
            ++differing;
            axis = i;
          }
        const hp::mesh_link link = hp::link_between(m, p, q);
        EXPECT_EQ(link.axis, differing == 1 ? axis : -1);
        EXPECT_EQ(hp::link_between(m, q, p).axis, link.axis);
        if (differing == 1) {
          EXPECT_EQ(link.peer, a.at[axis]);
        }
      }
    EXPECT_EQ(hp::link_between(m, 0, positions).axis, -1) << "a rank beyond the matrix";
  }
}

TEST(Interconnect, ASpanIsOfTheRanksOfItsPositions) {
  static constexpr int spread[] = {7, 4, 5};
  hp::topology_value t;
  t.level_count = 1;
  t.level[0] = {"node", 4, 1, 0};
  for (int positions = 1; positions < 9; ++positions)
    EXPECT_EQ(hp::check_span(hp::on_topology(t), positions).code == hp::topology_code::ok, positions <= 4);
  EXPECT_EQ(hp::check_span(hp::on_topology(t, {3, spread}), 3), hp::topology_status{});
  EXPECT_EQ(hp::check_span(hp::on_topology(t, {4, 2}), 4),
            (hp::topology_status{hp::topology_code::ranks_are_not_joined, 0, 4, 4}));
}

// A mesh of 4 does not go on beyond its ranks.
TEST(Interconnect, NoLinkLeadsBeyondTheMesh) {
  const hp::mesh_shape four{1, {4}};
  for (int a = 0; a < 12; ++a)
    for (int b = 0; b < 12; ++b)
      EXPECT_EQ(hp::link_between(four, a, b).axis >= 0, a != b && a < 4 && b < 4) << a << " and " << b;
}

TEST(Interconnect, NamesWhatIsWrong) {
  EXPECT_EQ(hp::check(hp::interconnect{}), hp::cost_code::ok);
  hp::topology_value t;
  EXPECT_EQ(hp::check(hp::on_topology(t)), hp::cost_code::ranks_are_not_connected);
  t.level_count = 1;
  EXPECT_EQ(hp::check(hp::on_topology(t)), hp::cost_code::rate_is_not_positive);
  t.level[0].bandwidth = 1;
  EXPECT_EQ(hp::check(hp::on_topology(t)), hp::cost_code::ok);
  t.level[0].latency = -1;
  EXPECT_EQ(hp::check(hp::on_topology(t)), hp::cost_code::latency_is_negative);
  hp::link_level along[2] = {{"x", 2, 1, 0}, {"y", 1, 0, 0}};
  EXPECT_EQ(hp::check(hp::on_full_mesh({2, {2, 1}}, along)), hp::cost_code::ok) << "an axis of one rank has no links";
  EXPECT_EQ(hp::check(hp::on_full_mesh({2, {2, 2}}, along)), hp::cost_code::rate_is_not_positive);
  along[0].latency = -1;
  EXPECT_EQ(hp::check(hp::on_full_mesh({2, {2, 1}}, along)), hp::cost_code::latency_is_negative);
}

TEST(Interconnect, RanksComeFromTheInnerListAndThenTheLinks) {
  static constexpr int reversed[] = {3, 2, 1, 0};
  hp::interconnect net;
  EXPECT_EQ(hp::detail::rank_on(net, {}, 2), 2);
  EXPECT_EQ(hp::detail::rank_on(net, {2, 10}, 1), 11);
  net.ranks = {4, reversed};
  EXPECT_EQ(hp::detail::rank_on(net, {}, 1), 2);
  EXPECT_EQ(hp::detail::rank_on(net, {2, 2}, 1), 0);
}

}  // namespace
