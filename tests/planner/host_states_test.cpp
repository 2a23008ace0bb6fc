// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/host_states.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/memory_comparison.hpp>
#include <hyperparallel/planner/unrolled_pipeline.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

hp::extent_t held(const hp::plan_estimate& e, hp::memory_class c) { return e.held[static_cast<int>(c)]; }

constexpr hp::decoder_plan plan_of_eight(int pp, int zero) {
  return {.pp = pp,
          .dp = 8 / pp,
          .zero = zero,
          .micro_batches = 2,
          .recomputed = true,
          .formats = hp::find_formats("bf16")->formats,
          .batch = 16,
          .sequence = 4096};
}

// What leaves the device is on the host, and nothing else changes in memory; time is longer by what the host takes, shorter by what the
// device saves.
TEST(HostStates, LieOnTheDeviceOrOnTheHost) {
  const hp::decoder& d = hp::test::llama3_8b;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  for (const int pp : {1, 2})
    for (const int zero : {0, 1, 2, 3})
      for (const hp::optimizer_kind kind : {hp::optimizer_kind::adamw, hp::optimizer_kind::sgd}) {
        hp::decoder_plan p = plan_of_eight(pp, zero);
        p.optimizer = kind;
        const hp::plan_estimate all = hp::estimate_plan(d, p, prices);
        ASSERT_EQ(all.on_host, hp::host_update{});
        hp::extent_t before = all.time();
        for (const int share : {250, 1000}) {
          p.host_states = share;
          const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
          ASSERT_TRUE(e.ok());
          EXPECT_NEAR(static_cast<double>(held(e, hp::memory_class::states) + e.on_host.states),
                      static_cast<double>(held(all, hp::memory_class::states)), 1e4)
              << "rounded of each storage";
          EXPECT_NEAR(static_cast<double>(e.on_host.states),
                      static_cast<double>(held(all, hp::memory_class::states)) * share / 1000, 1e4);
          EXPECT_NEAR(static_cast<double>(all.memory() - e.memory()), static_cast<double>(e.on_host.states), 1e4);
          EXPECT_EQ(held(e, hp::memory_class::parameters), held(all, hp::memory_class::parameters));
          EXPECT_EQ(held(e, hp::memory_class::gradients), held(all, hp::memory_class::gradients));
          EXPECT_EQ(hp::plan_memory(d, p, prices).total(), e.evaluation.memory);
          EXPECT_EQ(e.received[0], all.received[0]) << "copies are over no link between devices";
          EXPECT_EQ(e.time(), all.time() + e.on_host.added());
          EXPECT_EQ(e.computing() + e.exposed() + e.on_host.time(), e.time());
          EXPECT_LE(e.least(), e.time());
          EXPECT_GT(e.time(), before) << "a host is slower";
          before = e.time();
        }
      }
}

// By address as by the account: of a plan, of the stages of a pipeline, and of all its stages as one plan.
TEST(HostStates, AreNoneOfTheAddresses) {
  hp::decoder d = small_decoders::dense();
  d.layers = 4;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  for (const int pp : {1, 2}) {
    hp::decoder_plan p{.pp = pp, .dp = 2, .zero = 1, .micro_batches = 2, .batch = 8, .sequence = 8};
    const hp::plan_estimate all = hp::estimate_plan(d, p, prices);
    const hp::simulated_plan whole = hp::simulate_plan(d, p, prices, hp::extent_t{1} << 30);
    const hp::unrolled_pipeline one = hp::unroll_pipeline(d, p, prices, hp::extent_t{1} << 30);
    p.host_states = 1000;
    const hp::simulated_plan s = hp::simulate_plan(d, p, prices, hp::extent_t{1} << 30);
    ASSERT_TRUE(whole.ok() && s.ok());
    EXPECT_EQ(s.times.makespan, whole.times.makespan);
    EXPECT_LT(s.bytes, whole.bytes);
    EXPECT_GT(s.bytes, 0);
    if (pp == 1) {
      EXPECT_EQ(whole.bytes - s.bytes, held(all, hp::memory_class::states));
    }
    // Within a memory that all states would not fit into.
    EXPECT_TRUE(hp::simulate_plan(d, p, prices, s.bytes).ok());
    p.host_states = 0;
    EXPECT_FALSE(hp::simulate_plan(d, p, prices, s.bytes).ok());
    if (pp == 1) continue;
    p.host_states = 1000;
    const hp::unrolled_pipeline without = hp::unroll_pipeline(d, p, prices, hp::extent_t{1} << 30);
    ASSERT_TRUE(one.ok() && without.ok());
    for (int stage = 0; stage < pp; ++stage) EXPECT_LT(without.bytes[stage], one.bytes[stage]);
  }
}

