// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/step_times.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "search/search_models.hpp"

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

// Doubles have rates of their own, or no price; they are never priced as floats.
TEST(StepTimes, DoublesTakeTheirOwnRates) {
  hp::operator_work w{};
  w.flops = hp::extent_t{1} << 50;
  for (const hp::compute_unit unit : {hp::compute_unit::matrix, hp::compute_unit::vector}) {
    w.unit = unit;
    const hp::device_value d = hp::h100::device;
    const std::int64_t rate = unit == hp::compute_unit::matrix ? d.matrix_flops[4] : d.vector_flops_f64;
    const hp::efficiency reached = unit == hp::compute_unit::matrix ? d.gmm_cold : hp::full_efficiency;
    EXPECT_EQ(hp::compute_time(d, w, hp::f64).picoseconds,
              hp::work_time(w.flops, 1, 1, rate, reached).picoseconds + d.task_overhead);
    EXPECT_EQ(hp::compute_time(hardware::device, w, hp::f64).code, hp::cost_code::rate_is_not_positive);
  }
}

TEST(StepTimes, WorkWithoutARateIsFound) {
  const hp::strategy_value s = hp::strategy_called("zero1", 4).strategy;
  const hp::graph g = searched::small_model{}.build();
  const hp::sharded_program floats = hp::partition(hp::in_floats(g, hp::f32), s);
  const hp::sharded_program doubles = hp::partition(hp::in_floats(g, hp::f64), s);
  hp::device_value d = hp::h100::device;
  EXPECT_EQ(hp::unrated_work_of(d, doubles), hp::unrated_work{});
  EXPECT_EQ(hp::unrated_work_of(hardware::device, floats), hp::unrated_work{});
  EXPECT_TRUE(hp::unrated_work_of(hardware::device, doubles).exists);
  EXPECT_EQ(hp::unrated_work_of(hardware::device, doubles).format, hp::number_format::float64);
  EXPECT_EQ(hp::account_on<hardware>(doubles).times.total.code, hp::cost_code::rate_is_not_positive);
  EXPECT_GT(hp::account_on<hp::h100>(doubles).times.total.picoseconds,
            hp::account_on<hp::h100>(floats).times.total.picoseconds);
  d.vector_flops_f64 = 0;
  EXPECT_EQ(hp::unrated_work_of(d, doubles), (hp::unrated_work{true, true, hp::number_format::float64}));
  d = hp::h100::device;
  d.matrix_flops[4] = 0;
  EXPECT_EQ(hp::unrated_work_of(d, doubles), (hp::unrated_work{true, false, hp::number_format::float64}));
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
