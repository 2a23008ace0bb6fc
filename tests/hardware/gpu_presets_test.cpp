// SPDX-License-Identifier: Apache-2.0
// Published totals of servers and racks, from the presets of one GPU.

#include <hyperparallel/hardware/gpu_presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

// DGX B200: 72 Pflop/s of sparse fp8, 1.4 TB, 64 TB/s. GB200 NVL72: 360 Pflop/s of sparse bf16, 13.4 TB, 576 TB/s, 130 TB/s.
static_assert(8 * 4 * hp::b200::device.matrix_flops[0] == 72'000 * hp::teraflops);
static_assert(8 * hp::b200::device.tier[0].bytes == 1440 * hp::GiB);
static_assert(8 * hp::b200::device.tier[0].bandwidth == 64 * hp::terabyte);
static_assert(72 * 2 * hp::gb200::device.matrix_flops[0] == 360'000 * hp::teraflops);
static_assert(72 * hp::gb200::device.tier[0].bytes / (1000 * hp::GiB) == 13);
static_assert(72 * hp::gb200::device.tier[0].bandwidth == 576 * hp::terabyte);
static_assert(72 * 2 * hp::gb200::topology.level[0].bandwidth / hp::terabyte == 129);

constexpr hp::device_value without_doubles(hp::device_value d) {
  d.matrix_flops[4] = d.vector_flops_f64 = 0;
  return d;
}

// H200 and H800 are an H100 with one thing changed, and no rate of doubles on an H800.
constexpr hp::device_value without_memory(hp::device_value d) {
  d.tier[0] = {};
  return d;
}
static_assert(without_memory(hp::h200::device) == without_memory(hp::h100::device));
static_assert(hp::h200::topology == hp::h100::topology && without_doubles(hp::h100::device) == hp::h800::device);

// A large message reaches what NCCL's authors state, a small one half of it: 230 of 300 GB/s, 370 of 450, 24 of 25.
constexpr double gigabytes_a_second(const hp::link_level& level, std::int64_t bytes) {
  return static_cast<double>(bytes) / 1e9 /
         (static_cast<double>(hp::detail::occupied_time(level, 1, bytes, 1).picoseconds) / 1e12);
}
constexpr bool is_about(double value, double expected) { return value > 0.998 * expected && value < 1.002 * expected; }
static_assert(is_about(gigabytes_a_second(hp::a100::topology.level[0], hp::GiB), 230));
static_assert(is_about(gigabytes_a_second(hp::h100::topology.level[0], hp::GiB), 370));
static_assert(is_about(gigabytes_a_second(hp::h100::topology.level[0], hp::KiB), 185));
static_assert(is_about(gigabytes_a_second(hp::h800::topology.level[0], hp::GiB), 160));
static_assert(is_about(gigabytes_a_second(hp::a100::topology.level[1], hp::GiB), 24));

TEST(GpuPresets, SlowerLinksAreSlower) {
  const std::int64_t bytes = 100 * hp::megabyte;
  for (int peer : {1, 8}) {
    const std::int64_t fast = hp::transfer_time(hp::h100::topology, 0, peer, bytes).picoseconds;
    const std::int64_t pcie = hp::transfer_time(hp::a100_pcie::topology, 0, peer, bytes).picoseconds;
    const std::int64_t ethernet = hp::transfer_time(hp::l40s_ethernet::topology, 0, peer, bytes).picoseconds;
    EXPECT_LT(fast, pcie);
    EXPECT_LE(pcie, ethernet);
  }
}

}  // namespace
