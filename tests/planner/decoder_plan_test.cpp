// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/decoder_plan.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/stage_replay.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

// Megatron's split of 22 layers on 8 stages, and of layers that divide.
TEST(DecoderPlan, EndsCountAsLayersWhereThatDivides) {
  EXPECT_TRUE(hp::ends_count_as_layers(22, 8));
  EXPECT_TRUE(hp::ends_count_as_layers(22, 24));
  EXPECT_FALSE(hp::ends_count_as_layers(24, 8));
  EXPECT_FALSE(hp::ends_count_as_layers(61, 8));
  EXPECT_FALSE(hp::ends_count_as_layers(2, 2));
}

// Copies of what ZeRO shards: a device holds and computes what one of a single copy does with its part of the batch, receives no less, and takes no
// less time; the partitioner takes them where the plan can be, and bounds hold.
TEST(DecoderPlan, CopiesAreShardsOfFewerRanks) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  int tried = 0, refused = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (int zero = 0; zero <= 3; ++zero)
      for (const int micro_batches : {1, 2})
        for (const int inner : {1, 2})
          for (const int dp : {2, 4, 6})
            for (int copies = 1; copies <= 4; ++copies) {
              hp::decoder_plan p{.dp = dp, .zero = zero, .copies = copies, .micro_batches = micro_batches};
              (zero == 1 ? p.tp : d.has_experts ? p.ep : p.cp) = inner;
              p.batch = 24;
              p.sequence = 8;
              const hp::decoder_plan_status s = hp::check_plan(d, p, hp::device_count_of(p));
              if (copies > 1 && (zero == 0 || dp % copies != 0)) {
                EXPECT_FALSE(s.ok());
                ++refused;
              }
              if (!s.ok()) continue;
              const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
              ASSERT_TRUE(e.ok());
              EXPECT_LE(hp::memory_bound(d, p), e.evaluation.memory);
              EXPECT_LE(hp::time_bound(d, p, prices), e.evaluation.time);
              hp::decoder_plan one = p;
              one.copies = 1;
              one.dp = dp / copies;
              one.batch = p.batch / copies;
              const hp::plan_estimate single = hp::estimate_plan(d, one, prices);
              ASSERT_TRUE(single.ok());
              for (const hp::memory_class c : {hp::memory_class::parameters, hp::memory_class::states})
                EXPECT_EQ(e.held[static_cast<int>(c)], single.held[static_cast<int>(c)]);
              EXPECT_GE(e.evaluation.memory, single.evaluation.memory);
              EXPECT_EQ(e.evaluation.times.compute_busy, single.evaluation.times.compute_busy);
              EXPECT_GE(e.evaluation.time, single.evaluation.time);
              hp::extent_t received = 0, of_single = 0;
              for (int l = 0; l < hp::max_link_levels; ++l) received += e.received[l], of_single += single.received[l];
              EXPECT_GE(received, of_single);
              if (copies > 1) {
                EXPECT_GT(received, of_single);
              }
              ++tried;
            }
  EXPECT_GT(tried, 300);
  EXPECT_GT(refused, 100);
}

// Shards lie near each other and their copies far: what ZeRO gathers stays on the links of a node.
TEST(DecoderPlan, CopiesAreOutermost) {
  const hp::strategy_value s = hp::strategy_of({.tp = 2, .dp = 8, .zero = 3, .copies = 4, .batch = 8, .sequence = 8});
  ASSERT_EQ(s.mesh.shape.axis_count, 3);
  EXPECT_STREQ(s.mesh.label[0].text, "copies");
  EXPECT_EQ(s.mesh.shape.size[0], 4);
  EXPECT_STREQ(s.mesh.label[1].text, "dp");
  EXPECT_EQ(s.mesh.shape.size[1], 2);
  const hp::decoder_plan near{.dp = 32, .zero = 3, .copies = 4, .batch = 32, .sequence = 64};
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  const hp::plan_estimate copied = hp::estimate_plan(small_decoders::dense(), near, prices);
  hp::decoder_plan wide = near;
  wide.copies = 1;
  const hp::plan_estimate sharded = hp::estimate_plan(small_decoders::dense(), wide, prices);
  EXPECT_LT(copied.received[1], sharded.received[1]);
  EXPECT_GT(copied.received[1], 0);
}

TEST(DecoderPlan, DegreesThatMultiplyBeyondAllBoundsAreCounted) {
  constexpr int large = static_cast<int>(hp::largest_plan_number);
  EXPECT_GT(hp::device_count_of({.tp = large, .pp = large, .dp = large, .cp = large, .ep = large}),
            hp::largest_plan_number);
}

}  // namespace
