// SPDX-License-Identifier: Apache-2.0
// Hardware of a program: every preset can be, and each half is asked.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

template <class Preset>
class HardwareStatus : public testing::Test {};
using presets = testing::Types<hp::ascend_910c_die, hp::matrix384, hp::generic_host>;
TYPED_TEST_SUITE(HardwareStatus, presets);

TYPED_TEST(HardwareStatus, APresetCanBe) {
  constexpr hp::topology_value links = TypeParam::topology;
  static_assert(hp::check_hardware(TypeParam::device, links) == hp::hardware_status{});
  const int group = links.level[links.level_count - 1].group;
  const int devices = group == hp::unbounded_group ? 1 << 20 : group;
  EXPECT_EQ(hp::check_hardware(TypeParam::device, links, devices), hp::hardware_status{});
}

TYPED_TEST(HardwareStatus, BothHalvesAreAsked) {
  hp::device_value d = TypeParam::device;
  hp::topology_value t = TypeParam::topology;
  d.gmm_cold = {};
  EXPECT_EQ(hp::check_hardware(d, t).device, hp::check(d));
  EXPECT_FALSE(hp::check_hardware(d, t).ok());
  t.level[0].bandwidth = 0;
  EXPECT_EQ(hp::check_hardware(TypeParam::device, t).topology, hp::check(t));
  EXPECT_EQ(hp::check_hardware(d, t), (hp::hardware_status{hp::check(d), hp::check(t)}));
  EXPECT_EQ(hp::check_hardware(d, hp::topology_value{}).topology.code, hp::topology_code::level_count_is_out_of_range);
}

TEST(HardwareSpan, LinksThatLeaveDevicesApartAreRefused) {
  const hp::device_value& d = hp::ascend_910c_die::device;
  const hp::topology_value& pair = hp::ascend_910c_die::topology;
  EXPECT_TRUE(hp::check_hardware(d, pair, 2).ok());
  EXPECT_EQ(hp::check_hardware(d, pair, 8).topology,
            (hp::topology_status{hp::topology_code::ranks_are_not_joined, 0, 8, 2}));
  EXPECT_TRUE(hp::check_hardware(d, pair, 6, 7).ok());
  EXPECT_FALSE(hp::check_hardware(d, pair, 5, 6).ok());
  EXPECT_FALSE(hp::check_hardware(d, pair, 0).ok()) << "no device";
}

}  // namespace
