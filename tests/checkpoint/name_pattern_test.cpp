// SPDX-License-Identifier: Apache-2.0
// What is filled is matched again; what is no pattern is refused.

#include <hyperparallel/checkpoint/name_pattern.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace rs = hyperparallel::reshard;

TEST(NamePattern, NumbersComeBack) {
  const rs::numbers sizes = {{"dense", 3}};
  const rs::name_pattern p("model.layers.{layer+dense}.experts.{expert}.w");
  const rs::numbers n = {{"layer", 4}, {"expert", 12}};
  EXPECT_EQ(p.filled(n, sizes), "model.layers.7.experts.12.w");
  EXPECT_EQ(p.matched("model.layers.7.experts.12.w", sizes), n);
  for (const char* other : {"model.layers.2.experts.12.w", "model.layers.07.experts.12.w", "model.layers.7.experts..w",
                            "model.layers.7.experts.12.wx", "model.layers.-7.experts.1.w",
                            "model.layers.99999999999999999999.experts.1.w", ""})
    EXPECT_FALSE(p.matched(other, sizes)) << other;
  EXPECT_FALSE(p.filled({{"layer", 1}}, sizes));
}

TEST(NamePattern, NumbersMayBeBounded) {
  const rs::numbers sizes = {{"dense", 3}};
  const rs::name_pattern below("l.{layer<dense}.w"), least("l.{layer>=dense}.w"), twice("l.{layer}.{layer}");
  EXPECT_TRUE(below.matched("l.2.w", sizes));
  EXPECT_FALSE(below.matched("l.3.w", sizes));
  EXPECT_FALSE(below.filled({{"layer", 3}}, sizes));
  EXPECT_TRUE(least.matched("l.3.w", sizes));
  EXPECT_FALSE(least.matched("l.2.w", sizes));
  EXPECT_TRUE(twice.matched("l.2.2", sizes));
  EXPECT_FALSE(twice.matched("l.2.3", sizes));
}

TEST(NamePattern, WhatIsNoneIsRefused) {
  for (const char* text : {"a.{", "a.{}", "a.{layer", "{a}{b}", "{a}1", "{A}", "{a+}", "{a<}", "{a-b}"})
    EXPECT_THROW(rs::name_pattern{std::string(text)}, std::invalid_argument) << text;
}

TEST(NamePattern, GlobsHaveStars) {
  EXPECT_TRUE(rs::detail::is_glob_of("*.q_proj.*", "model.layers.0.q_proj.weight"));
  EXPECT_TRUE(rs::detail::is_glob_of("*", ""));
  EXPECT_TRUE(rs::detail::is_glob_of("a*b*c", "a.b.b.c"));
  EXPECT_FALSE(rs::detail::is_glob_of("a*b*c", "a.b.b.cd"));
  EXPECT_FALSE(rs::detail::is_glob_of("", "a"));
}
