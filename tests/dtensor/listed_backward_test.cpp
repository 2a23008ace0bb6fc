// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/listed_backward.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
namespace ops = hp::ops;

// What a text says, in the compiler.
constexpr hp::gradient_writer of_norm = hp::detail::gradient_of_type<ops::rms_norm>;
static_assert(of_norm.count == 1 && hp::detail::parts_read(of_norm.rule[0]) == 3);
static_assert(hp::detail::parts_made(of_norm.rule[0]) == 2);
static_assert(hp::detail::reads_part(of_norm.rule[0], 'x', 1) && !hp::detail::reads_part(of_norm.rule[0], 'y', 0));
static_assert(hp::detail::gradient_of_type<ops::adamw>.count == 0);

using rows = tensor<on<"dp", none>, 4, 8>;
using weights = tensor<on<none, "tp">, 8, 6>;
using made = tensor<on<"dp", "tp">, 4, 6>;

template <class Operator, hp::fixed_string Text, class... Operand>
using forward = hp::operation<hp::listed<Operator, Text>{}, typename Operand::extents...>;

TEST(ListedBackward, OfAProductIsAProduct) {
  using product = forward<ops::contract, "rk,kc->rc", rows, weights>;
  const auto dx = hp::apply<hp::detail::listed_backward<ops::contract, product, 0>{}>(waves<made>(), waves<weights>(1));
  static_assert(std::is_same_v<layout_of<decltype(dx)>, on<"dp", none, hp::partial("tp")>>);
  const auto dw = hp::apply<hp::detail::listed_backward<ops::contract, product, 1>{}>(waves<made>(), waves<rows>(2));
  static_assert(std::is_same_v<layout_of<decltype(dw)>, on<none, "tp", hp::partial("dp")>>);
  EXPECT_EQ(dx.full_tensor(), (hp::apply<ops::contract, "rc,kc->rk">(waves<made>(), waves<weights>(1)).full_tensor()));
  EXPECT_EQ(dw.full_tensor(), (hp::apply<ops::contract, "rc,rk->kc">(waves<made>(), waves<rows>(2)).full_tensor()));
}

// What only the forward operands had comes back with its extent.
TEST(ListedBackward, CreatedFactorsHaveTheirExtents) {
  using total = forward<ops::reduce, "rc->r", rows>;
  const auto dx = hp::apply<hp::detail::listed_backward<ops::reduce, total, 0>{}>(waves<tensor<on<"dp">, 4>>());
  static_assert(std::is_same_v<std::remove_const_t<decltype(dx)>, rows>);
  const auto g = waves<tensor<on<"dp">, 4>>().full_tensor();
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(dx.full_tensor()[i], g[i / 8]);
}

// Where run time alone knows that extent, the shapes of the forward operands say it.
TEST(ListedBackward, CreatedFactorsHaveTheExtentsOfRunTime) {
  using some = tensor<on<"dp", none>, hp::dyn(2), hp::dyn>;
  using total = forward<ops::reduce, "rc->r", some>;
  using backward = hp::detail::listed_backward<ops::reduce, total, 0>;
  const hp::shape taken[] = {hp::shape(4, 8)};
  const hp::detail::listed_backward_of_shapes<ops::reduce, total, 0> run{{}, taken};
  const auto dx = hp::apply_as<backward{}>(run, waves<tensor<on<"dp">, 4>>());
  static_assert(std::is_same_v<std::remove_const_t<decltype(dx)>, tensor<on<"dp", none>, 4, hp::dyn>>);
  EXPECT_EQ(dx.shape(), hp::shape(4, 8));
  EXPECT_EQ(dx.full_tensor()[31], (waves<tensor<on<"dp">, 4>>().full_tensor()[3]));
}

TEST(ListedBackward, ADirectionIsTurned) {
  using heads = tensor<on<"dp", none, none, none>, 2, 3, 2, 4>;
  const hp::operator_attributes turn{.integer = {1}, .real = {100}};
  const auto y = hp::apply<ops::rope>(turn, waves<heads>());
  using turned = forward<ops::rope, "", heads>;
  using backward = hp::detail::listed_backward<ops::rope, turned, 0>;
  const auto back = hp::apply_as<backward{}>(backward{turn}, y);
  const std::vector<double> x = waves<heads>().full_tensor(), got = back.full_tensor();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], x[i], 1e-14);
}

struct kernelless_gradient {
  static constexpr const char *name = "kernelless_gradient", *text = "*->*";
};
struct halved {
  static constexpr const char *name = "halved", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<kernelless_gradient>("g0>0");
  }
};

using of_halved = hp::detail::listed_backward<halved, forward<halved, "", rows>, 0>;
static_assert(!hp::applies<of_halved{}, rows>, "its backward operator has no kernel");
using of_silu = hp::detail::listed_backward<ops::silu, forward<ops::silu, "", rows>, 0>;
static_assert(hp::applies<of_silu{}, rows, rows>);

}  // namespace
