// SPDX-License-Identifier: Apache-2.0
// The text of a plan carries its kind, steps, messages, amounts and a ratio that is 1.0000 only at the bound.

#include <hyperparallel/report/format_plan.hpp>

#include <gtest/gtest.h>

#include <string>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

TEST(format_plan, says_the_figures_of_every_small_plan) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::shape s = worlds::divisible_shape(m, 2);
  for (const hp::layout_value& from : worlds::all_layouts(m, 2))
    for (const hp::layout_value& to : worlds::all_layouts(m, 2)) {
      const hp::redistribution_plan p = hp::plan_redistribution(from, to, s);
      const std::string text = fmt::format("{}", p), name = hp::name_of(p.kind);
      EXPECT_EQ(text.substr(0, name.size() + 2), name + ": ");
      EXPECT_EQ(text.find("nothing is sent") != std::string::npos, p.steps == 0);
      if (p.steps == 0) continue;
      EXPECT_NE(text.find(std::to_string(p.messages) + " message"), std::string::npos);
      EXPECT_NE(text.find(std::to_string(p.received_maximum) + " element"), std::string::npos);
      EXPECT_NE(text.find("bound " + std::to_string(p.lower_bound)), std::string::npos);
      EXPECT_EQ(text.ends_with("ratio 1.0000"), p.received_maximum == p.lower_bound);
    }
}

TEST(format_plan, golden) {
  hp::redistribution_plan p;
  EXPECT_EQ(fmt::format("{}", p), "no-op: nothing is sent");
  p.kind = hp::plan_kind::all_to_all;
  p.steps = 1;
  p.messages = 3;
  p.received_maximum = p.lower_bound = 3 << 20;
  EXPECT_EQ(fmt::format("{}", sized(p, 2)),
            "all-to-all: 1 step, 3 messages, 6.0 MiB received, bound 6.0 MiB, ratio 1.0000");
  p.messages = 1;
  p.received_maximum = 100'001;
  p.lower_bound = 100'000;
  EXPECT_EQ(fmt::format("{}", p),
            "all-to-all: 1 step, 1 message, 100001 elements received, bound 100000 elements, ratio 1.0001");
  EXPECT_EQ(fmt::format("{}", hp::exchange_box{3, hp::box{{0, 2}, {4, 8}}}), "from 3: [0:2, 4:8]");
}

TEST(format_plan, a_refusal_carries_the_sides_complaint) {
  const hp::mesh_shape m{1, {2}};
  hp::layout_value cut = hp::replicated(m, 1);
  hp::append_cut(cut, {0, 0, 1, 2});
  const hp::layout_value whole = hp::replicated(m, 1);
  EXPECT_EQ(fmt::format("{}", hp::plan_redistribution(cut, whole, hp::shape{7})),
            "the source refuses the shape: dim 0 of extent 7 does not divide by its 2 shards");
  EXPECT_EQ(fmt::format("{}", hp::plan_redistribution(whole, cut, hp::shape{7}).status),
            "the target refuses the shape: dim 0 of extent 7 does not divide by its 2 shards");
  EXPECT_EQ(fmt::format("{}", hp::plan_redistribution(whole, hp::replicated({1, {3}}, 1), hp::shape{6})),
            "source and target are on different meshes");
}

}  // namespace
