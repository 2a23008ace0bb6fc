// SPDX-License-Identifier: Apache-2.0
// `{}` prints to_text; width and alignment apply to the whole text.

#include <hyperparallel/report/text_formatter.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/report/format_mesh.hpp>
#include <hyperparallel/report/format_plan.hpp>

namespace hp = hyperparallel;

namespace {

TEST(text_formatter, pads_the_whole_text) {
  hp::mesh_shape m{2, {2, 4}};
  EXPECT_EQ(fmt::format("{}", m), to_text(m));
  EXPECT_EQ(fmt::format("[{:>6}]", m), "[   2x4]");
  EXPECT_EQ(fmt::format("[{:<6}]", m), "[2x4   ]");
  EXPECT_EQ(fmt::format("[{:*^7}]", m), "[**2x4**]");
}

TEST(text_formatter, takes_texts_that_are_literals) {
  EXPECT_EQ(fmt::format("{:>12}", hp::plan_kind::all_gather), "  all-gather");
}

TEST(text_formatter, lists_in_brackets) {
  const auto number = [](int i) { return std::to_string(i); };
  EXPECT_EQ(hp::report::detail::list_text(0, number), "()");
  EXPECT_EQ(hp::report::detail::list_text(1, number), "(0)");
  EXPECT_EQ(hp::report::detail::list_text(3, number, "[", "]"), "[0, 1, 2]");
}

}  // namespace
