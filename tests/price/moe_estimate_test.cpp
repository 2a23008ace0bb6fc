// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/price/moe_estimate.hpp>

namespace hp = hyperparallel;

namespace {

const hp::device_value& die = hp::ascend_910c_die::device;
constexpr hp::moe_layer full{7168, 2048, 64, 8, 8 * 4096};

constexpr hp::moe_estimate estimate(const hp::moe_layer& layer, int devices, const hp::device_value& d,
                                    const hp::moe_options& o) {
  return hp::estimate_moe_makespan(hp::make_moe_plan(layer, devices, 1, d, {}, o).plan, o);
}

// The same function in a constant expression; the published layer is bound by its matrix cores.
constexpr hp::moe_estimate published = estimate(full, 8, hp::ascend_910c_die::device, {});
static_assert(published.total() == published.matrix && published.matrix > published.link);
static_assert(published.total() > 9 * hp::millisecond && published.total() < 11 * hp::millisecond);

TEST(MoeEstimate, DealsAsTheGreedyListDoes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 5'000; ++round) {
    hp::detail::wave_front front;
    front.queues = 1 + static_cast<int>(random() % 48);
    std::int64_t free[64] = {};
    for (int q = 0; q < front.queues; ++q) front.free[q] = free[q] = static_cast<std::int64_t>(random() % 5'000);
    std::int64_t end = 0, longest = 0;
    for (int stage = 0; stage < 3; ++stage) {
      const int tiles = static_cast<int>(random() % 300);
      const std::int64_t duration = 64 * (1 + static_cast<std::int64_t>(random() % 40));
      front.deal(tiles, duration);
      if (tiles > 0) end = 0;
      for (int t = 0; t < tiles; ++t) {
        int first = 0;
        for (int q = 1; q < front.queues; ++q)
          if (free[q] < free[first]) first = q;
        free[first] += duration;
      }
      if (tiles > 0)
        for (int q = 0; q < front.queues; ++q) end = free[q] > end ? free[q] : end;
      longest = duration > longest ? duration : longest;
      // Exact in one stage up to the resolution; a tile dealt otherwise moves a later stage by less than a tile.
      EXPECT_LE(std::abs(front.end - end), stage == 0 ? duration / 64 + 1 : longest) << round;
    }
  }
}

TEST(MoeEstimate, HoldsTheWorkOfEveryPool) {
  for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward})
    for (const hp::moe_scope scope : {hp::moe_scope::experts, hp::moe_scope::layer})
      for (const bool even : {false, true})
        for (const int rows : {64, 128, 256}) {
          hp::moe_options o;
          o.pass = pass;
          o.scope = scope;
          o.even_exchange = even;
          o.tiling.row_block = rows;
          o.synchronisation = 0;
          const hp::moe_estimate e = estimate(full, 8, die, o);
          const hp::moe_builder build{hp::make_moe_plan(full, 8, 1, die, {}, o).plan};
          hp::planned_flow f(build, hp::moe_machine(o, 1), {o.policy, o.synchronisation});
          const hp::simulated_figures r = f.simulate();
          const auto busy = [&](hp::resource kind) { return r.result.busy[static_cast<int>(kind)]; };
          EXPECT_GE(e.matrix, busy(hp::resource::aic) / o.matrix_queues);
          EXPECT_GE(e.link, busy(hp::resource::link));
          EXPECT_GE(e.total(), e.matrix);
          EXPECT_GE(e.total(), e.link);
          EXPECT_GE(e.total(), e.vector);
        }
}

TEST(MoeEstimate, IsWithinTwoPerCentOfTheSimulationAtPublishedSizes) {
  double worst = 0;
  for (const int devices : {4, 8, 16})
    for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward})
      for (const hp::moe_scope scope : {hp::moe_scope::experts, hp::moe_scope::layer}) {
        const hp::moe_layer layer{7168, 2048, 8 * devices, 8, devices * 4096};
        hp::moe_options o;
        o.pass = pass;
        o.scope = scope;
        const hp::moe_estimate e = estimate(layer, devices, die, o);
        hp::planned_flow f(hp::moe_builder{hp::make_moe_plan(layer, devices, 1, die, {}, o).plan},
                           hp::moe_machine(o, 1), {o.policy, o.synchronisation});
        const double error = static_cast<double>(e.total()) / static_cast<double>(f.simulate().result.makespan) - 1;
        worst = std::abs(error) > std::abs(worst) ? error : worst;
      }
  std::printf("worst error of the estimate: %+.4f\n", worst);
  EXPECT_LE(std::abs(worst), 0.02);
}

TEST(MoeEstimate, OfTinyTilesIsThePoolsBound) {
  hp::device_value d = die;
  d.task_overhead = 0;
  hp::moe_options o;
  o.scope = hp::moe_scope::experts;
  o.even_exchange = true;
  o.synchronisation = 0;
  o.tiling.row_block = 16;
  o.tiling.gate_up_columns = o.tiling.down_columns = 64;
  const double work = static_cast<double>(
      then(hp::matmul_time(d, 32768, 4096, 7168, d.gmm_warm, 24), hp::matmul_time(d, 32768, 7168, 2048, d.gmm_warm, 24))
          .picoseconds);
  EXPECT_NEAR(static_cast<double>(estimate(full, 8, d, o).total()) / work, 1, 0.002);
}

}  // namespace
