// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/mpmd/moe_layer.hpp>

namespace hp = hyperparallel;

namespace {

constexpr hp::moe_layer deepseek{7168, 2048, 64, 8, 8 * 4096};

static_assert(hp::check(deepseek, 8).code == hp::moe_code::ok);
static_assert(hp::routed_rows(deepseek) == 262144);
static_assert(hp::forward_flops(deepseek) == 8 * 2886218022912);  // 2.886 TFLOP a rank, moe-cost-model

TEST(moe_layer, accepts_exactly_the_divisors) {
  for (int devices = 1; devices <= 70; ++devices) {
    const bool divides = deepseek.experts % devices == 0 && deepseek.tokens % devices == 0;
    EXPECT_EQ(hp::check(deepseek, devices).code == hp::moe_code::ok, divides) << devices;
  }
}

TEST(moe_layer, says_what_does_not_fit) {
  EXPECT_EQ(hp::check(deepseek, 48), (hp::moe_status{hp::moe_code::experts_do_not_divide_over_devices, 64, 48}));
  hp::moe_layer odd = deepseek;
  odd.tokens = 4100;
  EXPECT_EQ(hp::check(odd, 8), (hp::moe_status{hp::moe_code::tokens_do_not_divide_over_devices, 4100, 8}));
  EXPECT_EQ(hp::check(odd, 4).code, hp::moe_code::rows_do_not_divide_over_experts);
  hp::moe_layer greedy = deepseek;
  greedy.top_k = 65;
  EXPECT_EQ(hp::check(greedy, 1).code, hp::moe_code::top_k_exceeds_experts);
  EXPECT_EQ(hp::check(deepseek, 0).code, hp::moe_code::size_is_not_positive);
  EXPECT_EQ(hp::check({}, 1).code, hp::moe_code::size_is_not_positive);
}

TEST(moe_layer, every_code_has_a_sentence) {
  for (int c = 0; c <= static_cast<int>(hp::moe_code::rows_do_not_divide_over_experts); ++c)
    EXPECT_STRNE(hp::to_text(static_cast<hp::moe_code>(c)), "unknown");
}

TEST(moe_layer, weights_of_one_expert) {
  EXPECT_EQ(hp::gate_up_elements(deepseek), 7168 * 4096);
  EXPECT_EQ(hp::down_elements(deepseek), 2048 * 7168);
}

}  // namespace
