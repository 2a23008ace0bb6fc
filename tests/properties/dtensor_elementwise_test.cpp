// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/elementwise.hpp>

#include <gtest/gtest.h>

#include "properties/operator_cases.hpp"

namespace {

namespace hp = hyperparallel;
namespace op = hp::operations;
using namespace properties;
using worlds::numbers;

/// Shapes that broadcast: dims missing at the left, or of size 1.
template <std::size_t Count>
std::array<hp::shape, Count> broadcast_shapes() {
  const hp::shape whole = any_dims(*rc::gen::inRange(1, 4));
  std::array<hp::shape, Count> shapes;
  for (hp::shape& s : shapes) {
    s = whole;
    if (*rc::gen::inRange(0, 3) != 0) continue;
    const int missing = *rc::gen::inRange(0, whole.rank + 1);
    s = hp::shape{};
    for (int d = missing; d < whole.rank; ++d) s.extent[s.rank++] = *rc::gen::inRange(0, 3) == 0 ? 1 : whole.extent[d];
  }
  return shapes;
}

template <class Description>
void expect_binary(const char* name, const Description& d, hp::data_type type, const numbers& a = {},
                   const numbers& b = {}, double tolerance = 0) {
  EXPECT_TRUE(holds(name, [&] {
    return drawn<Description, 2>{d, broadcast_shapes<2>(), {type, type}, {a, b}, tolerance};
  })) << name;
}

constexpr numbers positive{.low = 1, .high = 9};
constexpr numbers small{.low = 0, .high = 3};
constexpr numbers powers{.powers = true};
constexpr numbers truths{.truths = true};

TEST(dtensor_elementwise, functions_of_two) {
  expect_binary("add", op::add{}, hp::i64);
  expect_binary("sub", op::sub{}, hp::i64);
  expect_binary("mul", op::mul{}, hp::i64);
  expect_binary("div", op::div{}, hp::f64, {}, powers);
  expect_binary("minimum", op::minimum{}, hp::i64);
  expect_binary("maximum", op::maximum{}, hp::i64);
  expect_binary("pow", op::pow{}, hp::i64, {}, small);
  expect_binary("mod", op::mod{}, hp::i64, {}, positive);
  expect_binary("floor_div", op::floor_div{}, hp::i64, {}, positive);
  expect_binary("swiglu", op::swiglu{}, hp::f64, {}, {}, 1e-9);  // a partial sum passes in the second
}

TEST(dtensor_elementwise, comparisons_and_truth_values) {
  expect_binary("equal", op::equal{}, hp::i64);
  expect_binary("not_equal", op::not_equal{}, hp::i64);
  expect_binary("less", op::less{}, hp::i64);
  expect_binary("less_equal", op::less_equal{}, hp::i64);
  expect_binary("greater", op::greater{}, hp::i64);
  expect_binary("greater_equal", op::greater_equal{}, hp::i64);
  expect_binary("logical_and", op::logical_and{}, hp::i64, truths, truths);
  expect_binary("logical_or", op::logical_or{}, hp::boolean, truths, truths);
}

TEST(dtensor_elementwise, choices) {
  EXPECT_TRUE(holds("where", [] {
    return drawn<op::where, 3>{{}, broadcast_shapes<3>(), {hp::boolean, hp::i64, hp::i64}, {truths, {}, {}}};
  }));
  EXPECT_TRUE(holds("masked_fill", [] {
    std::array<hp::shape, 2> s = broadcast_shapes<2>();
    return drawn<op::masked_fill<int>, 2>{{1}, s, {hp::i64, hp::boolean}, {numbers{}, truths}};
  }));
}

}  // namespace
