// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/withheld.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace hp = hyperparallel;

namespace {

enum class kind : unsigned char { first, second };

template <class T>
constexpr bool holds_beside(T other) {
  constexpr hp::withheld w;
  return w == other && w != other && w < other && w <= other && w > other && w >= other && other == w && other != w &&
         other < w && other <= w && other > w && other >= w;
}
static_assert(holds_beside(0) && holds_beside(280U) && holds_beside(std::int64_t{-1}) && holds_beside(1.5));
static_assert(holds_beside(kind::second) && holds_beside(hp::withheld{}));

template <class T>
constexpr bool calculates_beside(T other) {
  constexpr hp::withheld w;
  return std::is_same_v<decltype(w + other), hp::withheld> && std::is_same_v<decltype(other + w), hp::withheld> &&
         std::is_same_v<decltype(w - other), hp::withheld> && std::is_same_v<decltype(other - w), hp::withheld> &&
         std::is_same_v<decltype(w * other), hp::withheld> && std::is_same_v<decltype(other * w), hp::withheld> &&
         std::is_same_v<decltype(w / other), hp::withheld> && std::is_same_v<decltype(other / w), hp::withheld> &&
         std::is_same_v<decltype(w % other), hp::withheld> && std::is_same_v<decltype(other % w), hp::withheld>;
}
static_assert(calculates_beside(2) && calculates_beside(std::int64_t{3}) && calculates_beside(hp::withheld{}));

static_assert(std::is_same_v<hp::kept_if<true, int>, int> && std::is_same_v<hp::kept_if<false, int>, hp::withheld>);

TEST(withheld, takes_the_place_of_a_number) {
  const hp::withheld from_number = 280;
  const std::int64_t bytes = from_number;
  const kind k = from_number;
  EXPECT_TRUE(static_cast<bool>(from_number));
  EXPECT_EQ(bytes, 1);
  EXPECT_EQ(k, kind::second);
  EXPECT_TRUE(from_number * 10 <= bytes);
}

}  // namespace
