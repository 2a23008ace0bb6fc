// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <hyperparallel/lowering/moe_vector_queues.hpp>
#include <hyperparallel/price/moe_tiling_choice.hpp>

namespace hp = hyperparallel;

namespace {

const hp::device_value& die = hp::ascend_910c_die::device;
constexpr hp::vector_saturation half = hp::ascend_910c_die::saturation;
constexpr hp::moe_layer published{7168, 2048, 64, 8, 8 * 4096};

// The published executor's choice, here from the saturation point: 24 of 48 AIVs at each side.
constexpr hp::moe_vector_queues chosen =
    hp::choose_moe_vector_queues(published, 8, hp::ascend_910c_die::device, half, {}, {});
static_assert(chosen.split.communication == 24 && chosen.options.vector_queues == 24);
static_assert(chosen.device.tier[0].reached == hp::ascend_910c_die::device.tier[0].reached);
static_assert(chosen.fit == hp::expert_all_to_all_fit{});

std::int64_t simulated(const hp::moe_layer& layer, int devices, const hp::moe_vector_queues& q) {
  return hp::simulate_moe_tiling(layer, devices, q.device, q.fit, q.options).result.makespan;
}

/// Worst ratio of the chosen split over the best of all, by simulation.
double worst_against_all_splits(const hp::vector_saturation& at) {
  double worst = 1;
  for (const hp::moe_layer& one : {hp::moe_layer{7168, 2048, 8, 8, 1024}, hp::moe_layer{2048, 768, 16, 8, 4096},
                                   hp::moe_layer{7168, 256, 8, 8, 1024}, hp::moe_layer{1024, 4096, 8, 2, 4096}})
    for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward})
      for (const bool even : {false, true}) {
        const int devices = 4;
        const hp::moe_layer layer{one.hidden, one.intermediate, one.experts * devices, one.top_k, one.tokens * devices};
        hp::moe_options o;
        o.pass = pass;
        o.even_exchange = even;
        o.scope = hp::moe_scope::experts;
        o.tiling.row_block = 128;
        const hp::moe_vector_queues q = hp::choose_moe_vector_queues(layer, devices, die, at, {}, o);
        EXPECT_EQ(q.split.communication + q.split.vector, die.aiv);
        std::int64_t best = INT64_MAX;
        for (int n = 1; n < die.aiv; ++n)
          best = std::min(best, simulated(layer, devices, hp::split_moe_queues(die, at, {}, o, n)));
        worst = std::max(worst, static_cast<double>(simulated(layer, devices, q)) / static_cast<double>(best));
      }
  return worst;
}

TEST(MoeVectorQueues, AtTheMeasuredSaturationNoSplitIsOnePerCentFaster) {
  const double worst = worst_against_all_splits(half);
  std::printf("chosen / best split: at most %.4f\n", worst);
  EXPECT_LE(worst, 1.01);
}

TEST(MoeVectorQueues, ElsewhereTheSplitStaysNearTheBest) {
  const double worst = std::max(worst_against_all_splits({32, 32}), worst_against_all_splits({40, 12}));
  std::printf("chosen / best split at other saturations: at most %.4f\n", worst);
  EXPECT_LE(worst, 1.15);
}

TEST(MoeVectorQueues, FewerCoresThanSaturateMakeASideSlower) {
  for (int n = 1; n < die.aiv; ++n) {
    const hp::moe_vector_queues q = hp::split_moe_queues(die, half, {}, {}, n);
    EXPECT_EQ(q.fit.bandwidth, hp::expert_all_to_all_fit{}.bandwidth * std::min(n, 24) / 24);
    EXPECT_EQ(q.device.tier[0].reached.parts_per_million,
              die.tier[0].reached.parts_per_million * std::min(die.aiv - n, 24) / 24);
    EXPECT_EQ(hp::check(q.device), hp::device_status{});
  }
}

TEST(MoeVectorQueues, OneDeviceSendsNothing) {
  const hp::moe_layer alone{7168, 2048, 8, 8, 4096};
  const hp::moe_vector_queues q = hp::choose_moe_vector_queues(alone, 1, die, half, {}, {});
  EXPECT_EQ(q.split.communication, 0);
  EXPECT_EQ(q.options.vector_queues, die.aiv);
  EXPECT_EQ(q.fit, hp::expert_all_to_all_fit{});
}

TEST(MoeVectorQueues, NamesWhatIsWrong) {
  EXPECT_EQ(hp::choose_moe_vector_queues(published, 8, die, {0, 24}, {}, {}).split.time.code,
            hp::cost_code::count_is_not_positive);
}

}  // namespace
