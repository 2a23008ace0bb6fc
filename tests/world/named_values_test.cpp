// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/named_values.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace {

namespace hp = hyperparallel;
using namespace hp::literals;

TEST(NamedValues, AreReadAndWrittenByName) {
  auto v = hp::values("rate"_n = 0.5, "steps"_n = 50, "name"_n = std::string("mlp"));
  static_assert(decltype(v)::size == 3 && decltype(v)::has<"steps"> && !decltype(v)::has<"step">);
  static_assert(std::is_same_v<decltype(v["steps"_n]), int&>);
  v["steps"_n] += 1;
  EXPECT_EQ(v["steps"_n], 51);
  const auto& same = v;
  static_assert(std::is_same_v<decltype(same["rate"_n]), const double&>);
  EXPECT_EQ(same["name"_n], "mlp");
}

// What a longer name begins with is another name.
TEST(NamedValues, NamesAreWhole) {
  const auto v = hp::values("a"_n = 1, "ab"_n = 2, "a.b"_n = 3);
  EXPECT_EQ(v["a"_n] * 100 + v["ab"_n] * 10 + v["a.b"_n], 123);
}

TEST(NamedValues, KeepTheirOrder) {
  auto v = hp::values("b"_n = 1, "a"_n = 2);
  std::string seen;
  v.for_each([&](auto key, int& value) { seen += std::string(key.name.text) + std::to_string(value++); });
  EXPECT_EQ(seen, "b1a2");
  EXPECT_EQ(v.unpack([](int first, int second) { return 10 * first + second; }), 23);
  const auto halves = v.transformed([](int x) { return x / 2.0; });
  static_assert(std::is_same_v<decltype(halves["b"_n]), const double&>);
  EXPECT_EQ(halves["a"_n], 1.5);
  const auto texts = decltype(v)::with(std::string("x"), std::string("y"));
  EXPECT_EQ(texts["b"_n] + texts["a"_n], "xy");
  const auto lengths = decltype(v)::with_keys([](auto key) { return key.name.size(); });
  EXPECT_EQ(lengths["a"_n], 1);
}

constexpr int sum_of(int a, int b) {
  const auto v = hp::values("a"_n = a, "b"_n = b);
  return v["a"_n] + v["b"_n];
}
static_assert(sum_of(2, 3) == 5, "in the compiler, too");

}  // namespace
