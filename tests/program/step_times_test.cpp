// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/step_times.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;
using hardware = hp::matrix384;

// The roofline: what bounds a step is its bytes or its operations, and an overhead comes on top.
TEST(StepTimes, TakeTheLongerOfBytesAndOperations) {
  const hp::device_value d = hardware::device;
  hp::operator_work w{};
  w.unit = hp::compute_unit::vector;
  w.bytes_read = 64 * hp::MiB;
  w.bytes_written = 32 * hp::MiB;
  const hp::time_cost bytes = hp::vector_time(d, w.bytes_read + w.bytes_written, 1);
  EXPECT_EQ(hp::compute_time(d, w, hp::bf16).picoseconds, bytes.picoseconds + d.task_overhead);
  w.unit = hp::compute_unit::matrix;
  w.flops = hp::extent_t{1} << 50;
  const hp::time_cost flops = hp::work_time(w.flops, 1, 1, hp::matrix_peak(d, hp::number_format::bfloat16), d.gmm_cold);
  ASSERT_GT(flops.picoseconds, bytes.picoseconds);
  EXPECT_EQ(hp::compute_time(d, w, hp::bf16).picoseconds, flops.picoseconds + d.task_overhead);
  EXPECT_GT(hp::compute_time(d, w, hp::f32).picoseconds, hp::compute_time(d, w, hp::bf16).picoseconds);
}

TEST(StepTimes, NumbersThatJoinPartsAreOfTheNorm) {
  const hp::graph g = searched::small_model{}.build();
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("zero1", 4).strategy);
  int joined = 0;
  for (const hp::program_step& s : p.step) {
    if (!hp::joins_numbers(p, s)) continue;
    ++joined;
    EXPECT_EQ(s.phase, hp::graph_phase::norm);
    EXPECT_LT(s.segment, 0);
  }
  EXPECT_GT(joined, 0);
}

}  // namespace