// ZeRO-Offload, 2101.06840: of 16 bytes a parameter, 2 of a parameter and 2 of its gradient are the device's, 12 of its master and of Adam's moments the
// host's, which has the gradient, too. With sums in 32 bits gradients have 4.
TEST(HostStates, AreThoseOfZeroOffload) {
  const hp::decoder& d = hp::test::llama3_8b;
  const hp::extent_t n = hp::parameters_of(d).total();
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p = plan_of_eight(1, 0);
  p.dp = p.micro_batches = 1;
  p.host_states = 1000;
  const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
  EXPECT_EQ(held(e, hp::memory_class::parameters), 2 * n);
  EXPECT_LE(held(e, hp::memory_class::gradients), 2 * n);
  EXPECT_EQ(held(e, hp::memory_class::states), 0);
  EXPECT_EQ(e.on_host.states, 12 * n);
  EXPECT_EQ(e.on_host.down, 2 * n);
  EXPECT_EQ(e.on_host.up, 2 * n);
  EXPECT_EQ(e.on_host.bytes, 14 * n);
  p.micro_batches = 2;
  EXPECT_EQ(hp::estimate_plan(d, p, prices).on_host.bytes, 16 * n);
  p.optimizer = hp::optimizer_kind::sgd;
  EXPECT_EQ(hp::estimate_plan(d, p, prices).on_host.bytes, 12 * n);
  p.formats = {};  // no masters: copies of parameters
  EXPECT_EQ(hp::estimate_plan(d, p, prices).on_host.bytes, 12 * n);
}

// Copies and update by hand, at 0.8 of 64 GB/s: a quarter of the states of a rank's eighth of the parameters.
TEST(HostStates, TakeTheTimeOfTheirBytes) {
  const hp::decoder& d = hp::test::llama3_8b;
  const double n = static_cast<double>(hp::parameters_of(d).total()) / 8 / 4;
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p = plan_of_eight(1, 1);
  p.host_states = 250;
  const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
  const double rate = 0.8 * 64e9 / 1e12, latency = 5e6;
  EXPECT_NEAR(static_cast<double>(e.on_host.copying), (4 + 2) * n / rate + 2 * latency, 1e6);
  EXPECT_NEAR(static_cast<double>(e.on_host.updating), (4 + 2 * 12 + 2) * n / rate, 1e6);
}

// Where they cannot be, or have no room.
TEST(HostStates, AreRefused) {
  const hp::decoder& d = hp::test::llama3_8b;
  hp::decoder_plan p = plan_of_eight(1, 1);
  p.host_states = 1001;
  EXPECT_EQ(hp::check_plan(d, p, 8).code, hp::decoder_plan_code::number_is_out_of_range);
  p.host_states = 1000;
  EXPECT_TRUE(hp::check_plan(d, p, 8).ok());
  hp::device_value device = hp::h100::device;
  const hp::memory_reserve reserve;
  hp::plan_prices prices(device, hp::h100::topology);
  EXPECT_EQ(hp::verdict_of(hp::estimate_plan(d, p, prices), reserve, device.tier[0].bytes), hp::fit_verdict::fits);
  device.tier[1].bytes = hp::GiB;
  hp::plan_prices small(device, hp::h100::topology);
  EXPECT_EQ(hp::verdict_of(hp::estimate_plan(d, p, small), reserve, device.tier[0].bytes),
            hp::fit_verdict::does_not_fit);
  device.tier_count = 1;
  hp::plan_prices without(device, hp::h100::topology);
  EXPECT_FALSE(hp::estimate_plan(d, p, without).ok());
  p.optimizer = hp::optimizer_kind::muon;
  EXPECT_EQ(hp::check_plan(d, p, 8).code, hp::decoder_plan_code::muon_on_the_host);
  p.optimizer = hp::optimizer_kind::adamw;
  p.zero = 3;
  EXPECT_EQ(hp::check_stack(d, p, *hp::find_stack("fsdp2")), hp::stack_code::updates_on_the_host);
  EXPECT_STREQ(hp::compare_with_megatron_2022(d, p, prices).degree, "states on the host");
}

}  // namespace
