// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/device_traffic.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/strategy/named_strategies.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

/// What the pulls of all moves bring `device`, as often as they run.
hp::extent_t pulled_by(const hp::sharded_program& p, const hp::program_pulls& pulls, int device) {
  const int devices = hp::position_count(p.mesh.shape);
  hp::extent_t bytes = 0;
  for (const hp::program_step& s : p.step) {
    if (!s.is_move) continue;
    const hp::move_pulls& kind = pulls.of(s.index);
    const int tensor = p.value[p.move[s.index].source].tensor;
    for (int row = 0; row < kind.row.size; ++row)
      bytes += kind.pulled[row * devices + device] * hp::bytes_of(p.graph.tensor[tensor].type) * hp::times_of(p, s);
  }
  return bytes;
}

// Random models under every strategy with a name, moves by fewest bytes and by time on random links.
TEST(DeviceTraffic, AddsUpToWhatThePullsBring) {
  std::mt19937 random(11);
  int programs = 0, alike = 0, links = 0;
  for (int i = 0; i < 12; ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    const hp::topology_value topology = searched::random_topology(random);
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      const hp::sharded_program p = hp::partition(g, hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy);
      if (p.status.code != hp::strategy_code::ok) continue;
      for (const hp::program_moves& moves : {hp::kinds_of_moves(p), hp::kinds_of_moves(p, hp::on_topology(topology))}) {
        const hp::program_pulls pulls = hp::pulls_of(p, moves);
        if (pulls.status.code != hp::move_pulls_code::ok) continue;
        const hp::device_traffic t = hp::traffic_between(p, moves, hp::pipeline_form(p.graph, 1));
        const hp::extent_t account = hp::traffic_of(p, moves, {}).bytes;
        ASSERT_EQ(t.devices, hp::position_count(p.mesh.shape));
        bool all_alike = true;
        for (int d = 0; d < t.devices; ++d) {
          ASSERT_EQ(t.of(d, d), 0);
          ASSERT_EQ(t.received(d), pulled_by(p, pulls, d));
          ASSERT_LE(t.received(d), account);
          all_alike = all_alike && t.received(d) == account;
          for (int s = 0; s < t.devices; ++s) links += t.of(d, s) > 0;
        }
        alike += all_alike;
        ++programs;
      }
    }
  }
  EXPECT_GT(programs, 100);
  EXPECT_GT(alike, 50);
  EXPECT_GT(links, 1000);
}

// Of a pipeline each stage has its share.
TEST(DeviceTraffic, IsDividedByStages) {
  std::mt19937 random(5);
  searched::small_model model = searched::random_model(random, false);
  model.layers = 4;
  const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called("tp", 2).strategy);
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  const hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::extent_t whole = hp::traffic_between(p, moves, hp::pipeline_form(p.graph, 1)).of(0, 1),
                     half = hp::traffic_between(p, moves, hp::pipeline_form(p.graph, 2)).of(0, 1);
  EXPECT_GT(half, 0);
  EXPECT_LE(half, (whole + 1) / 2);
  EXPECT_GE(half, whole / 2 - p.step.size);
}

TEST(DeviceTraffic, OfARefusedProgramIsNone) {
  hp::sharded_program refused;
  refused.status.code = hp::strategy_code::dim_does_not_divide;
  EXPECT_EQ(hp::traffic_between(refused, {}, hp::pipeline_form(refused.graph, 1)).devices, 0);
}

}  // namespace
