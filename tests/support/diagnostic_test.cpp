// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/diagnostic.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace hp = hyperparallel;

struct dp {
  static constexpr const char* text = "dp!";
  static constexpr int length = 2;
};
struct nothing {
  static constexpr const char* text = "";
  static constexpr int length = 0;
};

static_assert(std::is_same_v<hp::spelled<hp::alias, dp>, hp::alias<'d', 'p'>>);
static_assert(std::is_same_v<hp::spelled<hp::axes_named, nothing>, hp::axes_named<>>);
static_assert(hp::insist<hp::accepted>::met);

TEST(diagnostic, a_name_is_spelled_to_its_length_only) {
  const bool same = std::is_same_v<hp::spelled<hp::alias, dp>, hp::alias<'d', 'p'>>;
  EXPECT_TRUE(same);
}

}  // namespace
