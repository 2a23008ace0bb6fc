// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/plan_bounds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/planner/legal_plans.hpp>
#include <hyperparallel/planner/neighbours.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

using small_decoders::real;

constexpr hp::full_mesh_value square() {
  hp::full_mesh_value m;
  m.level_count = 2;
  m.level[0] = {"column", 4, 20 * hp::gigabyte, hp::microsecond};
  m.level[1] = {"row", 4, 50 * hp::gigabyte, hp::microsecond};
  return m;
}

// Plans of 16 devices of a full mesh, whose products fill tiles or do not: the bound takes all private links at once, and
// operations without what tiles waste.
TEST(PlanBounds, NeverExceedTheEstimateOnAFullMesh) {
  int plans = 0;
  for (const hp::decoder& small : small_decoders::all()) {
    const hp::decoder d = real(small);
    hp::plan_prices prices(hp::h100::device, square());
    const hp::decoder_plan from{.zero = 1, .micro_batches = 2, .batch = 64, .sequence = 8192};
    hp::detail::visit_legal_degrees(d, from, 16, [&](const hp::decoder_plan& p) {
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      ASSERT_TRUE(e.ok());
      ASSERT_LE(hp::time_bound(d, p, prices), e.evaluation.time) << "tp " << p.tp << " pp " << p.pp;
      ++plans;
    });
  }
  EXPECT_GT(plans, 50);
}

// Every plan of 16 devices: never above what the account says, and close to it for some.
TEST(PlanBounds, NeverExceedTheEstimate) {
  int plans = 0;
  double closest_time = 0, closest_memory = 0;
  std::vector<hp::decoder> decoders = small_decoders::all();
  decoders.push_back(small_decoders::grouped());
  decoders.back().attention.window = 1000;
  decoders.back().first_windowed = 2;
  for (const hp::decoder& small : decoders)
    for (const bool large : {false, true}) {
      hp::decoder d = large ? real(small) : small;
      if (small.attention.window > 0) d.attention.window = large ? 1000 : 10;
      hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
      for (const hp::extent_t devices : {1, 4, 16})
        for (const int micro_batches : {1, 4})
          for (const int zero : {0, 1, 2, 3})
            for (const int options : {0, 1, 2, 3}) {
              const hp::decoder_plan from{.zero = zero,
                                          .micro_batches = micro_batches,
                                          .recomputed = options % 2 == 1,
                                          .sequence_parallel = options >= 2,
                                          .batch = 64,
                                          .sequence = large ? 8192 : 48};
              hp::detail::visit_legal_degrees(d, from, devices, [&](const hp::decoder_plan& p) {
                const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
                ASSERT_TRUE(e.ok());
                const hp::extent_t time = hp::time_bound(d, p, prices), memory = hp::memory_bound(d, p);
                ASSERT_LE(time, e.evaluation.time)
                    << "tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " cp " << p.cp << " ep " << p.ep << " zero "
                    << p.zero << " again " << p.recomputed << " sp " << p.sequence_parallel << " experts "
                    << d.has_experts << " large " << large;
                ASSERT_LE(memory, e.evaluation.memory)
                    << "tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " zero " << p.zero;
                ++plans;
                closest_time =
                    std::max(closest_time, static_cast<double>(time) / static_cast<double>(e.evaluation.time));
                closest_memory =
                    std::max(closest_memory, static_cast<double>(memory) / static_cast<double>(e.evaluation.memory));
              });
              if (testing::Test::HasFatalFailure()) return;
            }
    }
  EXPECT_GT(plans, 1000);
  EXPECT_GT(closest_time, 0.7);
  EXPECT_GT(closest_memory, 0.7);
}

