// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/listed_operation.hpp>

#include <hyperparallel/dtensor/conversion.hpp>
#include <hyperparallel/dtensor/creation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace {

namespace hp = hyperparallel;
namespace ops = hp::ops;
using hp::extent_t;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <hp::map_entry... Entries>
using on = hp::layout<mesh, Entries...>;
constexpr auto none = hp::none;
using rows = hp::dtensor<float, hp::extents<4, 8>, on<"dp", none>>;
using whole = hp::dtensor<float, hp::extents<4, 8>, on<none, none>>;
using weights = hp::dtensor<float, hp::extents<8>, on<none>>;

const hp::rank_group& group() {
  static const hp::rank_group g(4, {.threads = 1});
  return g;
}
template <class Tensor>
Tensor waves(double phase = 0) {
  return hp::generate<Tensor>(group(), [phase](extent_t i) {
    return static_cast<typename Tensor::element>(std::sin(phase + 0.7 * static_cast<double>(i)));
  });
}

/// A user's operator of two results: doubled, and the position of each row in the whole.
struct doubled {
  static constexpr const char *name = "doubled", *text = "rc->rc,r";
  template <class T>
  static void run(const hp::operator_call& c, hp::const_view<T> x, hp::tensor_view<T> y, hp::tensor_view<T> row) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = 2 * x.data[i];
    for (extent_t i = 0; i < hp::volume(row); ++i) row.data[i] = static_cast<T>(c.loop[0].begin + i);
  }
};
struct line : hp::device_matrix<hp::axis{"dp", 4}> {};
/// A fold of the rows of a matrix by `Reduction`.
template <class Operator, hp::reduce_op Reduction>
struct by {
  static constexpr hp::listed<Operator, "ab->b"> value{{.reduction = Reduction}};
};
struct without_kernel {
  static constexpr const char *name = "without_kernel", *text = "*->*";
};

TEST(ListedOperation, AUsersOperatorHasItsLayoutInTheType) {
  const auto [y, row] = hp::apply<doubled>(waves<rows>());
  static_assert(std::is_same_v<decltype(y), const rows>);
  static_assert(std::is_same_v<decltype(row), const hp::dtensor<float, hp::extents<4>, on<"dp">>>);
  const std::vector<float> x = waves<rows>().full_tensor(), twice = y.full_tensor();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(twice[i], 2 * x[i]);
  EXPECT_EQ(row.full_tensor(), (std::vector<float>{0, 1, 2, 3}));
}

TEST(ListedOperation, BuiltInOperatorsTakeAttributesAndTexts) {
  const auto n = hp::apply<ops::rms_norm>({.real = {0.5}}, waves<rows>(), waves<weights>(2));
  static_assert(std::is_same_v<decltype(n), const rows>);
  const auto alone = hp::apply<ops::rms_norm>({.real = {0.5}}, waves<whole>(), waves<weights>(2));
  EXPECT_EQ(n.full_tensor(), alone.full_tensor());
  const auto other = hp::apply<ops::rms_norm>({.real = {0.1}}, waves<rows>(), waves<weights>(2));
  EXPECT_NE(n.full_tensor(), other.full_tensor()) << "epsilon is the attribute";

  // A summed factor that is sharded leaves the product a partial sum.
  using by_column = hp::dtensor<float, hp::extents<4, 8>, on<none, "tp">>;
  const auto product = hp::apply<ops::contract, "rk,sk->rs">(waves<by_column>(), waves<by_column>(1));
  static_assert(std::is_same_v<decltype(product),
                               const hp::dtensor<float, hp::extents<4, 4>, on<none, none, hp::partial("tp")>>>);
  const auto expected = hp::apply<ops::contract, "rk,sk->rs">(waves<whole>(), waves<whole>(1)).full_tensor();
  const std::vector<float> sum = product.full_tensor();
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], expected[i], 1e-6);
}

