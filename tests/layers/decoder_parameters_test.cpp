// SPDX-License-Identifier: Apache-2.0
// Counts of decoders are those of published checkpoints, digit for digit, part by part.

#include "decoder_shapes.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/decoder_parameters.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

static_assert(hp::parameters_of(llama3_8b) ==
              hp::decoder_parameters<>{.embedding = 128256 * 4096,
                                       .attention = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024),
                                       .feed_forward = 32LL * 3 * 4096 * 14336,
                                       .norms = 65 * 4096,
                                       .head = 128256 * 4096});
static_assert(hp::parameters_of(llama3_8b).total() == 8'030'261'248);
static_assert(hp::active_parameters_of(llama3_8b) == hp::parameters_of(llama3_8b));
static_assert(hp::cached_elements_per_token(llama3_8b) == 65536);

static_assert(hp::parameters_of(qwen25_0_5b).total() == 494'032'768);
static_assert(hp::parameters_of(qwen25_0_5b).head == 0);

static_assert(hp::parameters_of(qwen3_30b_a3b).total() == 30'532'122'624);
static_assert(hp::active_parameters_of(qwen3_30b_a3b).total() == 3'353'032'704);

static_assert(hp::parameters_of(qwen15_moe).total() == 14'315'784'192);
static_assert(hp::parameters_of(qwen15_moe).shared_experts == 24LL * (3 * 2048 * 5632 + 2048));

static_assert(hp::parameters_of(deepseek_v3).total() == 671'026'419'200);
static_assert(hp::parameters_of(deepseek_v3).prediction == 13'463'426'304);
static_assert(hp::parameters_of(deepseek_v3).total_with_prediction() == 684'489'845'504);
static_assert(hp::active_parameters_of(deepseek_v3).total() == 37'552'297'472);
static_assert(hp::cached_elements_per_token(deepseek_v3) == 61 * (512 + 64));

static_assert(hp::parameters_of(gpt2).total() == 124'439'808 && hp::parameters_of(gpt2).positions == 1024 * 768);
static_assert(hp::parameters_of(pythia_70m).total() == 70'426'624);
static_assert(hp::parameters_of(gemma2_27b).total() == 27'227'128'320);
static_assert(hp::parameters_of(gpt_oss_20b).total() == 20'914'757'184);
static_assert(hp::active_parameters_of(gpt_oss_20b).total() == 4'187'440'704);
// Its model card counts 3.61 billion active ones: without the table of the embedding, to the last digit that it prints.
static_assert(hp::active_parameters_of(gpt_oss_20b).total() - hp::active_parameters_of(gpt_oss_20b).embedding ==
              3'608'307'264);

TEST(DecoderParameters, PartsOfASmallOne) {
  // Five layers; numbers 1 and 3 have experts.
  const hp::decoder_parameters<> p = hp::parameters_of(small_decoder(false, true));
  EXPECT_EQ(p.embedding, 16 * 8);
  EXPECT_EQ(p.attention, 5 * (8 * 24 + 24 + 2 * (8 * 12 + 12) + 24 * 8 + 8));
  EXPECT_EQ(p.feed_forward, 3 * (3 * 8 * 12 + 12 + 12 + 8));
  EXPECT_EQ(p.experts, 2 * 4 * 3 * 8 * 5);
  EXPECT_EQ(p.shared_experts, 2 * (3 * 8 * 7 + 8));
  EXPECT_EQ(p.router, 2 * (8 * 4 + 4));
  EXPECT_EQ(p.norms, 5 * (2 * 8 + 2 * 6) + 8);
  EXPECT_EQ(p.head, 16 * 8);
  EXPECT_EQ(hp::active_parameters_of(small_decoder(false, true)).experts, 2 * 2 * 3 * 8 * 5);
}

TEST(DecoderParameters, SizesThatLeave64BitsAreSeen) {
  EXPECT_TRUE(hp::parameters_fit(deepseek_v3));
  hp::decoder d = deepseek_v3;
  d.hidden = d.experts.width = d.experts.experts = 1 << 24;
  EXPECT_FALSE(hp::parameters_fit(d));
}

}  // namespace
