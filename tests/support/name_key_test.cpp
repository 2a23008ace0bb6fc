// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/name_key.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace hp = hyperparallel;
using namespace hp::literals;

static_assert(std::is_same_v<decltype("up.weight"_n), hp::name_key<"up.weight">>);
static_assert(std::is_empty_v<hp::name_key<"x">>);
constexpr auto rate = "rate"_n = 0.5;
static_assert(std::is_same_v<decltype(rate), const hp::named_value<"rate", double>> && rate.value == 0.5);
static_assert(hp::detail::same_text(rate.name.text, "rate"));

TEST(NameKey, NamesAValueOfAnyType) {
  const auto named = "numbers"_n = std::pair(1, 2);
  EXPECT_EQ(named.value.second, 2);
  EXPECT_STREQ(named.name.text, "numbers");
}

}  // namespace
