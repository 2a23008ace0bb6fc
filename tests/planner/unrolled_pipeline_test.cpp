// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/unrolled_pipeline.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <layers/decoder_shapes.hpp>

namespace {

namespace hp = hyperparallel;

hp::decoder_plan plan_under(const char* schedule, int pp, int chunks) {
  hp::decoder_plan p{.tp = 2, .pp = pp, .dp = 2, .zero = 1, .micro_batches = 2 * pp};
  p.schedule = static_cast<int>(hp::schedule_called(schedule) - hp::schedule_table.item);
  p.chunks = chunks;
  p.batch = 4 * p.micro_batches;
  p.sequence = 4096;
  return p;
}

/// The replay says what the one plan does: the time within 2 %, and no group of ranks holds more than it says but for gaps.
TEST(UnrolledPipeline, IsWhatTheReplaySays) {
  const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder d = hp::test::llama3_8b;
  d.layers = 16;
  double farthest = 0;
  for (const auto& [schedule, chunks] : {std::pair{"GPipe", 1}, std::pair{"1F1B", 1}, std::pair{"Interleaved1F1B", 2},
                                         std::pair{"ZB-H1", 1}, std::pair{"ZB-V", 2}, std::pair{"V-Min", 2}})
    for (const int pp : {2, 4}) {
      SCOPED_TRACE(std::string(schedule) + " on " + std::to_string(pp));
      const hp::decoder_plan p = plan_under(schedule, pp, chunks);
      ASSERT_TRUE(hp::check_plan(d, p, hp::device_count_of(p)).ok());
      const hp::extent_t memory = 200 * hp::GiB;
      const hp::unrolled_pipeline u = hp::unroll_pipeline(d, p, prices, memory);
      const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, memory);
      ASSERT_TRUE(u.ok()) << to_text(u.code);
      ASSERT_TRUE(s.ok());
      EXPECT_EQ(u.bytes.size, pp);
      EXPECT_LE(u.most_bytes(), memory);
      const double off = static_cast<double>(u.times.makespan) / static_cast<double>(s.replay.times.makespan) - 1;
      EXPECT_LE(std::abs(off), 0.02);
      farthest = std::max(farthest, std::abs(off));
      EXPECT_NEAR(static_cast<double>(u.most_bytes()) / static_cast<double>(s.bytes()), 1.0, 0.05);
    }
  std::printf("the farthest makespan is %.2f %% from its replay\n", 100 * farthest);
}

/// A budget that the replay keeps is kept by address.
TEST(UnrolledPipeline, StaysWithinTheMemory) {
  const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder d = hp::test::llama3_8b;
  d.layers = 8;
  const hp::decoder_plan p = plan_under("1F1B", 2, 1);
  const hp::unrolled_pipeline ample = hp::unroll_pipeline(d, p, prices, 200 * hp::GiB);
  ASSERT_TRUE(ample.ok());
  const hp::unrolled_pipeline tight = hp::unroll_pipeline(d, p, prices, ample.most_bytes() / 2);
  EXPECT_EQ(tight.code, hp::unrolled_pipeline_code::exceeds_memory);
  EXPECT_GT(tight.most_bytes(), ample.most_bytes() / 2);
  EXPECT_TRUE(tight.times.ok());
}

TEST(UnrolledPipeline, SaysWhyThereIsNone) {
  const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  const hp::decoder d = hp::test::llama3_8b;
  hp::decoder_plan p = plan_under("1F1B", 4, 1);
  const hp::unrolled_pipeline few = hp::unroll_pipeline(d, p, prices, hp::GiB, 1000);
  EXPECT_EQ(few.code, hp::unrolled_pipeline_code::has_too_many_steps);
  EXPECT_GT(few.steps, 1000);
  p.pp = 1;
  EXPECT_EQ(hp::unroll_pipeline(d, p, prices, hp::GiB).code, hp::unrolled_pipeline_code::not_asked);
}

/// The layers are those that the replay's stages have.
TEST(UnrolledPipeline, StagesHaveTheLayersOfTheReplay) {
  const hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder d = hp::test::llama3_8b;
  for (const int layers : {14, 16, 17}) {
    d.layers = layers;
    const hp::decoder_plan p = plan_under("1F1B", 4, 1);
    const hp::pipeline_value pipeline = hp::detail::pipeline_value_of(d, p);
    const hp::simulated_pipeline s = hp::simulate_pipeline(d, p, prices, 200 * hp::GiB);
    ASSERT_EQ(pipeline.layers.size, s.stage.size);
    int sum = 0;
    for (int k = 0; k < s.stage.size; ++k) {
      EXPECT_EQ(pipeline.layers[k], s.stage[k].has.layers) << layers << " layers, stage " << k;
      sum += pipeline.layers[k];
    }
    EXPECT_EQ(sum, layers);
  }
}

}  // namespace