// Sixteen bits are loaded, computed with in float, and stored once.
TEST(ListedOperation, NarrowFloatsAreComputedInFloat) {
  using narrow_rows = hp::dtensor<hp::bf16_bits, hp::extents<4, 8>, on<"dp", none>>;
  using stored = hp::bf16_bits;
  const auto narrow = hp::generate<narrow_rows>(
      group(), [](extent_t i) { return hp::kernels::store<stored>(std::sin(0.7F * static_cast<float>(i))); });
  const auto wide = hp::generate<rows>(group(), [](extent_t i) {
    return hp::kernels::load(hp::kernels::store<stored>(std::sin(0.7F * static_cast<float>(i))));
  });
  const std::vector<stored> got = hp::apply<ops::silu>(narrow).full_tensor();
  const std::vector<float> expected = hp::apply<ops::silu>(wide).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].bits, hp::kernels::store<stored>(expected[i]).bits);
}

std::string refusal(const hp::rule_result& r) { return hp::name_of(r.status.code); }

// A device that has no part of a padded dim holds what a reduction over nothing gives.
TEST(ListedOperation, EmptyBlocksReduceToTheIdentity) {
  const hp::shape s(3, 2);
  hp::layout_value l = hp::replicated({1, {4}}, 2);
  hp::append_cut(l, {0, 0, 1, 4});
  l.padded = 1;
  const std::vector<float> x{-5, -6, -7, -8, -9, -10};
  const hp::dynamic_dtensor t = hp::distribute<float>(group(), s, l, x);
  const hp::listed<ops::reduce, "ab->b"> most{{.reduction = hp::reduce_op::max}};
  EXPECT_EQ(hp::full_tensor<float>(hp::apply(most, t)), (std::vector<float>{-5, -6}));
  const hp::listed<ops::reduce, "ab->b"> sum{};
  EXPECT_EQ(hp::full_tensor<float>(hp::apply(sum, t)), (std::vector<float>{-21, -24}));
}

/// A user's fold over rows by the reduction that the attributes name.
struct folded_rows {
  static constexpr const char *name = "folded_rows", *text = "ab->b";
  template <class T>
  static void run(const hp::operator_call& c, hp::const_view<T> x, hp::tensor_view<T> y) {
    const hp::reduce_op op = c.attributes->reduction;
    const extent_t columns = hp::volume(y);
    for (extent_t i = 0; i < hp::volume(x); ++i) {
      T& to = y.data[i % columns];
      const T next = x.data[i];
      if (i < columns)
        to = next;
      else
        to = op == hp::reduce_op::max ? std::max(to, next) : op == hp::reduce_op::min ? std::min(to, next) : to * next;
    }
  }
};

// The type in which a result is stored makes no difference to what an empty block holds.
template <class Stored>
class EmptyBlocks : public testing::Test {};
using stored_floats = testing::Types<float, double, hp::bf16_bits, hp::f16_bits>;
TYPED_TEST_SUITE(EmptyBlocks, stored_floats);
TYPED_TEST(EmptyBlocks, AreTheIdentityInEveryStoredType) {
  using padded_rows = hp::dtensor<TypeParam, hp::extents<5, 2>, hp::layout<line, hp::padded("dp"), none>>;
  const auto folded = [](auto listed, double sign) {
    const auto x = hp::generate<padded_rows>(group(), [sign](extent_t i) {  // 2, 2, 1 and 0 rows
      return hp::kernels::store<TypeParam>(sign * (1.0 + static_cast<double>(i % 3)));
    });
    std::vector<double> values;
    for (const TypeParam e : hp::apply_as<decltype(listed)::value>(decltype(listed)::value, x).full_tensor())
      values.push_back(static_cast<double>(hp::kernels::load(e)));
    return values;
  };
  using pair = std::vector<double>;
  EXPECT_EQ(folded(by<ops::reduce, hp::reduce_op::max>{}, -1), (pair{-1, -1}));
  EXPECT_EQ(folded(by<folded_rows, hp::reduce_op::max>{}, -1), (pair{-1, -1}));
  EXPECT_EQ(folded(by<folded_rows, hp::reduce_op::min>{}, 1), (pair{1, 1}));
  EXPECT_EQ(folded(by<folded_rows, hp::reduce_op::prod>{}, 1), (pair{1 * 3 * 2 * 1 * 3, 2 * 1 * 3 * 2 * 1}));
}

