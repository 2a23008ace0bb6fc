// SPDX-License-Identifier: Apache-2.0
// Hardware reads as data sheets do; every verdict has a sentence.

#include <hyperparallel/report/format_hardware.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(format_hardware, golden) {
  const hp::memory_tier tier{hp::hbm, 64 * hp::GiB, 1600 * hp::gigabyte, hp::per_mille(864), 2 * hp::microsecond};
  EXPECT_EQ(fmt::format("{}", tier), "HBM 64.0 GiB at 1.6 TB/s (86.40 % reached), latency 2.000 us");
  hp::device_value d;
  d.aic = 24;
  d.aiv = 48;
  d.matrix_flops[0] = 376 * hp::teraflops;
  d.tier_count = 1;
  d.tier[0] = tier;
  d.tier[0].bytes = hp::capacity_not_stated;
  EXPECT_EQ(fmt::format("{}", d),
            "24 AIC, 48 AIV, bf16 376.0 Tflop/s; HBM of unstated size at 1.6 TB/s (86.40 % reached), latency 2.000 us");
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"SIO", 2, 270 * hp::gigabyte, 200 * hp::nanosecond};
  t.level[1] = {"UB", hp::unbounded_group, 196 * hp::gigabyte, 1 * hp::microsecond};
  EXPECT_EQ(fmt::format("{}", t),
            "SIO over 2 ranks: 270.0 GB/s, latency 200.000 ns; UB over all ranks: 196.0 GB/s, latency 1.000 us");
  EXPECT_EQ(fmt::format("{}", hp::transfer_time(t, 0, 2, 196'000)), "2.000 us");
  t.level[0].by_size[0] = {64 * hp::KiB, hp::per_mille(400)};
  t.level[0].by_size[1] = {hp::MiB, hp::per_mille(800)};
  EXPECT_EQ(fmt::format("{}", t.level[0]),
            "SIO over 2 ranks: 270.0 GB/s, latency 200.000 ns, reached 40.00 % of messages of 64.0 KiB, 80.00 % of "
            "messages of 1.0 MiB");
  EXPECT_EQ(fmt::format("{}", hp::transfer_time(t, 0, 2, -1)), "an amount is negative");
}

TEST(format_hardware, has_a_sentence_for_every_code) {
  std::set<std::string> costs, devices, topologies;
  for (int c = 0; c <= static_cast<int>(hp::cost_code::overflow); ++c)
    costs.insert(to_text(static_cast<hp::cost_code>(c)));
  for (int c = 0; c <= static_cast<int>(hp::device_code::tile_is_not_stated_whole); ++c)
    devices.insert(to_text(hp::device_status{static_cast<hp::device_code>(c), 3, 17, 18}));
  for (int c = 0; c <= static_cast<int>(hp::topology_code::share_by_size_is_refused); ++c)
    topologies.insert(to_text(hp::topology_status{static_cast<hp::topology_code>(c), 2, 17, 18}));
  EXPECT_EQ(costs.size(), static_cast<std::size_t>(hp::cost_code::overflow) + 1);
  EXPECT_EQ(devices.size(), static_cast<std::size_t>(hp::device_code::tile_is_not_stated_whole) + 1);
  EXPECT_EQ(topologies.size(), static_cast<std::size_t>(hp::topology_code::share_by_size_is_refused) + 1);
  std::set<std::string> shares;
  for (int c = 0; c <= static_cast<int>(hp::size_share_code::longer_is_faster); ++c)
    shares.insert(text_of(static_cast<hp::size_share_code>(c)));
  EXPECT_EQ(shares.size(), static_cast<std::size_t>(hp::size_share_code::longer_is_faster) + 1);
  for (const auto& texts : {costs, devices, topologies, shares}) EXPECT_FALSE(texts.contains("unknown"));
}

TEST(format_hardware, a_refusal_names_the_place_and_both_numbers) {
  hp::hardware_status s;
  EXPECT_EQ(fmt::format("{}", s), "ok");
  s.topology = {hp::topology_code::group_does_not_nest, 1, 12, 8};
  EXPECT_EQ(fmt::format("{}", s), "link level 1 joins groups of 12 ranks, expected a multiple of 8 above it");
  s.topology = {hp::topology_code::share_by_size_is_refused, 1, 2,
                static_cast<int>(hp::size_share_code::longer_is_faster)};
  EXPECT_EQ(fmt::format("{}", s),
            "share 3 by message size of link level 1 makes a longer message faster than the shorter one of the share "
            "before it");
  s.topology = {hp::topology_code::group_does_not_nest, 1, 12, 8};
  s.device = {hp::device_code::tier_has_no_bandwidth, 1, 0, 1};
  EXPECT_EQ(fmt::format("{}", s),
            "memory tier 1 has a bandwidth in bytes per second of 0, expected at least 1; link level 1 joins groups of "
            "12 ranks, expected a multiple of 8 above it");
  s.topology = {};
  s.device = {hp::device_code::gmm_cold_is_not_in_0_to_1, 0, 0, 1'000'000};
  EXPECT_EQ(fmt::format("{}", s),
            "gmm_cold, what products of their own reach, is 0 parts per million, expected 1 to 1000000");
}

}  // namespace
