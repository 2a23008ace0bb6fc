// SPDX-License-Identifier: Apache-2.0
// Steps over a full mesh: what the busiest links carry, with relays and without.

#include <hyperparallel/redistribution/mesh_levels.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;
using worlds::full_mesh;

/// What a relay from rank to rank, the innermost axis first, puts on every link, added up transfer by transfer.
struct routed {
  hp::extent_t most[hp::max_axes] = {}, all[hp::max_axes] = {};
};
routed routes_of(const hp::move_step& step, const hp::shape& s, const hp::mesh_shape& m) {
  const int positions = hp::position_count(m);
  std::vector<hp::extent_t> links(static_cast<std::size_t>(positions * positions));
  routed out;
  for (int p = 0; p < positions; ++p) {
    const hp::step_receiver r = hp::receiver_of(step, s, p);
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(step, r, k);
      hp::coordinate at = hp::coordinates_of(m, t.sender);
      const hp::coordinate to = hp::coordinates_of(m, p);
      for (int a = m.axis_count - 1; a >= 0; --a) {
        if (at.at[a] == to.at[a]) continue;
        const int from = hp::position_of(m, at);
        at.at[a] = to.at[a];
        hp::extent_t& link = links[static_cast<std::size_t>(from * positions + hp::position_of(m, at))];
        link += hp::volume(t.part);
        out.all[a] += hp::volume(t.part);
        out.most[a] = std::max(out.most[a], link);
      }
    }
  }
  return out;
}

/// All pairs of layouts of two dims that cut evenly: a relay carries what routes add up to, in all and on the busiest
/// link where all devices exchange alike.
TEST(MeshLevels, RelaysCarryWhatRoutesAddUpTo) {
  int across = 0, alike = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{2, {4, 2}}, hp::mesh_shape{3, {2, 2, 2}}}) {
    const hp::interconnect net = full_mesh(m);
    const std::vector<hp::layout_value> layouts = worlds::all_layouts(m, 2);
    const hp::shape s(24, 48);
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts) {
        const hp::move_plan plan = hp::plan_move(from, to, s);
        if (plan.step_count != 1) continue;
        const hp::move_step& step = plan.step[0];
        const routed expected = routes_of(step, s, m);
        hp::extent_t crossed[hp::max_axes] = {}, most[hp::max_axes] = {};
        int axes = 0;
        hp::time_cost told;
        hp::detail::visit_relays(step, s, net, [&](const hp::step_levels& one) {
          ASSERT_EQ(one.code, hp::cost_code::ok);
          for (int a = 0; a < m.axis_count; ++a)
            if (one.level[a].messages > 0) {
              crossed[a] = one.received;
              most[a] = one.level[a].elements;
            }
          ++axes;
          told = hp::then(told, hp::time_of(one, 4, net));
        });
        bool same = true;
        for (int a = 0; a < m.axis_count; ++a) {
          ASSERT_EQ(crossed[a], expected.all[a]);
          same = same && most[a] == expected.most[a];
        }
        alike += same ? 1 : 0;
        const hp::step_part part{&step, &s};
        const hp::step_levels direct = hp::detail::levels_on_mesh(&part, 1, net);
        if (direct.code == hp::cost_code::ok && axes == 1) {
          EXPECT_EQ(hp::time_of(direct, 4, net), told) << "a relay along one axis is the step";
        }
        across += axes > 1 ? 1 : 0;
      }
  }
  EXPECT_GT(across, 500);
  EXPECT_GT(alike, 500);
}

/// Time as `price_step` tells it, and its code.
TEST(MeshLevels, AStepTakesWhatItsTransfersAddUpTo) {
  int carried = 0, apart = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{3, {2, 2, 2}}, hp::mesh_shape{1, {5}}}) {
    const hp::interconnect net = full_mesh(m);
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts)
        for (const hp::shape& s : {hp::shape(12, 6), hp::shape(5, 7)}) {
          const hp::move_plan plan = hp::plan_move(from, to, s);
          std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, hp::position_count(m))));
          const hp::move_tally tally = hp::detail::tally_in(entries.data(), net, hp::position_count(m));
          for (int k = 0; k < plan.step_count; ++k) {
            const hp::step_part part{&plan.step[k], &plan.shape};
            const hp::step_price price = hp::price_step(&part, 1, net, 2, tally);
            const hp::step_levels load = hp::detail::levels_on_mesh(&part, 1, net);
            ASSERT_EQ(hp::time_of(load, 2, net), price.time);
            ASSERT_EQ(load.received > 0, price.communicates);
            (price.time.ok() ? carried : apart) += price.communicates ? 1 : 0;
          }
        }
  }
  EXPECT_GT(carried, 300);
  EXPECT_GT(apart, 300);
}

TEST(MeshLevels, ARankBeyondTheMeshIsNotConnected) {
  const hp::mesh_shape m{1, {4}};
  const hp::move_plan plan = hp::plan_move(cut_by(m, 1, {{0, 0}}), hp::replicated(m, 1), hp::shape(8));
  hp::cost_code code = hp::cost_code::ok;
  hp::detail::visit_relays(plan.step[0], plan.shape, full_mesh({1, {3}}),
                           [&](const hp::step_levels& one) { code = one.code; });
  EXPECT_EQ(code, hp::cost_code::ranks_are_not_connected);
}

}  // namespace
