// SPDX-License-Identifier: Apache-2.0
#include "launch/folded_experts.hpp"

#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

const hp::decoder moe = hp::test::llama3_8b_with_experts(64, 2048);

/// Where it says nothing, all experts lie on as many ranks as ep says, each cut as etp says, and the degrees are the devices'.
TEST(folded_experts, ranks_are_those_of_ep) {
  int folded = 0, refused = 0;
  for (const bool context_first : {false, true})
    for (const int data : {1, 2, 3, 8})
      for (const int cp : {1, 2, 4})
        for (const int tp : {1, 2, 4})
          for (const int ep : {1, 2, 3, 4, 8, 16, 32})
            for (const int etp : {1, tp}) {
              hp::decoder_plan p{.tp = tp, .cp = cp};
              const launch::expert_ranks r{
                  .ep = ep, .etp = etp, .data = data, .cp = cp, .tp = tp, .context_first = context_first};
              if (const std::string why = launch::fold_experts(moe, r, p); !why.empty()) {
                ++refused;
                continue;
              }
              ++folded;
              ASSERT_EQ(hp::detail::expert_ranks_of(p), ep);
              ASSERT_EQ(hp::detail::expert_widths_of(p), etp);
              ASSERT_EQ(data % p.ep, 0);
              ASSERT_TRUE(!context_first || cp == 1 || p.experts_along_cp);
              ASSERT_FALSE(!context_first && p.experts_along_cp && data % (ep / (etp < tp ? tp : 1)) == 0);
            }
  EXPECT_GT(folded, 100);
  EXPECT_GT(refused, 100);
}

TEST(folded_experts, what_cannot_be_is_said) {
  hp::decoder_plan p;
  EXPECT_EQ(launch::fold_experts(hp::test::llama3_8b, {.ep = 2, .data = 2}, p), "the config.json has no experts");
  EXPECT_EQ(launch::fold_experts(moe, {.ep = 4, .data = 2}, p),
            "ep=4 x etp=1 are 4 ranks, of which the 2 of a stage are no multiple");
  EXPECT_EQ(launch::fold_experts(moe, {.ep = 3, .data = 3}, p), "64 experts do not divide by ep=3");
  EXPECT_EQ(launch::fold_experts(moe, {.ep = 2, .etp = 2, .data = 8, .tp = 4}, p), "known: an etp of 1, or of tp, 4");
  EXPECT_EQ(launch::fold_experts(moe, {.ep = 2, .data = 8, .tp = 4}, p),
            "with an etp of 1, known: an ep that is a multiple of tp, 4");
  EXPECT_EQ(launch::fold_experts(moe, {.ep = 4, .data = 1, .cp = 8}, p),
            "known: an ep that data ranks, 1, or these and all context ranks, 8, divide by");
  p = {};
  EXPECT_EQ(launch::fold_experts(moe, {.ep = 4, .data = 8, .cp = 2, .tp = 4, .context_first = true}, p),
            "known: an ep that is a multiple of cp x tp, 2 x 4");
}

}  // namespace
