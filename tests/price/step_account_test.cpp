// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/step_account.hpp>

#include <lowering/refused_hardware.hpp>
#include <models/stacked_model.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

constexpr hp::step_account account(const char* name, int ranks) {
  programs::stacked_model model;
  model.key_heads = 4;
  model.dense_layers = 6;
  const hp::graph g = model.build();
  const hp::strategy_result s = hp::strategy_called(name, ranks);
  const hp::sharded_program p = hp::partition(g, s.strategy);
  return hp::account_on<hp::matrix384>(p);
}

TEST(step_account, is_what_its_parts_say) {
  for (const char* name : {"single", "dp", "zero3", "tp-sp", "dp-tp"}) {
    programs::stacked_model model;
    model.key_heads = 4;
    const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called(name, 4).strategy);
    const hp::step_account a = hp::account_on<hp::matrix384>(p);
    EXPECT_EQ(a.status, hp::strategy_status{});
    const hp::program_moves moves = hp::kinds_of_moves(p, hp::on_topology(hp::matrix384::topology));
    EXPECT_EQ(a.memory, hp::detail::memory_account_of(p, moves));
    EXPECT_EQ(a.work, hp::detail::total_work(p));
    EXPECT_EQ(a.traffic, hp::traffic_of(p, moves, hp::detail::loads_of_moves(p, moves)));
    EXPECT_GT(a.times.total.picoseconds, 0);
    EXPECT_EQ(a.memory_bytes, 64 * hp::GiB);
    const double use = static_cast<double>(a.work.flops[0]) * 1e12 / static_cast<double>(a.matrix_peak) /
                       static_cast<double>(a.times.total.picoseconds);
    EXPECT_NEAR(static_cast<double>(hp::matrix_use(a)) / 1e4, use, 1e-4);
  }
}

TEST(step_account, of_a_refused_program_tells_why_and_nothing_else) {
  programs::stacked_model model;
  const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called("tp-sp", 16).strategy);
  ASSERT_NE(p.status.code, hp::strategy_code::ok);
  const hp::step_account a = hp::account_on<hp::matrix384>(p);
  EXPECT_EQ(a.status, p.status);
  EXPECT_EQ(a.memory, hp::memory_account::of_nothing());
  EXPECT_EQ(a.work, hp::work_total::of_nothing());
  EXPECT_EQ(a.traffic, hp::traffic_account::of_nothing());
  EXPECT_EQ(hp::matrix_use(a), 0);
  EXPECT_EQ(a.times, hp::step_times::of_nothing(hp::cost_code::program_is_refused));
  EXPECT_FALSE(a.ok());
  hp::growing_array<hp::extent_t> block_duration;
  EXPECT_EQ(hp::account_of(p, hp::kinds_of_moves(p, hp::on_topology(hp::matrix384::topology)), hp::storage_uses(p),
                           hp::matrix384::device, block_duration),
            a);
}

// A limit of bytes or of time is not met by what was never counted.
TEST(step_account, of_what_is_refused_is_larger_than_any_limit) {
  programs::stacked_model model;
  const hp::sharded_program refused = hp::partition(model.build(), hp::strategy_called("tp-sp", 16).strategy);
  const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called("dp", 4).strategy);
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  const refused::hardware standing = refused::each().front();
  const hp::extent_t limit = hp::not_counted - 1;
  for (const hp::step_account& a : {hp::account_on<hp::matrix384>(refused),
                                    hp::account_of(p, standing.device, hp::on_topology(standing.topology))}) {
    EXPECT_FALSE(a.ok());
    EXPECT_GT(a.memory.peak, limit);
    for (int c = 0; c < hp::memory_class_count; ++c) {
      EXPECT_GT(a.memory.at_peak[c], limit);
      EXPECT_GT(a.memory.most[c], limit);
      EXPECT_GT(a.memory.resident[c], limit);
    }
    for (int u = 0; u < hp::compute_unit_count; ++u) {
      EXPECT_GT(a.work.flops[u], limit);
      EXPECT_GT(a.work.bytes[u], limit);
      EXPECT_GT(a.times.by_unit[u], limit);
    }
    EXPECT_GT(a.traffic.bytes, limit);
    for (const hp::extent_t bytes : a.traffic.by_phase) EXPECT_GT(bytes, limit);
    for (const hp::extent_t bytes : a.traffic.by_class) EXPECT_GT(bytes, limit);
    for (const hp::extent_t bytes : a.traffic.by_level) EXPECT_GT(bytes, limit);
    EXPECT_GT(a.times.total.picoseconds, limit);
    EXPECT_GT(a.times.compute_busy, limit);
    EXPECT_GT(a.times.communication_busy, limit);
    EXPECT_GT(a.times.exposed, limit);
  }
}