// SGD and Muon: of states the bound has what a device has at least, cut as if matrices could be. On a host states are none of its memory, and
// an update there takes no time of the bound.
TEST(PlanBounds, NeverExceedTheEstimateUnderOtherOptimizers) {
  int plans = 0;
  for (const hp::decoder& small : small_decoders::all())
    for (const bool large : {false, true}) {
      const hp::decoder d = large ? real(small) : small;
      hp::plan_prices prices(hp::h100::device, hp::h100::topology);
      for (const hp::optimizer_kind kind :
           {hp::optimizer_kind::adamw, hp::optimizer_kind::sgd, hp::optimizer_kind::muon})
        for (const char* formats : {"f32", "bf16", "bf16_states8", "fp8_weights8"})
          for (const int zero : {0, 1, 2, 3}) {
            const hp::decoder_plan from{.zero = zero,
                                        .micro_batches = zero % 2 == 0 ? 1 : 2,
                                        .optimizer = kind,
                                        .host_states = kind == hp::optimizer_kind::muon    ? 0
                                                       : kind == hp::optimizer_kind::adamw ? 1000
                                                                                           : 250 * zero,
                                        .formats = hp::find_formats(formats)->formats,
                                        .batch = 32,
                                        .sequence = large ? 8192 : 48};
            hp::detail::visit_legal_degrees(d, from, 4, [&](const hp::decoder_plan& p) {
              const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
              ASSERT_TRUE(e.ok());
              ASSERT_LE(hp::time_bound(d, p, prices), e.time())
                  << hp::name_of(kind) << " " << formats << " tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " cp "
                  << p.cp << " ep " << p.ep << " zero " << p.zero << " large " << large;
              ASSERT_LE(hp::memory_bound(d, p), e.evaluation.memory)
                  << hp::name_of(kind) << " " << formats << " tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " cp "
                  << p.cp << " ep " << p.ep << " zero " << p.zero << " large " << large;
              ++plans;
            });
            if (testing::Test::HasFatalFailure()) return;
          }
    }
  EXPECT_GT(plans, 1000);
}

// Experts along tp, cp and both.
TEST(PlanBounds, NeverExceedTheEstimateWithExpertsAlongOtherDegrees) {
  int plans = 0;
  for (const hp::decoder& small : small_decoders::all()) {
    if (!small.has_experts) continue;
    const hp::decoder d = real(small);
    hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
    for (const int zero : {0, 1, 3})
      for (const int along : {1, 2, 3})
        for (const bool recomputed : {false, true}) {
          const hp::decoder_plan from{
              .zero = zero, .micro_batches = 2, .recomputed = recomputed, .batch = 64, .sequence = 8192};
          hp::detail::visit_legal_degrees(d, from, 16, [&](hp::decoder_plan p) {
            p.experts_along_tp = along % 2 == 1;
            p.experts_along_cp = along >= 2;
            if (!hp::check_plan(d, p, 16).ok()) return;
            const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
            ASSERT_TRUE(e.ok());
            ASSERT_LE(hp::time_bound(d, p, prices), e.evaluation.time)
                << "tp " << p.tp << " cp " << p.cp << " ep " << p.ep << " zero " << zero << " along " << along;
            ASSERT_LE(hp::memory_bound(d, p), e.evaluation.memory)
                << "tp " << p.tp << " cp " << p.cp << " ep " << p.ep << " zero " << zero << " along " << along;
            ++plans;
          });
          if (testing::Test::HasFatalFailure()) return;
        }
  }
  EXPECT_GT(plans, 200);
}

/// A model of random sizes: one of each family, of published ones fewer layers.
hp::decoder random_decoder(std::mt19937& random) {
  const auto one_of = [&](std::initializer_list<hp::extent_t> of) { return of.begin()[random() % of.size()]; };
  hp::decoder d;
  if (random() % 4 == 0) {
    const hp::decoder published[] = {hp::test::deepseek_v3, hp::test::qwen3_30b_a3b, hp::test::qwen15_moe,
                                     hp::test::gpt_oss_20b, hp::test::qwen3_next};
    d = published[random() % 5];
    d.layers = one_of({2, 4, 5});
    return d;
  }
  const std::vector<hp::decoder> small = small_decoders::all();
  d = small[random() % small.size()];
  d.layers = one_of({1, 2, 3, 4, 5, 8});
  d.vocabulary = one_of({1024, 32000});
  d.hidden = one_of({64, 512, 4096, 7168});
  d.attention.query_heads = one_of({8, 32});
  d.attention.key_heads = one_of({2, 8});
  d.attention.head_dim = one_of({16, 128});
  d.linear = {.key_heads = one_of({2, 8}),
              .value_heads = one_of({8, 32}),
              .key_dim = one_of({16, 128}),
              .value_dim = one_of({16, 128})};
  d.feed_forward.width = one_of({128, 2048, 14336});
  d.experts.experts = one_of({8, 16, 64, 256});
  d.experts.top_k = one_of({1, 2, 8});
  d.experts.width = one_of({64, 512, 2048});
  if (d.experts.shared_width > 0) d.experts.shared_width = one_of({64, 8192});
  d.experts.slots = static_cast<hp::expert_slots>(random() % 3);
  d.experts.capacity_factor = static_cast<double>(one_of({2, 4, 5, 8})) / 4;
  if (d.has_latents)
    d.latent_attention = {.heads = one_of({8, 32}),
                          .head_dim = one_of({16, 128}),
                          .rope_dim = one_of({16, 64}),
                          .value_dim = one_of({16, 128}),
                          .query_rank = one_of({0, 64, 1536}),
                          .key_value_rank = one_of({64, 512})};
  if (d.attention.window > 0) d.attention.window = one_of({5, 100, 1000});
  return d;
}

