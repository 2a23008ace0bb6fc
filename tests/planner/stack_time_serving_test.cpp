// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_time_serving.hpp>

#include <hyperparallel/planner/known_hardware.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

constexpr const hp::device_value& h100 = hp::h100::device;

constexpr hp::decoder llama(hp::extent_t layers, hp::extent_t hidden, hp::extent_t heads, hp::extent_t width) {
  return {.vocabulary = 128256,
          .hidden = hidden,
          .layers = layers,
          .attention = {.query_heads = heads, .key_heads = 8, .head_dim = 128, .rope_base = 5e5},
          .feed_forward = {.width = width}};
}
constexpr hp::decoder of_3b = llama(28, 3072, 24, 8192), of_8b = llama(32, 4096, 32, 14336),
                      of_70b = llama(80, 8192, 64, 28672);

double seconds(hp::extent_t picoseconds) { return static_cast<double>(picoseconds) / 1e12; }

/// Sequences of so many tokens, and the seconds measured on one H100: rows `decode` (by a graph) and `prefill`.
struct served {
  const hp::decoder& model;
  int tp;
  hp::extent_t sequences, tokens;
  double measured;
};

// Nothing is fitted to these rows: kernels are counted, and each has the edges and the bandwidth of passes that were measured alone.
TEST(StackTimeServing, DecodingIsThatMeasured) {
  double sum = 0;
  const served rows[] = {{of_8b, 1, 1, 1024, 0.00768194},  {of_8b, 1, 16, 2048, 0.00917661},
                         {of_8b, 1, 64, 2048, 0.0136721},  {of_8b, 1, 128, 1024, 0.014322},
                         {of_8b, 1, 8, 16384, 0.013717},   {of_70b, 8, 16, 2048, 0.0140956},
                         {of_70b, 8, 64, 4096, 0.0167153}, {of_3b, 1, 32, 4096, 0.00933424}};
  for (const served& r : rows) {
    const hp::stack_serving_time t = hp::stack_decode_time(r.model, r.tp, r.sequences, r.tokens, h100);
    ASSERT_TRUE(t.ok());
    EXPECT_TRUE(t.measured);
    const double error = seconds(t.device) / r.measured - 1;
    std::printf("decode of %3lld by %5lld: %.2f ms, measured %.2f ms\n", static_cast<long long>(r.sequences),
                static_cast<long long>(r.tokens), 1e3 * seconds(t.device), 1e3 * r.measured);
    EXPECT_LE(std::abs(error), 0.1);
    EXPECT_GE(t.eager, t.device);
    sum += std::abs(error);
  }
  EXPECT_LE(sum / 8, 0.04);
}

TEST(StackTimeServing, PromptsAreThoseMeasured) {
  for (const served& r :
       {served{of_8b, 1, 1, 2048, 0.0538083}, served{of_8b, 1, 1, 8192, 0.235924}, served{of_8b, 1, 1, 32768, 1.28281},
        served{of_8b, 1, 16, 512, 0.21336}, served{of_3b, 1, 4, 4096, 0.212374}})
    EXPECT_LE(
        std::abs(seconds(hp::stack_prefill_time(r.model, r.tp, r.sequences, r.tokens, h100).eager) / r.measured - 1),
        0.08);
}

// Weights and cache pass memory once at least; more sequences, a longer context and more layers take no less.
TEST(StackTimeServing, KeepsTheDataSheetAndRises) {
  for (const hp::decoder& d : {of_3b, of_8b, of_70b})
    for (const int tp : {1, 4, 8})
      for (hp::extent_t sequences = 1; sequences <= 256; sequences *= 4)
        for (hp::extent_t context = 256; context <= 65'536; context *= 16) {
          const auto decode = [&](const hp::decoder& of, hp::extent_t of_sequences, hp::extent_t tokens) {
            return hp::stack_decode_time(of, tp, of_sequences, tokens, h100).device;
          };
          ASSERT_TRUE(hp::has_serving_kernels(d, tp));
          const hp::extent_t time = decode(d, sequences, context);
          const hp::extent_t key_heads = std::max<hp::extent_t>(8 / tp, 1);
          const hp::extent_t weights =
                                 2 * (d.layers * (d.hidden * 128 * (2 * d.attention.query_heads / tp + 2 * key_heads) +
                                                  3 * d.hidden * d.feed_forward.width / tp) +
                                      d.hidden * d.vocabulary / tp),
                             cache = 4 * d.layers * sequences * context * 128 * key_heads;
          EXPECT_GE(time, hp::work_time(weights + cache, 1, 1, h100.tier[0].bandwidth).picoseconds);
          EXPECT_GE(decode(d, 2 * sequences, context), time);
          EXPECT_GE(decode(d, sequences, 2 * context), time);
          hp::decoder deeper = d;
          ++deeper.layers;
          EXPECT_GT(decode(deeper, sequences, context), time);
        }
}

// What has no such kernels says so.
TEST(StackTimeServing, OtherBlocksHaveNoKernels) {
  EXPECT_FALSE(hp::has_serving_kernels(small_decoders::with_experts(), 1));
  EXPECT_FALSE(hp::has_serving_kernels(small_decoders::latent(), 1));
  EXPECT_FALSE(hp::has_serving_kernels(of_8b, 3));
  EXPECT_TRUE(hp::has_serving_kernels(small_decoders::dense(), 1));
}

constexpr hp::stack_serving_time constant = hp::stack_decode_time(of_8b, 1, 16, 2048, h100);

TEST(StackTimeServing, ConstantsAreThoseOfRunTime) {
  EXPECT_EQ(hp::stack_decode_time(of_8b, 1, 16, 2048, h100), constant);
}

}  // namespace
