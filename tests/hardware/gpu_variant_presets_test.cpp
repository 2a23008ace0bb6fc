// SPDX-License-Identifier: Apache-2.0
// Published totals of servers and racks, and what a variant leaves as its base has it.

#include <hyperparallel/hardware/gpu_variant_presets.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/redistribution/interconnect.hpp>

namespace hp = hyperparallel;

namespace {

constexpr hp::device_value without_memory(hp::device_value d) {
  d.tier[0] = {};
  return d;
}
constexpr hp::device_value without_share(hp::device_value d) {
  d.gmm_cold = {};
  return without_memory(d);
}
static_assert(without_share(hp::h100_96gb::device) == without_share(hp::h100::device));
static_assert(hp::h100_96gb::device.gmm_cold.parts_per_million < hp::h100::device.gmm_cold.parts_per_million);
static_assert(hp::gb200::device.gmm_cold.parts_per_million < hp::gb300::device.gmm_cold.parts_per_million);
static_assert(without_memory(hp::mi325x::device) == without_memory(hp::mi300x::device));
static_assert(hp::a100_40gb::device.matrix_flops[0] == hp::a100::device.matrix_flops[0]);

// HGX B300: 2.3 TB. GB300 NVL72: 20 TB, 576 TB/s, 360 Pflop/s of sparse bf16. An MI355X platform: 20.1 Pflop/s in bf16, 2.3 TB.
static_assert(8 * hp::b300::device.tier[0].bytes / (100 * hp::GiB) == 23);
static_assert(72 * hp::gb300::device.tier[0].bytes / (1000 * hp::GiB) == 20);
static_assert(72 * hp::gb300::device.tier[0].bandwidth == 576 * hp::terabyte);
static_assert(72 * 2 * hp::gb300::device.matrix_flops[0] == 360'000 * hp::teraflops);
static_assert(8 * hp::mi355x::device.matrix_flops[0] / hp::teraflops == 20'132);
static_assert(8 * hp::mi355x::device.tier[0].bytes / (100 * hp::GiB) == 23);

template <class... Preset>
struct presets {};

TEST(GpuVariantPresets, CanBePricedOnAllDevicesThatTheirLinksJoin) {
  const auto check = []<class... P>(presets<P...>) {
    (..., [] { EXPECT_TRUE(hp::check_hardware(P::device, hp::interconnect_of(P::topology), 1024).ok()); }());
  };
  check(presets<hp::a100_40gb, hp::h100_96gb, hp::h20, hp::b300, hp::gb300, hp::mi325x, hp::mi355x>{});
}

// More memory of the same kind of device is not slower, and an H20 computes less than a sixth of an H100.
TEST(GpuVariantPresets, OrderOfRates) {
  EXPECT_LT(hp::a100_40gb::device.tier[0].bandwidth, hp::a100::device.tier[0].bandwidth);
  EXPECT_LT(hp::h100_96gb::device.tier[0].bandwidth, hp::h100::device.tier[0].bandwidth);
  EXPECT_GT(hp::h20::device.tier[0].bandwidth, hp::h100::device.tier[0].bandwidth);
  EXPECT_LT(6 * hp::h20::device.matrix_flops[0], hp::h100::device.matrix_flops[0]);
  EXPECT_GT(hp::mi325x::device.tier[0].bandwidth, hp::mi300x::device.tier[0].bandwidth);
  EXPECT_EQ(hp::b300::topology.level[1].bandwidth, 2 * hp::b200::topology.level[1].bandwidth);
}

}  // namespace
