// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/refused_pipeline.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/world/world_lowering.hpp>

#include "models/piped_model.hpp"
#include "support/error_of.hpp"

namespace {

using namespace hyperparallel;

std::string refusal(const pipeline_value& p, const char* strategy = "single", int ranks = 1) {
  return tested::error_of<program_error>(
      [&] { partitioned(programs::piped_graph(4, 4), strategy_called(strategy, ranks).strategy, p); });
}

TEST(refused_pipeline, one_line_names_the_sizes) {
  EXPECT_EQ(refusal({}), "the pipeline names no schedule");
  EXPECT_EQ(refusal({.schedule = schedule_called("ZB-V"), .ranks = 2}),
            "pipeline ZB-V of 2 ranks, 1 chunk and 4 micro-batches is refused: schedule ZB-V has 2 "
            "stages on each rank, not 1");
  EXPECT_EQ(
      refusal({.schedule = schedule_called("1F1B"), .ranks = 8}),
      "pipeline 1F1B of 8 ranks, 1 chunk and 4 micro-batches is refused: the model has 4 layers, 8 stages need at "
      "least one each");
  pipeline_value uneven{.schedule = schedule_called("GPipe"), .ranks = 2};
  uneven.layers.push(1);
  uneven.layers.push(2);
  EXPECT_EQ(
      refusal(uneven),
      "pipeline GPipe of 2 ranks, 1 chunk and 4 micro-batches is refused: the stages have 3 layers, the model has "
      "4");
  EXPECT_EQ(
      refusal({.schedule = schedule_called("LoopedBFS"), .ranks = 2, .chunks = 2}),
      "pipeline LoopedBFS of 2 ranks, 2 chunks and 4 micro-batches is refused: the schedule accumulates gradients "
      "out of the order of micro-batches, 2B2 of rank 0");
  EXPECT_EQ(refusal({.schedule = schedule_called("1F1B"), .ranks = 2}, "ring", 2),
            "pipeline 1F1B of 2 ranks, 1 chunk and 4 micro-batches is refused: attention that travels a ring cannot be "
            "cut into stages");
  EXPECT_NE(refusal({.schedule = schedule_called("1F1B"), .ranks = 2}, "tp", 64).find("strategy \"tp\" is refused"),
            std::string::npos);
  pipeline_value grouped{.schedule = schedule_called("1F1B"), .ranks = 2};
  grouped.strategy.push(strategy_called("dp", 2).strategy);
  EXPECT_EQ(refusal(grouped),
            "pipeline 1F1B of 2 ranks, 1 chunk and 4 micro-batches is refused: strategies are given for 1 group of "
            "ranks, the pipeline has 2");
  grouped.strategy.push(strategy_called("tp", 3).strategy);
  EXPECT_EQ(refusal(grouped).rfind("group 1: strategy \"tp\" is refused: ", 0), 0u) << refusal(grouped);
  grouped.strategy[1] = strategy_called("tp", 2).strategy;
  grouped.schedule = schedule_called("DualPipe");
  EXPECT_EQ(refusal(grouped),
            "pipeline DualPipe of 2 ranks, 1 chunk and 4 micro-batches is refused: the schedule holds each stage "
            "twice, and the strategies of the groups differ");
}

/// The second rank begins with a backward pass of what it has not passed forward.
struct stuck {
  static constexpr const char* name = "stuck";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return hyperparallel::detail::check_chunks(n, 1); }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    for (int m = 0; m < n.micro_batches; ++m) {
      if (rank == 1) out.backward(rank, m);
      out.forward(rank, m);
      if (rank != 1) out.backward(rank, m);
    }
  }
};

TEST(refused_pipeline, a_schedule_that_would_stop_is_named_with_its_circle) {
  const std::string text = refusal({.schedule = &schedule_value<stuck>, .ranks = 2});
  EXPECT_NE(
      text.find("pipeline stuck of 2 ranks, 1 chunk and 4 micro-batches is refused: the schedule stops: an action "
                "waits for ever, "),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("1B0 of rank 1 waits for 1F0"), std::string::npos) << text;
}

TEST(refused_pipeline, every_code_has_a_sentence) {
  const graph g = programs::piped_graph(2, 1);
  for (int c = 1; c <= static_cast<int>(stage_cut_code::operator_reads_later_stage); ++c) {
    if (c == static_cast<int>(stage_cut_code::segment_is_folded)) continue;  // this graph has none
    const stage_cut_status s{static_cast<stage_cut_code>(c), 0, 2, 3};
    EXPECT_NE(text_of_refusal(g, s).find(' '), std::string::npos) << name_of(s.code);
  }
  for (int c = 1; c <= static_cast<int>(unroll_code::accumulated_out_of_order); ++c)
    EXPECT_NE(text_of_refusal(unroll_status{static_cast<unroll_code>(c)}).find(' '), std::string::npos);
}

}  // namespace
