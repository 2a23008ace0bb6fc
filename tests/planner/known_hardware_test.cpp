// SPDX-License-Identifier: Apache-2.0
// Every preset can be, on all devices that its links join, and is found by its name alone.

#include <hyperparallel/planner/known_hardware.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(KnownHardware, EveryPresetCanBe) {
  std::set<std::string> names;
  for (const hp::known_hardware& h : hp::hardware_presets) {
    EXPECT_TRUE(names.insert(h.name.text).second) << h.name.text << " is there twice";
    EXPECT_EQ(hp::find_hardware(h.name.text), &h);
    const hp::link_level& outermost = hp::link_at(h.links, hp::link_count(h.links) - 1);
    const hp::extent_t devices = h.links.kind == hp::interconnect_kind::full_mesh ? hp::position_count(h.links.mesh)
                                 : outermost.group == hp::unbounded_group         ? 1 << 20
                                                                                  : outermost.group;
    EXPECT_EQ(hp::check_hardware(h.device, h.links, devices), hp::hardware_status{}) << h.name.text;
    EXPECT_GT(h.device.matrix_flops[0], 0) << h.name.text << " multiplies bf16";
    EXPECT_GT(h.device.matrix_flops[2], 0) << h.name.text << " multiplies f32, as norms of gradients do";
    for (int l = 0; l < hp::link_count(h.links); ++l) {
      EXPECT_LT(hp::link_at(h.links, l).bandwidth, h.device.tier[0].bandwidth) << h.name.text;
      EXPECT_NE(hp::link_at(h.links, l).name, hp::short_text()) << h.name.text;
    }
  }
}

// 192 CPUs of 384 GiB and 160 GB/s for the 768 dies of a supernode: a quarter of a CPU each.
TEST(KnownHardware, DiesOfASupernodeShareItsDram) {
  const hp::known_hardware& h = *hp::find_hardware("matrix384");
  const hp::device_value d = hp::device_in_pool(h);
  EXPECT_EQ(d.tier[1].bytes, 96 * hp::GiB);
  EXPECT_EQ(d.tier[1].bandwidth, 40 * hp::gigabyte);
  EXPECT_EQ(d.tier[0], h.device.tier[0]);
  const hp::known_hardware& alone = *hp::find_hardware("h100");
  EXPECT_EQ(hp::device_in_pool(alone), alone.device);
}

// What a device reports is less than it has, at least 95 %: the verdict of a plan is by that.
TEST(KnownHardware, DevicesReportLessThanTheyHave) {
  int reported = 0;
  for (const hp::known_hardware& h : hp::hardware_presets) {
    const hp::extent_t has = h.device.tier[0].bytes, usable = hp::reported_device(h).tier[0].bytes;
    EXPECT_LE(usable, has) << h.name.text;
    EXPECT_GT(usable, has / 100 * 95) << h.name.text;
    reported += h.reported_bytes > 0;
  }
  EXPECT_GE(reported, 6);
  EXPECT_EQ(hp::reported_device(*hp::find_hardware("ascend_910b")).tier[0].bytes, hp::GiB / 100 * 6097);
  EXPECT_EQ(hp::reported_device(*hp::find_hardware("b200")).tier[0].bytes, hp::GiB / 100 * 17840);
}

// Racks of 72 have 64 ranks each of 256, and 48 of 96; servers of eight keep what fills them. No rank is left out.
TEST(KnownHardware, RanksAreDealtEvenly) {
  const auto group = [](const char* name, hp::extent_t ranks) {
    return hp::dealt_evenly(hp::find_hardware(name)->links, ranks).topology.level[0].group;
  };
  EXPECT_EQ(group("gb200", 256), 64);
  EXPECT_EQ(group("gb300", 96), 48);
  EXPECT_EQ(group("gb200", 144), 72);
  EXPECT_EQ(group("gb200", 32), 72);
  EXPECT_EQ(group("gb200", 73), 72);
  EXPECT_EQ(group("h100", 12), 6);
  EXPECT_EQ(group("h100", 64), 8);
  for (const hp::known_hardware& h : hp::hardware_presets) {
    if (h.links.kind != hp::interconnect_kind::topology) continue;
    for (hp::extent_t ranks = 1; ranks < 600; ++ranks) {
      const int each = hp::dealt_evenly(h.links, ranks).topology.level[0].group, full = h.links.topology.level[0].group;
      EXPECT_LE(each, full);
      if (each != full) {
        EXPECT_EQ(ranks % each, 0);
        EXPECT_GT(2 * each, full);
      }
    }
  }
}

TEST(KnownHardware, UnknownNamesAreNotFound) {
  EXPECT_EQ(hp::find_hardware(""), nullptr);
  EXPECT_EQ(hp::find_hardware("h1000"), nullptr);
}

}  // namespace
