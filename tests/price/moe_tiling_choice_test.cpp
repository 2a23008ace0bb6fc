// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include <hyperparallel/price/moe_tiling_choice.hpp>

namespace hp = hyperparallel;

namespace {

const hp::device_value& die = hp::ascend_910c_die::device;

/// Sizes for each device, so that a layer exists at every degree of expert parallelism.
struct shape {
  int hidden, intermediate, local_experts, top_k, local_tokens;
};
constexpr shape shapes[] = {{7168, 2048, 8, 8, 4096},
                            {2048, 768, 16, 8, 8192},
                            {4096, 14336, 1, 2, 8192},
                            {7168, 2048, 8, 8, 1024},
                            {6144, 2560, 4, 4, 4096}};

constexpr hp::moe_layer layer_of(const shape& s, int devices) {
  return {s.hidden, s.intermediate, s.local_experts * devices, s.top_k, s.local_tokens * devices};
}

constexpr hp::moe_layer published = layer_of(shapes[0], 8);
constexpr hp::moe_tiling at_compile_time = hp::default_moe_tiling(published, 8, hp::ascend_910c_die::device);

TEST(MoeTilingChoice, TheClosedFormChoosesTheSameAtCompileTimeAndRunTime) {
  EXPECT_EQ(at_compile_time, hp::default_moe_tiling(published, 8, die));
  EXPECT_EQ(at_compile_time, hp::estimate_moe_tiling(published, 8, die, {}, {}).options.tiling);
}

TEST(MoeTilingChoice, TheClosedFormIsWithinTwoPerCentOfTheBestSimulatedCandidate) {
  double worst = 1, worst_elsewhere = 1;
  int held = 0, elsewhere = 0;
  const bool all = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  for (const shape& s : shapes)
    for (const hp::moe_scope scope : {hp::moe_scope::experts, hp::moe_scope::layer})
      for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward})
        for (const int devices : {1, 2, 4, 8, 16, 32}) {
          const hp::moe_layer layer = layer_of(s, devices);
          if (hp::check(layer, devices).code != hp::moe_code::ok) continue;
          if (!all && devices != 4 && devices != 8) continue;
          hp::moe_options base;
          base.scope = scope;
          base.pass = pass;
          base.even_exchange = scope == hp::moe_scope::experts;
          const hp::moe_tiling_choice chosen = hp::estimate_moe_tiling(layer, devices, die, {}, base);
          const hp::moe_tiling_choice best = hp::choose_moe_tiling(layer, devices, die, {}, base);
          const std::int64_t time = hp::simulate_moe_tiling(layer, devices, die, {}, chosen.options).result.makespan;
          const double ratio = static_cast<double>(time) / static_cast<double>(best.makespan);
          const hp::moe_estimate e = hp::estimate_moe_makespan(
              hp::make_moe_plan(layer, devices, 1, die, {}, chosen.options).plan, chosen.options);
          if (devices > 1 && e.matrix * 4 >= std::max(e.link, e.vector) * 7) {
            worst = std::max(worst, ratio);
            ++held;
            EXPECT_LE(ratio, 1.02) << s.hidden << " " << s.local_tokens << " on " << devices;
          } else {
            worst_elsewhere = std::max(worst_elsewhere, ratio);
            ++elsewhere;
          }
        }
  std::printf("closed form / best simulated: at most %.4f of %d where matrix cores decide, %.4f of %d elsewhere\n",
              worst, held, worst_elsewhere, elsewhere);
  EXPECT_GT(held, 10);
}

TEST(MoeTilingChoice, NoCandidateIsFasterThanTheChosenOneNorAsFastWithFewerTasks) {
  for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward}) {
    hp::moe_options base;
    base.pass = pass;
    hp::moe_tiling_candidates few;
    few.row_blocks = {2, {128, 256}};
    few.columns = {2, {256, 512}};
    few.weight_tiles = {1, {{1024, 512}}};
    const hp::moe_layer layer = layer_of(shapes[3], 4);
    const hp::moe_tiling_choice chosen = hp::choose_moe_tiling(layer, 4, die, {}, base, few);
    int seen = 0;
    hp::detail::for_each_tiling(layer, 4, base, few, [&](const hp::moe_options& o) {
      const hp::simulated_tiling run = hp::simulate_moe_tiling(layer, 4, die, {}, o);
      EXPECT_GE(o.tiling.row_block * o.tiling.down_columns, few.least_tile);
      EXPECT_GE(run.result.makespan, chosen.makespan);
      if (run.result.makespan == chosen.makespan) {
        EXPECT_GE(run.tasks, chosen.tasks);
      }
      ++seen;
    });
    EXPECT_EQ(seen, chosen.candidates);
    EXPECT_EQ(seen, pass == hp::moe_pass::forward ? 8 * 3 : 4 * 5);  // 3: upward ranks, two lags; 5: two orders each
    EXPECT_EQ(hp::simulate_moe_tiling(layer, 4, die, {}, chosen.options).result.makespan, chosen.makespan);
    hp::planned_flow flow(hp::moe_builder{hp::make_moe_plan(layer, 4, 1, die, {}, chosen.options).plan},
                          hp::moe_machine(chosen.options, 1), {chosen.options.policy, chosen.options.synchronisation});
    EXPECT_EQ(flow.verify().code, hp::verify_code::ok);
  }
}

TEST(MoeTilingChoice, CostDecidesWhereWeightGradientsRun) {
  hp::moe_options base;
  base.pass = hp::moe_pass::backward;
  base.scope = hp::moe_scope::experts;
  hp::moe_tiling_candidates orders;
  orders.row_blocks = {1, {128}};
  orders.columns = {1, {512}};
  orders.weight_tiles = {1, {{1024, 1024}}};
  orders.policies = {1, {hp::priority::reference_order}};
  const auto choose = [&](const hp::moe_layer& layer, std::int64_t bandwidth, std::int64_t cache) {
    const hp::device_value d = hp::with_bandwidth(die, hp::memory_kind::hbm, bandwidth);
    const hp::matmul_reuse reuse{d, {cache, hp::full_efficiency, 0}, 0};
    return hp::choose_moe_tiling(layer, 8, d, {}, base, orders, reuse).options.weight_gradients;
  };
  // Arithmetic decides at full size: last, for fillers hide the tail. Where an expert's rows fit into L2 and memory is
  // contended, the pair that shares them runs together.
  const hp::moe_layer fits{4096, 1536, 64, 8, 8 * 2048};
  EXPECT_EQ(choose(published, die.tier[0].bandwidth, die.l2_bytes), hp::weight_gradient_order::last);
  EXPECT_EQ(choose(fits, die.tier[0].bandwidth / 4, die.l2_bytes), hp::weight_gradient_order::interleaved);
}

TEST(MoeTilingChoice, RefusesALayerThatDoesNotDivide) {
  const hp::moe_layer odd{64, 32, 6, 2, 64};
  EXPECT_EQ(hp::choose_moe_tiling(odd, 4, die, {}, {}).layer.code, hp::moe_code::experts_do_not_divide_over_devices);
  EXPECT_EQ(hp::estimate_moe_tiling(odd, 4, die, {}, {}).layer.code, hp::moe_code::experts_do_not_divide_over_devices);
  hp::moe_tiling_candidates too_small;
  too_small.least_tile = 1 << 30;
  EXPECT_EQ(hp::choose_moe_tiling(published, 8, die, {}, {}, too_small).candidates, 0);
}

}  // namespace