TEST(ListedOperation, NumbersOutOfRangeAreRefusedByPlace) {
  const hp::layout_value alone = hp::replicated({1, {4}}, 1);
  const std::vector<std::int32_t> ids{0, 7, 2};
  const std::vector<float> table(10, 1.0F);
  const hp::dynamic_dtensor t = hp::distribute<float>(group(), hp::shape(5, 2), hp::replicated({1, {4}}, 2), table);
  try {
    hp::apply(hp::listed<ops::embed>{}, hp::distribute<std::int32_t>(group(), hp::shape(extent_t{3}), alone, ids), t);
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("index 7 at [1], expected 0 to 4"), std::string::npos) << e.what();
  }
}

// Any negative label is none, as in models.
TEST(ListedOperation, NegativeLabelsPickNothing) {
  const hp::layout_value alone = hp::replicated({1, {4}}, 1);
  const std::vector<std::int32_t> labels{1, -1, -100};
  const std::vector<float> logits{1, 2, 3, 4, 5, 6};
  const hp::dynamic_dtensor x = hp::distribute<float>(group(), hp::shape(3, 2), hp::replicated({1, {4}}, 2), logits);
  const hp::dynamic_dtensor picked = hp::apply(
      hp::listed<ops::pick>{}, x, hp::distribute<std::int32_t>(group(), hp::shape(extent_t{3}), alone, labels));
  EXPECT_EQ(hp::full_tensor<float>(picked), (std::vector<float>{2, 0, 0}));
}

TEST(ListedOperation, WhatItCannotRunHasAStatus) {
  const hp::shape two[] = {hp::shape(2, 3), hp::shape(3, 4)};
  EXPECT_EQ(refusal((hp::listed<ops::contract, "mk,kn->mn">{}.rule(two, 2))), "ok");
  EXPECT_EQ(refusal((hp::listed<ops::contract, "mk,kn">{}.rule(two, 2))), "text_is_malformed");
  EXPECT_EQ(refusal((hp::listed<ops::contract, "(ab)k,kn->abn">{}.rule(two, 2))), "text_is_malformed");
  EXPECT_EQ(refusal((hp::listed<ops::contract, "mk,kn->mn">{}.rule(two, 1))), "operand_count_differs_from_text");
  // Experts and capacity of a dispatch are no operand's.
  const hp::shape routed[] = {hp::shape(2, 6, 8), hp::shape(2, 6, 2)};
  const hp::listed<ops::dispatch> dispatch{{}, {{'e', 'c'}, {4, 3}}};
  EXPECT_EQ(hp::result_shape(dispatch.rule(routed, 2).rule, routed, 2).shape, hp::shape(2, 4, 3, 8));
}

// What kernels do not compute in is no operand.
using halves = hp::dtensor<std::int64_t, hp::extents<4, 8>, on<"dp", none>>;
static_assert(hp::applies<hp::listed<ops::silu>{}, rows> && !hp::applies<hp::listed<ops::silu>{}, halves>);
static_assert(!hp::applies<hp::listed<ops::softmax>{}, hp::dtensor<float, hp::extents<4, 8>, on<none, "tp">>>);
static_assert(!hp::applies<hp::listed<without_kernel>{}, rows>);

constexpr hp::rule_code code_of_concat(hp::extent_t made) {
  const hp::shape x[] = {hp::shape{2, 3}, hp::shape{2, 4}};
  return hp::listed<hp::ops::concat, "bA,bB->bC">{.created = {{'C'}, {made}}}.rule(x, 2).status.code;
}
static_assert(code_of_concat(7) == hp::rule_code::ok);
static_assert(code_of_concat(6) == hp::rule_code::sizes_do_not_fit);

}  // namespace
