// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/variable.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
using pending = tensor<on<"dp", none, hp::partial("tp")>, 4, 8>;
using rows = tensor<on<"dp", none>, 4, 8>;
using cut = tensor<on<"dp", "tp">, 4, 8>;

template <class Tensor>
auto start(const Tensor& x) {
  using node = hp::detail::argument_node<0, Tensor>;
  return hp::variable<node, 0, Tensor>(hp::detail::plain_node(&hp::detail::kind_of_node<node>, x.shape(), {}), x);
}
static_assert(hp::variable_type<decltype(start(waves<rows>()))> && !hp::variable_type<rows>);
static_assert(hp::traced_operands<rows, decltype(start(waves<rows>()))> && !hp::traced_operands<rows, rows>);
static_assert(std::is_same_v<hp::detail::gradient_tensor<pending>, rows>);
static_assert(std::is_same_v<hp::detail::gradient_tensor<cut>, cut>);

/// The gradient that comes out of a redistribution's node.
template <class Variable, class Gradient>
auto backward(const Variable& y, const Gradient& g) {
  using way = typename Variable::source::node_type::way_back;
  hp::detail::gradient_parts parts;
  const auto given = way::backward(*y.origin().node, std::tuple(g), parts);
  return typename boost::mp11::mp_front<std::remove_const_t<decltype(given)>>::tensor(parts[0].gradient);
}

TEST(Variable, IsATensorThatKnowsItsNode) {
  const auto x = start(waves<pending>());
  EXPECT_EQ(x.value().full_tensor(), waves<pending>().full_tensor());
  EXPECT_EQ(x.origin().node->results, std::vector<hp::shape>{(hp::shape{4, 8})});
  const auto y = x.reduce_partial();
  static_assert(std::is_same_v<typename std::remove_const_t<decltype(y)>::tensor, rows>);
  EXPECT_LT(x.origin().node->number, y.origin().node->number);
}

TEST(Variable, GradientsComeBackToWhereTheValueLies) {
  const auto x = start(waves<pending>());
  const auto back = backward(x.redistribute<on<"dp", "tp">>(), waves<cut>(1));  // reduce-scatter and all-gather
  static_assert(std::is_same_v<std::remove_const_t<decltype(back)>, rows>);
  EXPECT_EQ(back.full_tensor(), waves<cut>(1).full_tensor());
  const auto reduced = backward(start(waves<cut>()).redistribute<on<"dp", none>>(), waves<pending>(2));
  static_assert(std::is_same_v<std::remove_const_t<decltype(reduced)>, cut>);  // all-gather and reduce-scatter
  EXPECT_EQ(reduced.full_tensor(), waves<pending>(2).full_tensor());
}

TEST(Variable, ALayoutOfTheGradientAlone) {
  const auto x = start(waves<rows>());
  const auto y = x.redistribute_gradient<on<"dp", "tp">>();
  EXPECT_EQ(y.value().full_tensor(), x.value().full_tensor());
  static_assert(std::is_same_v<typename std::remove_const_t<decltype(y)>::layout, rows::layout>);
  const auto back = backward(y, waves<pending>(1));
  static_assert(std::is_same_v<std::remove_const_t<decltype(back)>, cut>);
}

}  // namespace
