// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/hardware_status.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

static_assert(hp::device_count(hp::supernode_8192_2d::topology) == 8192);
static_assert(hp::device_count(hp::supernode_8192_4d::topology) == 8192);
static_assert(hp::device_count(hp::supernode_15488_2d::topology) == 15488);
static_assert(hp::device_count(hp::supernode_15488_4d::topology) == 15488);
static_assert(hp::ascend_910b::device.matrix_flops[0] / hp::gigaflops == 294'912, "294.9 Tflop/s are published");

/// Published bandwidths beside each other: UB of an NPU's two dies against RoCE of an A2 server's NPU, and latencies of a hop.
static_assert(2 * hp::matrix384::topology.level[1].bandwidth == 392 * hp::gigabyte);
static_assert(hp::ascend_910b::topology.level[1].bandwidth == 25 * hp::gigabyte);
static_assert(hp::matrix384::topology.level[0].latency * 10 == hp::ascend_910b::topology.level[1].latency);

/// All links of a device together.
constexpr std::int64_t bandwidth_of(const hp::full_mesh_value& m) {
  std::int64_t sum = 0;
  for (int a = 0; a < m.level_count; ++a) sum += (m.level[a].group - 1) * m.level[a].bandwidth;
  return sum;
}

TEST(AscendPresets, AnNpusBandwidthIsDividedOverItsLinks) {
  for (const hp::supernode_shape s : {hp::supernode_shape{1, 128, 1, 64}, hp::supernode_shape{16, 8, 8, 8},
                                      hp::supernode_shape{16, 11, 11, 8}, hp::supernode_shape{1, 1, 1, 2}}) {
    const hp::full_mesh_value m = hp::detail::mesh_of_supernode(s, 1000 * hp::gigabyte);
    EXPECT_EQ(hp::device_count(m), s.npus());
    EXPECT_LE(bandwidth_of(m), 1000 * hp::gigabyte);
    EXPECT_GT(bandwidth_of(m), 999 * hp::gigabyte);
  }
}

/// Two dies an NPU: one more axis, and half of everything for each.
TEST(AscendPresets, DevicesOfAnNpuShareIt) {
  constexpr hp::supernode_shape dies{16, 8, 8, 8, 2}, npus{16, 8, 8, 8, 1};
  using of_dies = hp::supernode_of_950<dies>;
  using of_npus = hp::supernode_of_950<npus>;
  static_assert(hp::device_count(of_dies::topology) == 2 * 8192);
  static_assert(hp::check_hardware(of_dies::device, of_dies::topology, 2 * 8192).ok());
  EXPECT_EQ(2 * of_dies::device.tier[0].bytes, of_npus::device.tier[0].bytes);
  EXPECT_EQ(2 * of_dies::device.matrix_flops[0], of_npus::device.matrix_flops[0]);
  ASSERT_EQ(of_dies::topology.level_count, of_npus::topology.level_count + 1);
  for (int a = 0; a < of_npus::topology.level_count; ++a)
    EXPECT_EQ(of_dies::topology.level[a].bandwidth, of_npus::topology.level[a].bandwidth / 2);
  EXPECT_EQ(of_dies::topology.level[4].bandwidth, hp::ascend_910c_die::topology.level[0].bandwidth);
}

}  // namespace
