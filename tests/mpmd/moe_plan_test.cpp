// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/mpmd/moe_plan.hpp>

namespace hp = hyperparallel;

namespace {

hp::moe_plan full_size(int devices) {
  hp::moe_plan p;
  p.layer = {7168, 2048, 8 * devices, 8, devices * 4096};
  p.devices = devices;
  p.ranks = devices;
  p.rows_per_pair = 4096 / devices;
  return p;
}

TEST(moe_plan, block_numbers_are_a_bijection) {
  for (int devices : {1, 2, 3, 8}) {
    hp::moe_plan p = full_size(devices);
    p.rows_per_pair = 700;  // chunks that do not divide
    std::set<std::tuple<int, int, int>> seen;
    for (int b = 0; b < hp::blocks_per_rank(p); ++b) {
      const hp::moe_block x = hp::block_at(p, b);
      EXPECT_LT(x.expert, hp::local_experts(p));
      EXPECT_LT(x.chunk, hp::chunks_per_pair(p));
      EXPECT_LT(x.rotation, devices);
      EXPECT_EQ(x.expert, b / hp::blocks_per_expert(p));
      seen.insert({x.expert, x.chunk, x.rotation});
    }
    EXPECT_EQ(static_cast<int>(seen.size()), hp::local_experts(p) * hp::chunks_per_pair(p) * devices);
  }
}

TEST(moe_plan, in_each_step_every_device_sends_to_another_and_own_rows_come_last) {
  for (int devices : {2, 3, 8}) {
    const hp::moe_plan p = full_size(devices);
    for (int step = 0; step < devices; ++step) {
      const int rotation = hp::block_at(p, step).rotation;
      EXPECT_EQ(rotation == 0, step == devices - 1);
      std::set<int> receivers;
      for (int r = 0; r < devices; ++r) {
        const int to = hp::receiver_of(p, r, rotation);
        receivers.insert(to);
        EXPECT_EQ(hp::source_of(p, to, rotation), r);
      }
      EXPECT_EQ(static_cast<int>(receivers.size()), devices);
    }
  }
}

TEST(moe_plan, prices_add_up_to_the_calibrated_model) {
  // moe-offload-mpmd section 2: W_fwd / (0.864 P) = 9.44 ms, V_fwd = 0.42 ms, A(8) = 2.62 ms, plus 0.1 us a task.
  hp::moe_plan p = full_size(8);
  const hp::device_value& die = hp::ascend_910c_die::device;
  const hp::moe_durations t = hp::price_moe(p, die, 24, die.gmm_warm, hp::ascend_910c_die::expert_all_to_all);
  const auto of = [&](hp::moe_operation o) { return t.of[static_cast<int>(o)]; };
  const int blocks = hp::blocks_per_rank(p);
  const std::int64_t overhead = die.task_overhead;
  const std::int64_t matrix = (blocks * hp::gate_up_tiles(p) * (of(hp::moe_operation::gate_up) - overhead) +
                               blocks * hp::down_tiles(p) * (of(hp::moe_operation::down) - overhead)) /
                              24;
  EXPECT_NEAR(static_cast<double>(matrix), 9.4390e9, 0.001e9);
  const std::int64_t vector = blocks * hp::swiglu_pieces(p) * (of(hp::moe_operation::swiglu) - overhead) / 24;
  EXPECT_NEAR(static_cast<double>(vector), 0.4194e9, 0.001e9);
  const std::int64_t link = blocks / 8 * 7 * of(hp::moe_operation::dispatch);
  EXPECT_NEAR(static_cast<double>(link), 2.6210e9, 0.001e9);
}

TEST(moe_plan, one_device_sends_nothing) {
  hp::moe_plan p = full_size(1);
  const hp::device_value& die = hp::ascend_910c_die::device;
  const hp::moe_durations t = hp::price_moe(p, die, 24, die.gmm_cold, {});
  EXPECT_EQ(t.of[static_cast<int>(hp::moe_operation::dispatch)], 0);
  EXPECT_GT(t.local_copy, 0);
}

TEST(moe_plan, the_chunks_of_a_pair_partition_its_rows_and_hold_alike) {
  for (const int block : {16, 48, 24, 7, 1})
    for (int capacity = 1; capacity <= 200; capacity += 3)
      for (int count = 0; count <= capacity; ++count) {
        hp::moe_plan p = full_size(2);
        p.tiling.row_block = block;
        p.rows_per_pair = capacity;
        int next = 0;
        for (int chunk = 0; chunk < hp::chunks_per_pair(p); ++chunk) {
          const hp::row_range r = hp::rows_of_chunk(p, count, chunk);
          ASSERT_EQ(r.begin, next);
          ASSERT_LE(r.end - r.begin, block);
          ASSERT_NEAR(r.end - r.begin, count / hp::chunks_per_pair(p), hp::row_step);
          next = r.end;
        }
        ASSERT_EQ(next, count);
      }
}

TEST(moe_plan, every_operation_has_a_name) {
  std::set<std::string> names;
  for (const char* name : hp::moe_operation_names) names.insert(name);
  EXPECT_EQ(static_cast<int>(names.size()), hp::moe_operation_count);
}

}  // namespace
