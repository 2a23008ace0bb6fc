// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/step_times.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/hardware/gpu_variant_presets.hpp>
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
  EXPECT_EQ(hp::detail::compute_time(d, w, hp::bf16).picoseconds, bytes.picoseconds + d.task_overhead);
  w.unit = hp::compute_unit::matrix;
  w.flops = hp::extent_t{1} << 50;
  const hp::time_cost flops = hp::work_time(w.flops, 1, 1, hp::matrix_peak(d, hp::number_format::bfloat16), d.gmm_cold);
  ASSERT_GT(flops.picoseconds, bytes.picoseconds);
  EXPECT_EQ(hp::detail::compute_time(d, w, hp::bf16).picoseconds, flops.picoseconds + d.task_overhead);
  EXPECT_GT(hp::detail::compute_time(d, w, hp::f32).picoseconds, hp::detail::compute_time(d, w, hp::bf16).picoseconds);
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
    EXPECT_EQ(hp::detail::compute_time(d, w, hp::f64).picoseconds,
              hp::work_time(w.flops, 1, 1, rate, reached).picoseconds + d.task_overhead);
    EXPECT_EQ(hp::detail::compute_time(hardware::device, w, hp::f64).code, hp::cost_code::rate_is_not_positive);
  }
}

TEST(StepTimes, WorkWithoutARateIsFound) {
  const hp::strategy_value s = hp::strategy_called("zero1", 4).strategy;
  const hp::graph g = searched::small_model{}.build();
  const hp::sharded_program floats = hp::partition(hp::in_floats(g, hp::f32), s);
  const hp::sharded_program doubles = hp::partition(hp::in_floats(g, hp::f64), s);
  hp::device_value d = hp::h100::device;
  EXPECT_EQ(hp::detail::unrated_work_of(d, doubles), hp::detail::unrated_work{});
  EXPECT_EQ(hp::detail::unrated_work_of(hardware::device, floats), hp::detail::unrated_work{});
  EXPECT_TRUE(hp::detail::unrated_work_of(hardware::device, doubles).exists);
  EXPECT_EQ(hp::detail::unrated_work_of(hardware::device, doubles).format, hp::number_format::float64);
  EXPECT_EQ(hp::account_on<hardware>(doubles).times.total.code, hp::cost_code::rate_is_not_positive);
  EXPECT_GT(hp::account_on<hp::h100>(doubles).times.total.picoseconds,
            hp::account_on<hp::h100>(floats).times.total.picoseconds);
  d.vector_flops_f64 = 0;
  EXPECT_EQ(hp::detail::unrated_work_of(d, doubles),
            (hp::detail::unrated_work{true, true, hp::number_format::float64}));
  d = hp::h100::device;
  d.matrix_flops[4] = 0;
  EXPECT_EQ(hp::detail::unrated_work_of(d, doubles),
            (hp::detail::unrated_work{true, false, hp::number_format::float64}));
}

TEST(StepTimes, NumbersThatJoinPartsAreOfTheNorm) {
  const hp::graph g = searched::small_model{}.build();
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("zero1", 4).strategy);
  int joined = 0;
  for (const hp::program_step& s : p.step) {
    if (!hp::detail::joins_numbers(p, s)) continue;
    ++joined;
    EXPECT_EQ(s.phase, hp::graph_phase::norm);
    EXPECT_LT(s.segment, 0);
  }
  EXPECT_GT(joined, 0);
}

/// Seconds of linear attention and of its gradient: 64 heads of 128 x 128, a sequence of 8192 tokens, bf16.
struct attention_seconds {
  double forward = 0, backward = 0;
};
attention_seconds linear_attention_on(const hp::device_value& d) {
  hp::model_builder m({.activation = hp::bf16, .parameter = hp::bf16});
  const int batch = m.dim("batch", 1), seq = m.dim("seq", 8192), heads = m.dim("heads", 64), group = m.dim("group", 1);
  const int keys = m.dim("keys", 128), values = m.dim("values", 128);
  const int q = m.parameter("q", {batch, seq, heads, keys}), k = m.parameter("k", {batch, seq, heads, keys});
  const int v = m.parameter("v", {batch, seq, heads, group, values});
  const int decay = m.parameter("decay", {batch, seq, heads, group}),
            by = m.parameter("by", {batch, seq, heads, group});
  const int o =
      m.apply<hp::ops::linear_attention>("attend", {q, k, v, decay, by}, {.integer = {1}, .real = {1.0, 1e-6}});
  m.loss(m.apply<hp::ops::reduce>("loss", {o}, {.text = "*->"}));
  hp::differentiate(m.graph);
  const hp::sharded_program p = hp::partition(m.graph, hp::strategy_called("single", 1).strategy);
  attention_seconds t;
  for (int c = 0; c < p.compute.size; ++c) {
    const hp::operator_id kind = p.graph.op[p.compute[c].op].kind;
    const double seconds = 1e-12 * static_cast<double>(hp::detail::price_of_compute(d, p, c).time.picoseconds);
    if (kind == hp::id_of<hp::ops::linear_attention>) t.forward = seconds;
    if (kind == hp::id_of<hp::ops::linear_attention_gradient>) t.backward = seconds;
  }
  return t;
}

// Published of Kimi delta attention, whose decays have a width of their own: on an H20 Triton's kernels take 2.96 ms forward and CUDA's 1.62,
// on an RTX 5090 3.59, and backward 3.3 times as long (MoonshotAI/FlashKDA, BENCHMARK_H20.md and BENCHMARK_TRAIN_RTX5090.md).
TEST(StepTimes, LinearAttentionIsNearPublishedKernels) {
  const attention_seconds h20 = linear_attention_on(hp::h20::device);
  EXPECT_GT(h20.forward, 0.5 * 2.96e-3);
  EXPECT_LT(h20.forward, 1.1 * 2.96e-3);
  hp::device_value rtx = hp::h20::device;
  rtx.tier[0].bandwidth = 1792 * hp::gigabyte;
  rtx.vector_flops = 104'800 * hp::gigaflops;
  const attention_seconds consumer = linear_attention_on(rtx);
  EXPECT_GT(consumer.forward, 0.5 * 3.59e-3);
  EXPECT_LT(consumer.forward, 1.1 * 3.59e-3);
  EXPECT_NEAR(consumer.backward / consumer.forward, 3.3, 0.7);
}

}  // namespace