TEST(step_account, of_refused_hardware_tells_why_and_no_time) {
  programs::stacked_model model;
  model.batch = 8;
  const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called("dp", 8).strategy);
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  for (const refused::hardware& h : refused::each()) {
    const hp::step_account a = hp::account_of(p, h.device, hp::on_topology(h.topology));
    EXPECT_EQ(a.hardware, hp::check_hardware(h.device, h.topology, 8)) << h.what;
    EXPECT_FALSE(a.hardware.ok()) << h.what;
    EXPECT_EQ(a.times.total, (hp::time_cost{hp::cost_code::hardware_is_refused, hp::not_counted})) << h.what;
    EXPECT_EQ(a.memory, hp::memory_account::of_nothing()) << h.what;
  }
  // Ranks of the positions decide, not their number.
  static constexpr int apart[] = {0, 1, 2, 3, 8, 9, 10, 11};
  const hp::topology_value octets = refused::two_levels(2, 8);
  EXPECT_TRUE(hp::account_of(p, hp::matrix384::device, hp::on_topology(octets)).times.total.ok());
  EXPECT_TRUE(hp::account_of(p, hp::matrix384::device, hp::on_topology(octets, {8, 8})).times.total.ok());
  const hp::step_account split = hp::account_of(p, hp::matrix384::device, hp::on_topology(octets, {8, apart}));
  EXPECT_EQ(split.hardware.topology.code, hp::topology_code::ranks_are_not_joined);
}

constexpr hp::full_mesh_value cube() {
  hp::full_mesh_value m;
  m.level_count = 4;
  for (int a = 0; a < 4; ++a) m.level[a] = {"axis", 2, (a + 1) * 20 * hp::gigabyte, hp::microsecond};
  return m;
}

// Programs of named strategies on 16 devices of a 4x4 and a 2x2x2x2 full mesh: all that travels is carried, and the
// busiest links along each axis are told.
TEST(step_account, is_of_full_meshes_too) {
  for (const char* name : {"dp", "zero3", "tp-sp", "dp-tp", "ring"}) {
    programs::stacked_model model;
    model.key_heads = model.query_heads = 16;
    model.batch = model.sequence = 16;
    const hp::strategy_result s = hp::strategy_called(name, 16);
    const hp::sharded_program p = hp::partition(model.build(), s.strategy);
    ASSERT_EQ(p.status, hp::strategy_status{}) << name;
    for (const hp::full_mesh_value& m : {refused::square(4, 4), cube()}) {
      const hp::step_account a = hp::account_of(p, hp::matrix384::device, hp::interconnect_of(m));
      ASSERT_TRUE(a.ok()) << name;
      EXPECT_GT(a.times.communication_busy, 0) << name;
      EXPECT_EQ(a.traffic.bytes, hp::traffic_of(p, hp::kinds_of_moves(p, hp::interconnect_of(m)), {}).bytes);
      hp::extent_t carried = 0;
      for (int l = 0; l < m.level_count; ++l) carried += a.traffic.by_level[l] * (m.level[l].group - 1);
      EXPECT_GT(carried, 0) << name;
      EXPECT_EQ(hp::link_count(a.links), m.level_count);
    }
    const hp::step_account small = hp::account_of(p, hp::matrix384::device, hp::interconnect_of(refused::square(2, 4)));
    EXPECT_EQ(small.hardware.topology, (hp::topology_status{hp::topology_code::ranks_are_not_joined, 0, 16, 8}));
  }
}

TEST(step_account, is_the_same_at_compile_time_and_at_run_time) {
  constexpr hp::step_account kept = account("zero3", 4);
  static_assert(kept.memory.peak > 0 && kept.times.total.ok());
  EXPECT_EQ(kept, account("zero3", 4));
}

}  // namespace
