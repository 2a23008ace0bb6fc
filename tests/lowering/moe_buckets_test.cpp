// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/moe_buckets.hpp>

namespace hp = hyperparallel;

namespace {

const hp::device_value& die = hp::ascend_910c_die::device;
constexpr hp::moe_layer small{256, 128, 8, 2, 4 * 512};  // 4 devices: 128 rows of a pair when balanced
constexpr int devices = 4, balanced = 128, local = 2;
static_assert(hp::dropless_pair_limit(small) == 4000);

hp::moe_options options(hp::moe_pass pass = hp::moe_pass::forward) {
  hp::moe_options o;
  o.tiling = {64, 64, 64, 32, 32, 128, 4, 8, 128, 64};
  o.pass = pass;
  return o;
}

using buckets = hp::moe_buckets<4>;
const hp::histogram_buckets<4> limits{{1000, 1500, 2000, hp::dropless_pair_limit(small)}};

buckets make(hp::moe_pass pass = hp::moe_pass::forward) {
  return buckets(small, devices, die, {}, options(pass), limits);
}

TEST(MoeBuckets, TheSmallestPlanThatHoldsTheHistogramIsTaken) {
  const buckets b = make();
  ASSERT_TRUE(b.status().ok());
  for (int rows = 0; rows <= 4 * balanced; ++rows) {
    const hp::bucket_choice c = b.choose(rows);
    ASSERT_EQ(c.code, hp::bucket_code::ok) << rows;
    EXPECT_GE(b.capacity(c.bucket), rows);
    EXPECT_GE(b.plan(c.bucket).rows_per_pair, rows);
    if (c.bucket > 0) {
      EXPECT_LT(b.capacity(c.bucket - 1), rows);
    }
  }
}

TEST(MoeBuckets, RowsThatNoBucketHoldsAreAnError) {
  const buckets b = make();
  EXPECT_EQ(b.choose(4 * balanced + 1).code, hp::bucket_code::no_bucket_holds_it);
  EXPECT_EQ(b.choose(-1).code, hp::bucket_code::negative_count);
  const int counts[] = {3, balanced, 2 * balanced, 0}, too_many[] = {1, 4 * balanced + 1};
  EXPECT_EQ(b.choose(counts, 4), (hp::bucket_choice{hp::bucket_code::ok, 2}));
  EXPECT_EQ(b.choose(too_many, 2).code, hp::bucket_code::no_bucket_holds_it);
}

TEST(MoeBuckets, NoPlanSaysWhy) {
  const buckets odd({256, 128, 6, 2, 2048}, devices, die, {}, options(), limits);
  EXPECT_EQ(odd.status().layer, hp::moe_code::experts_do_not_divide_over_devices);
  const buckets falling(small, devices, die, {}, options(), {{1000, 3000, 2000, 4000}});
  EXPECT_EQ(falling.status().buckets.code, hp::bucket_code::limits_do_not_rise);
  EXPECT_FALSE(falling.status().ok());
}

TEST(MoeBuckets, BlocksHoldTheRowsOfTheirPairAndNoneIsLost) {
  const buckets b = make();
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    int pair[local][devices];
    int most = 0;
    for (auto& expert : pair)
      for (int& rows : expert) {
        rows = static_cast<int>(random() % (4 * balanced + 1));
        most = rows > most ? rows : most;
      }
    const hp::moe_plan& p = b.plan(b.choose(most).bucket);
    const std::vector<int> rows = hp::block_rows(p, [&](int e, int k) { return pair[e][k]; });
    int sum[local][devices] = {};
    for (int n = 0; n < hp::blocks_per_rank(p); ++n) {
      const int own = rows[static_cast<std::size_t>(n)];
      EXPECT_GE(own, 0);
      EXPECT_LE(own, p.tiling.row_block);
      sum[hp::block_at(p, n).expert][hp::block_at(p, n).rotation] += own;
      const int all = pair[hp::block_at(p, n).expert][hp::block_at(p, n).rotation];
      EXPECT_NEAR(own, all / hp::chunks_per_pair(p), hp::row_step);
    }
    for (int e = 0; e < local; ++e)
      for (int k = 0; k < devices; ++k) EXPECT_EQ(sum[e][k], pair[e][k]);
  }
}

TEST(MoeBuckets, RowsChangeDurationsAndNothingElse) {
  for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward}) {
    const buckets b = make(pass);
    for (int bucket = 0; bucket < 4; ++bucket) {
      const hp::moe_plan& p = b.plan(bucket);
      const auto full_rows = hp::block_rows(p, [&](int, int) { return p.rows_per_pair; });
      const auto few_rows = hp::block_rows(p, [&](int e, int k) { return (7 * e + 3 * k) % 40; });
      const hp::tile_chain full = hp::chain_with_rows(p, die.task_overhead, full_rows);
      const hp::tile_chain few = hp::chain_with_rows(p, die.task_overhead, few_rows);
      const hp::taskflow_size size = hp::measure(hp::chain_builder{few});
      ASSERT_EQ(size, hp::measure(hp::moe_builder{p}));
      hp::owned_taskflow whole(size), most(size), truncated(size);
      hp::moe_builder{p}(whole);
      hp::chain_builder{full}(most);
      hp::chain_builder{few}(truncated);
      for (int t = 0; t < size.tasks; ++t) {
        EXPECT_EQ(whole.task[t].operation, truncated.task[t].operation);
        EXPECT_EQ(whole.task[t].item, truncated.task[t].item);
        EXPECT_EQ(whole.task[t].signal_begin, truncated.task[t].signal_begin);
        EXPECT_LE(truncated.task[t].duration, whole.task[t].duration);
        EXPECT_LE(most.task[t].duration, whole.task[t].duration);
        if (p.rows_per_pair % p.tiling.row_block == 0) {
          EXPECT_EQ(most.task[t].duration, whole.task[t].duration);
        }
      }
    }
  }
}

TEST(MoeBuckets, AFullStepRunsAsPlannedAndAnEmptyOneStillEnds) {
  const buckets b = make();
  for (int bucket : {0, 2, 3}) {
    const hp::simulation_result full = b.run(bucket, [&](int, int) { return static_cast<int>(b.capacity(bucket)); });
    EXPECT_EQ(full.code, hp::simulation_code::ok);
    EXPECT_EQ(full.makespan, b.flow(bucket).schedule().makespan);
    const hp::simulation_result empty = b.run(bucket, [](int, int) { return 0; });
    EXPECT_EQ(empty.code, hp::simulation_code::ok);
    EXPECT_GT(empty.makespan, 0);
    EXPECT_LT(empty.makespan, full.makespan);
  }
}

TEST(MoeBuckets, EveryPlanIsSafe) {
  for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward}) {
    const buckets b = make(pass);
    for (int bucket = 0; bucket < 4; ++bucket) EXPECT_EQ(b.flow(bucket).verify().code, hp::verify_code::ok);
  }
}

}  // namespace
