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
  expect_binary("add", hp::elementwise<hp::ops::sum>{}, hp::i64);
  expect_binary("sub", hp::elementwise<hp::ops::subtract>{}, hp::i64);
  expect_binary("mul", hp::elementwise<hp::ops::multiply>{}, hp::i64);
  expect_binary("div", hp::elementwise<hp::ops::divide>{}, hp::f64, {}, powers);
  expect_binary("minimum", hp::elementwise<hp::ops::minimum>{}, hp::i64);
  expect_binary("maximum", hp::elementwise<hp::ops::maximum>{}, hp::i64);
  expect_binary("pow", hp::elementwise<hp::ops::pow>{}, hp::i64, {}, small);
  expect_binary("mod", hp::elementwise<hp::ops::mod>{}, hp::i64, {}, positive);
  expect_binary("floor_div", hp::elementwise<hp::ops::floor_div>{}, hp::i64, {}, positive);
  expect_binary("swiglu", hp::elementwise<hp::ops::swiglu>{}, hp::f64, {}, {},
                1e-9);  // a partial sum passes in the second
}

TEST(dtensor_elementwise, comparisons_and_truth_values) {
  expect_binary("equal", hp::elementwise<hp::ops::equal>{}, hp::i64);
  expect_binary("not_equal", hp::elementwise<hp::ops::not_equal>{}, hp::i64);
  expect_binary("less", hp::elementwise<hp::ops::less>{}, hp::i64);
  expect_binary("less_equal", hp::elementwise<hp::ops::less_equal>{}, hp::i64);
  expect_binary("greater", hp::elementwise<hp::ops::greater>{}, hp::i64);
  expect_binary("greater_equal", hp::elementwise<hp::ops::greater_equal>{}, hp::i64);
  expect_binary("logical_and", hp::elementwise<hp::ops::logical_and>{}, hp::i64, truths, truths);
  expect_binary("logical_or", hp::elementwise<hp::ops::logical_or>{}, hp::boolean, truths, truths);
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
