// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient_parts.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
using row = tensor<on<"dp">, 4>;
using pending = tensor<on<none, hp::partial("tp")>, 4>;

constexpr char one_kind = 0, another_kind = 0;

std::shared_ptr<const hp::detail::gradient_node> node(const void* kind) {
  return std::make_shared<const hp::detail::gradient_node>(kind, std::vector<hp::shape>{hp::shape{4}});
}
std::vector<double> sum_of(const hp::detail::gradient_parts& parts, const hp::detail::gradient_node& of) {
  return hp::full_tensor<double>(hp::detail::joined_gradient(parts, of, 0, hp::f64, row::layout::value));
}

TEST(GradientParts, NodesAreNumberedAsTheyAreMade) {
  const auto a = node(&one_kind), b = node(&another_kind), c = node(&one_kind);
  EXPECT_LT(a->number, b->number);
  EXPECT_LT(b->number, c->number);
  const auto x = waves<row>().dynamic();
  hp::detail::gradient_parts parts{{a, 0, 9, x}, {b, 0, 9, x}, {c, 0, 9, x}, {a, 0, 8, x}};
  const auto found = hp::detail::nodes_of_kind(parts, &one_kind);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0] == c && found[1] == a) << "the last made first, each once";
  hp::detail::forget_kind(parts, &one_kind);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].node, b);
}

// The order of a sum is that of the operators, not that of the parts: (1 + 1e16) - 1e16 is 0, and 2 the other way.
TEST(GradientParts, LaterOperatorsAreSummedFirst) {
  const auto a = node(&one_kind);
  const auto of = [](double v) { return hp::full<row>(group(), v).dynamic(); };
  for (const bool swapped : {false, true}) {
    hp::detail::gradient_parts parts{{a, 0, 30, of(1e16)}, {a, 0, 20, of(-1e16)}, {a, 0, 10, of(1)}};
    if (swapped) std::swap(parts[0], parts[2]);
    EXPECT_EQ(sum_of(parts, *a), std::vector<double>(4, 1.0));
  }
  const hp::detail::gradient_parts reversed{{a, 0, 10, of(1e16)}, {a, 0, 20, of(-1e16)}, {a, 0, 30, of(1)}};
  EXPECT_EQ(sum_of(reversed, *a), std::vector<double>(4, 0.0));
}

TEST(GradientParts, LayoutsAreBroughtTogether) {
  const auto a = node(&one_kind), none_of_it = node(&one_kind);
  const auto x = waves<row>(1), y = waves<row>(2);
  const hp::detail::gradient_parts parts{{a, 0, 2, x.dynamic()},
                                         {a, 0, 1, y.redistribute<pending::layout>().dynamic()},
                                         {a, 1, 3, waves<row>(3).dynamic()}};
  const std::vector<double> got = sum_of(parts, *a), first = x.full_tensor(), second = y.full_tensor();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got[i], first[i] + second[i]);
  EXPECT_EQ(sum_of(parts, *none_of_it), std::vector<double>(4, 0.0));
}

TEST(GradientParts, PendingSumsStayPending) {
  const auto a = node(&one_kind);
  const auto x = waves<pending>(1), y = waves<pending>(2);
  const hp::detail::gradient_parts parts{{a, 0, 2, x.dynamic()}, {a, 0, 1, y.dynamic()}};
  const hp::dynamic_dtensor sum = hp::detail::joined_gradient(parts, *a, 0, hp::f64, pending::layout::value);
  EXPECT_EQ(sum.layout(), pending::layout::value);
  const std::vector<double> got = hp::full_tensor<double>(sum), b = x.full_tensor(), c = y.full_tensor();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], b[i] + c[i], 1e-15);
}

}  // namespace
