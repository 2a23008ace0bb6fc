// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/attention_block.hpp>

#include <gtest/gtest.h>

#include <set>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/mpmd/chain_check.hpp>
#include <hyperparallel/taskflow.hpp>

#include "chains.hpp"

namespace {

namespace hp = hyperparallel;
using operation = hp::attention_operation;

constexpr hp::machine_shape die{1, {24, 24, 1, 0, 0}};
constexpr std::int64_t hop = 2 * hp::microsecond;

/// Four sequences of 4096 tokens.
constexpr hp::attention_block real(std::int64_t hidden, int devices, bool serialized) {
  hp::attention_block p;
  p.sequences = 4;
  p.sequence_length = 4096;
  p.hidden = hidden;
  p.heads = static_cast<int>(hidden / 128);
  p.key_heads = 16;
  p.devices = devices;
  p.blocks = 16 / devices;
  p.serialized = serialized;
  const hp::device_value& device = hp::ascend_910c_die::device;
  hp::price_attention(p, device, 24, device.gmm_warm, hp::matrix384::topology.level[1]);
  return p;
}

template <int Devices, bool Serialized>
using plan = hp::static_taskflow<hp::builder_of<hp::attention_builder{real(8192, Devices, Serialized)}>, die,
                                 hp::schedule_options{hp::priority::reference_order, hop}>;

using whole = plan<1, false>;
static_assert(whole::safety.code == hp::verify_code::ok && whole::certificate.ratio() <= 10100);

// Eight ranks: the link is busy for five sixths of the bound, and 97 % of that is hidden; operators hide nothing.
using fused = plan<8, false>;
using serial = plan<8, true>;
static_assert(fused::safety.code == hp::verify_code::ok && serial::safety.code == hp::verify_code::ok);
static_assert(fused::certificate.ratio() <= 10400);
static_assert(serial::makespan * 10 >= fused::makespan * 18);
static_assert(fused::timeline.communication.masked_share() >= 9700);
static_assert(serial::timeline.communication.masked_share() == 0);

TEST(attention_block, keeps_the_first_price_that_cannot_be_told) {
  const hp::device_value& device = hp::ascend_910c_die::device;
  hp::attention_block p = real(8192, 8, false);
  const hp::link_level& link = hp::matrix384::topology.level[1];
  EXPECT_EQ(hp::price_attention(p, device, 24, device.gmm_warm, link), hp::cost_code::ok);
  EXPECT_EQ(hp::price_attention(p, device, 24, device.gmm_warm, {"standing", 8, 0, 0}),
            hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::price_attention(p, device, 24, {}, link), hp::cost_code::efficiency_is_not_in_0_to_1);
  EXPECT_EQ(hp::price_attention(p, device, device.aiv + 1, device.gmm_warm, link),
            hp::cost_code::count_exceeds_the_device);
}

TEST(attention_block, real_sizes_beat_operators_and_hide_the_link) {
  for (const std::int64_t hidden : {4096, 6144, 8192, 12288, 16384})
    for (const int devices : {1, 2, 4, 8, 16}) {
      const hp::attention_block p = real(hidden, devices, false);
      if (hp::qkv_columns(p) % p.tile_columns != 0) continue;
      ASSERT_EQ(hp::check(hp::describe_attention(p).chain).code, hp::chain_code::ok);
      const hp::schedule_options options{hp::priority::reference_order, hop};
      hp::planned_flow a(hp::attention_builder{p}, die, options);
      hp::planned_flow b(hp::attention_builder{real(hidden, devices, true)}, die, options);
      EXPECT_EQ(a.verify().code, hp::verify_code::ok);
      EXPECT_EQ(b.verify().code, hp::verify_code::ok);
      const hp::simulated_figures x = a.simulate(), y = b.simulate();
      EXPECT_LT(x.result.makespan, y.result.makespan);
      EXPECT_LE(hp::makespan_certificate({x.result.makespan, a.bound().value}).ratio(), 13000)
          << hidden << " on " << devices;
      if (devices == 1) continue;
      EXPECT_LT(x.communication.exposed * 10, y.communication.exposed * 9) << hidden << " on " << devices;
    }
}

hp::attention_block small(int devices, int blocks, bool serialized) {
  hp::attention_block p;
  p.sequences = 2;
  p.sequence_length = 4 * devices * blocks;
  p.hidden = 16 * devices;
  p.heads = 2 * devices;
  p.key_heads = devices;
  p.head_size = 8;
  p.devices = p.ranks = devices;
  p.blocks = blocks;
  p.tile_columns = 16;
  p.vector_pieces = 2;
  p.copy_pieces = 2;
  p.serialized = serialized;
  for (int o = 0; o < hp::attention_operation_count; ++o) p.time[o] = 3 + o;
  p.copy_time = 1;
  return p;
}

TEST(attention_block, every_number_of_ranks_is_proved_safe) {
  for (int devices = 1; devices <= 6; ++devices)
    for (int blocks = 1; blocks <= 2; ++blocks)
      for (const bool serialized : {false, true}) {
        chain_test::lowered l(hp::describe_attention(small(devices, blocks, serialized)).chain);
        EXPECT_EQ(l.structure().code, hp::flow_code::ok);
        for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
          l.freeze(policy);
          EXPECT_EQ(l.proof().code, hp::verify_code::ok) << devices << " devices, " << blocks << " blocks";
          EXPECT_EQ(l.exact().code, hp::exact_code::safe);
        }
      }
}

TEST(attention_block, a_head_waits_for_the_whole_of_its_sequence_and_for_no_other) {
  for (int devices = 1; devices <= 4; ++devices) {
    const hp::attention_block p = small(devices, 2, false);
    const chain_test::lowered l(hp::describe_attention(p).chain);
    const chain_test::ancestors known(l.flow);
    const int per_sequence = 2 * devices, tiles = static_cast<int>(hp::qkv_columns(p)) / p.tile_columns;
    for (int t = 0; t < l.size.tasks; ++t) {
      if (l.flow.task[t].operation != static_cast<int>(operation::attend)) continue;
      const int sequence = l.flow.task[t].item / 2 / per_sequence;
      std::set<int> found;
      for (int a = 0; a < t; ++a)
        if (known.before(a, t) && l.flow.task[a].operation == static_cast<int>(operation::qkv) &&
            l.flow.task[a].rank == l.flow.task[t].rank)
          found.insert(l.flow.task[a].item);
      std::set<int> expected;
      for (int i = 0; i < per_sequence * tiles; ++i) expected.insert(sequence * per_sequence * tiles + i);
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(attention_block, the_residual_of_own_rows_needs_the_partial_sums_of_all_ranks) {
  for (int devices = 2; devices <= 4; ++devices) {
    const chain_test::lowered l(hp::describe_attention(small(devices, 1, false)).chain);
    const chain_test::ancestors known(l.flow);
    for (int t = 0; t < l.size.tasks; ++t) {
      if (l.flow.task[t].operation != static_cast<int>(operation::add)) continue;
      std::set<int> ranks;
      for (int a = 0; a < t; ++a)
        if (known.before(a, t) && l.flow.task[a].operation == static_cast<int>(operation::project))
          ranks.insert(l.flow.task[a].rank);
      EXPECT_EQ(ranks.size(), static_cast<std::size_t>(devices));
    }
  }
}

}  // namespace
