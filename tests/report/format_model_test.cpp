// SPDX-License-Identifier: Apache-2.0
// Descriptions carry their sizes, refusals the sizes that did not fit.

#include <hyperparallel/report/format_model.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

constexpr hp::moe_layer layer{7168, 2048, 64, 8, 4096};

TEST(format_model, golden) {
  EXPECT_EQ(fmt::format("{}", layer), "MoE layer: hidden 7168, intermediate 2048, 64 experts, top-8, 4096 tokens");
  EXPECT_EQ(fmt::format("{}", hp::check(layer, 8)), "ok");
  EXPECT_EQ(fmt::format("{}", hp::check(layer, 5)), "the experts do not divide over the devices (64 over 5 devices)");
}

TEST(format_model, windows_name_the_tensor) {
  const hp::use_range uses[] = {{0, 3}, {1, 2}};
  hp::window_place places[2];
  EXPECT_EQ(fmt::format("{}", hp::plan_window(uses, 2, 2, places)), "ok");
  EXPECT_EQ(fmt::format("{}", hp::plan_window(uses, 2, 1, places)),
            "more tensors are in use at once than there are buffers (tensor 1)");
  EXPECT_EQ(fmt::format("{}", hp::plan_window(uses, 2, 0, places)),
            "the window has no buffer, or more than the planner takes (0 buffers)");
}

}  // namespace
