// SPDX-License-Identifier: Apache-2.0
// Extents of names from those of a tensor.

#include "reshard/tensor_view.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rs = hp_tool::reshard;

TEST(TensorView, FindsWhatIsLeftOfADim) {
  const rs::tensor_view v = rs::parse_view("(g h d) i");
  EXPECT_EQ(v.names(), (std::vector<std::string>{"g", "h", "d", "i"}));
  const rs::numbers n = rs::solve_view(v, {96, 7}, {{"h", 3}, {"d", 8}, {"other", 5}}, "tensor 'q'");
  EXPECT_EQ(n, (rs::numbers{{"g", 4}, {"h", 3}, {"d", 8}, {"i", 7}}));
  EXPECT_TRUE(rs::parse_view("").dims.empty());
}

TEST(TensorView, RefusesInOneLine) {
  const auto told = [](const auto& work) {
    try {
      work();
    } catch (const rs::view_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const rs::tensor_view v = rs::parse_view("(g h) i");
  EXPECT_NE(told([&] { rs::solve_view(v, {96, 7}, {}, "tensor 'q'"); }).find("neither g nor h of (g h...) is known"),
            std::string::npos);
  EXPECT_NE(
      told([&] { rs::solve_view(v, {96, 7}, {{"h", 7}}, "tensor 'q'"); }).find("tensor 'q' has extent 96 in dim 0"),
      std::string::npos);
  EXPECT_NE(told([&] { rs::solve_view(v, {96}, {{"h", 7}}, "tensor 'q'"); }).find("1 dims, its view 2"),
            std::string::npos);
  EXPECT_NE(told([&] { rs::solve_view(v, {96, 7}, {{"h", 0}}, "tensor 'q'"); }).find("h is 0"), std::string::npos);
  for (const char* text : {"(a", "a)", "((a))", "()", "a a", "A", "a\nb"})
    EXPECT_NE(told([&] { rs::parse_view(text); }), "") << text;
}
