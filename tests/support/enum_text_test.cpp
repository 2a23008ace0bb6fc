// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/enum_text.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

enum class colour : unsigned char { red, green };

constexpr const char* text_of(colour c) {
  constexpr const char* texts[] = {"warm", "cold"};
  return hp::detail::enum_text<colour::green>(texts, c);
}

TEST(enum_text, is_that_of_the_place) {
  EXPECT_STREQ(text_of(colour::red), "warm");
  EXPECT_STREQ(text_of(colour::green), "cold");
  EXPECT_STREQ(text_of(static_cast<colour>(2)), "unknown");
}

TEST(enum_text, a_name_is_that_of_the_place) {
  constexpr auto name_of = [](colour c) { return hp::detail::enum_name("red\0green", c); };
  EXPECT_STREQ(name_of(colour::red), "red");
  EXPECT_STREQ(name_of(colour::green), "green");
  EXPECT_STREQ(name_of(static_cast<colour>(2)), "unknown");
}

}  // namespace
