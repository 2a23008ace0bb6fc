// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/full_mesh.hpp>
#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

constexpr hp::full_mesh_value mesh(int x, int y, std::int64_t bandwidth = 1000, std::int64_t latency = 7) {
  hp::full_mesh_value m;
  m.level_count = 2;
  m.level[0] = {"column", x, bandwidth, latency};
  m.level[1] = {"row", y, 2 * bandwidth, latency};
  return m;
}

static_assert(hp::device_count(mesh(3, 4)) == 12);
static_assert(hp::check(mesh(3, 4)) == hp::topology_status{});
static_assert(hp::check(mesh(1, 4, 0, 7)).code == hp::topology_code::bandwidth_is_not_positive);

TEST(FullMesh, EachNumberThatCannotBeIsNamed) {
  using code = hp::topology_code;
  EXPECT_EQ(hp::check(hp::full_mesh_value{}), (hp::topology_status{code::level_count_is_out_of_range, 0, 0, 1}));
  hp::full_mesh_value m = mesh(3, 4);
  m.level_count = 7;
  EXPECT_EQ(hp::check(m), (hp::topology_status{code::level_count_is_out_of_range, 0, 7, 6}));
  EXPECT_EQ(hp::check(mesh(3, 0)), (hp::topology_status{code::axis_has_no_device, 1, 0, 1}));
  EXPECT_EQ(hp::check(mesh(1 << 20, 1 << 20)),
            (hp::topology_status{code::mesh_has_too_many_devices, 1, 1 << 20, 1 << 10}));
  EXPECT_EQ(hp::check(mesh(2, 2, 0)), (hp::topology_status{code::bandwidth_is_not_positive, 0, 0, 1}));
  EXPECT_EQ(hp::check(mesh(2, 2, 1, -3)), (hp::topology_status{code::latency_is_negative, 0, -3, 0}));
  m = mesh(1, 4);
  m.level[0].bandwidth = 0;
  EXPECT_EQ(hp::check(m), hp::topology_status{}) << "an axis of one device has no links";
}

/// Every pair of ranks: one message a hop, the axes along which they differ one after the other.
TEST(FullMesh, AMessageGoesAlongOneAxisAfterTheOther) {
  const hp::full_mesh_value m = mesh(3, 4);
  for (int from = 0; from < 12; ++from)
    for (int to = 0; to < 12; ++to) {
      hp::time_cost expected;
      if (from % 4 != to % 4) expected = hp::then(expected, hp::transfer_time(m.level[1], 500));
      if (from / 4 != to / 4) expected = hp::then(expected, hp::transfer_time(m.level[0], 500));
      EXPECT_EQ(hp::transfer_time(m, from, to, 500), expected);
    }
  EXPECT_EQ(hp::transfer_time(m, 0, 12, 1).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::transfer_time(m, 0, 1, -1).code, hp::cost_code::amount_is_negative);
}

TEST(FullMesh, JoinsItsDevicesAndNoOthers) {
  const hp::device_value& d = hp::matrix384::device;
  EXPECT_TRUE(hp::check_hardware(d, mesh(3, 4), 12).ok());
  EXPECT_EQ(hp::check_hardware(d, mesh(3, 4), 13).topology,
            (hp::topology_status{hp::topology_code::ranks_are_not_joined, 0, 13, 12}));
  EXPECT_FALSE(hp::check_hardware(d, mesh(3, 4), 0).ok()) << "no device";
}

}  // namespace