/// Hardware whose links are up to 1000 times slower, so that what is received decides in some plans.
hp::plan_prices random_prices(std::mt19937& random) {
  hp::device_value device = hp::matrix384::device;
  hp::interconnect net = hp::interconnect_of(hp::matrix384::topology);
  switch (random() % 4) {
    case 0:
      device = hp::h100::device;
      net = hp::interconnect_of(hp::h100::topology);
      break;
    case 1:
      device = hp::generic_host::device;
      net = hp::interconnect_of(hp::generic_host::topology);
      break;
    case 2:
      net = hp::interconnect_of(
          hp::detail::mesh_of_supernode({.rack_columns = 2, .rows = 4, .columns = 8}, 400 * hp::gigabyte));
      break;
    default:
      break;
  }
  const hp::extent_t slower[] = {1, 1, 10, 30, 100, 1000};
  const hp::extent_t times = slower[random() % 6];
  const bool immediate = random() % 4 == 0;
  if (immediate) device.task_overhead = 0;
  for (int l = 0; l < hp::link_count(net); ++l) {
    hp::link_level& level = net.kind == hp::interconnect_kind::topology ? net.topology.level[l] : net.along[l];
    level.bandwidth /= times;
    if (immediate) level.latency = 0;
  }
  return {device, net};
}

// Random plans of random models, of experts with each kind of slots, on random hardware.
TEST(PlanBounds, NeverExceedTheEstimateOfRandomPlans) {
  const int asked = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 40000 : 1000;
  std::mt19937 random(11);
  double closest_experts = 0;
  for (int plans = 0; plans < asked;) {
    const hp::decoder d = random_decoder(random);
    hp::plan_prices prices = random_prices(random);
    const hp::plan_question q{.devices = hp::extent_t{1} << random() % 7,
                              .batch = hp::extent_t{16} << random() % 4,
                              .sequence = random() % 2 == 0 ? 48 : hp::extent_t{128} << random() % 6};
    std::vector<hp::decoder_plan> legal;
    hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) { legal.push_back(p); });
    for (int i = 0; i < 10 && !legal.empty(); ++i, ++plans) {
      const hp::decoder_plan& p = legal[random() % legal.size()];
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      if (!e.ok()) continue;
      const hp::extent_t time = hp::time_bound(d, p, prices);
      ASSERT_LE(time, e.evaluation.time) << "plan " << plans << " tp " << p.tp << " pp " << p.pp << " dp " << p.dp
                                         << " cp " << p.cp << " ep " << p.ep << " zero " << p.zero << " again "
                                         << p.recomputed << " sp " << p.sequence_parallel << " experts "
                                         << d.has_experts << " latents " << d.has_latents << " slots "
                                         << static_cast<int>(d.experts.slots);
      ASSERT_LE(hp::memory_bound(d, p), e.evaluation.memory)
          << "plan " << plans << " tp " << p.tp << " pp " << p.pp << " zero " << p.zero << " again " << p.recomputed;
      if (d.has_experts)
        closest_experts = std::max(closest_experts, static_cast<double>(time) / static_cast<double>(e.evaluation.time));
    }
  }
  EXPECT_GT(closest_experts, 0.8);
}

// DeepSeek-V3, whose slots travel: the plans that a search has to tell apart are those with the least bounds.
TEST(PlanBounds, AreCloseWhereExpertsAreParallel) {
  const hp::decoder& d = hp::test::deepseek_v3;
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::decoder_plan p{.dp = 16, .ep = 32, .zero = 3, .recomputed = true, .batch = 2048, .sequence = 4096};
  const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
  ASSERT_TRUE(e.ok());
  const double time = static_cast<double>(hp::time_bound(d, p, prices)) / static_cast<double>(e.evaluation.time),
               memory = static_cast<double>(hp::memory_bound(d, p)) / static_cast<double>(e.evaluation.memory);
  EXPECT_LE(time, 1);
  EXPECT_GT(time, 0.8);
  EXPECT_LE(memory, 1);
  EXPECT_GT(memory, 0.6);
}

}  // namespace
