// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "dtensor/traced_world.hpp"

namespace {

using namespace small_world;

TEST(TracedFunctions, HaveTheValuesOfDtensors) {
  const auto x = waves<rows>(1);
  const auto w = waves<columns>(2);
  const auto t = waves<transposed>(3);
  const auto s = waves<weight>(4);
  expect_same_value([&](const auto& a) { return matmul(a, w); }, x);
  expect_same_value([&](const auto& a) { return linear(a, t); }, x);
  expect_same_value([&](const auto& a) { return rms_norm(a, s); }, x);
  expect_same_value([&](const auto& a) { return layer_norm(a, s, s); }, x);
  expect_same_value([](const auto& a) { return softmax(a); }, x);
  expect_same_value([](const auto& a) { return silu(a) + gelu(a) * sigmoid(a) - gelu_tanh(a); }, x);
  expect_same_value([&](const auto& a) { return swiglu(a, x) * 2.0; }, x);
  expect_same_value([](const auto& a) { return relu(a) / exp(a); }, x);
  expect_same_value([&](const auto& a) { return -(a - x) - 0.5 * neg(a); }, x);
  expect_same_value([&](const auto& a) { return sub(x, a); }, x);
  expect_same_value([](const auto& a) { return shift(a, 0.3) * (a - 2) + (a + 1); }, x);
  expect_same_value([](const auto& a) { return maximum(tanh(a), log(sqrt(exp(a)))); }, x);
  expect_same_value([&](const auto& a) { return div(exp(x), exp(mul(a, x))) + maximum(x, a); }, x);
  expect_same_value([](const auto& a) { return sum<0>(a); }, x);
  expect_same_value([](const auto& a) { return sum<-1, 0>(a); }, x);
  expect_same_value([](const auto& a) { return mean<1>(a); }, x);
  expect_same_value([](const auto& a) { return mean<0>(a); }, x);
  const auto id = hp::generate<labels>(group(), [](hp::extent_t i) { return static_cast<std::int32_t>(i % 3); });
  expect_same_value([&](const auto& a) { return cross_entropy(a, id); }, x);
  const auto table = hp::generate<hp::dtensor<std::int32_t, hp::extents<3>, on<none>>>(
      group(), [](hp::extent_t i) { return static_cast<std::int32_t>(3 - i); });
  expect_same_value([&](const auto& a) { return embedding(table, a); }, waves<whole>());
}

// Logits whose vocabulary is sharded: three sums of a row are reduced, the logits stay.
TEST(TracedFunctions, CrossEntropyOfAShardedVocabulary) {
  const auto mean_loss = [](const auto& logits, const auto& label) { return mean(cross_entropy(logits, label)); };
  const auto number = [](hp::extent_t i) { return static_cast<std::int32_t>(i == 3 ? -1 : (5 * i) % 6); };
  const auto many = hp::value_and_gradient(mean_loss, waves<by_class>(), hp::generate<labels>(group(), number));
  const auto one = hp::value_and_gradient(mean_loss, waves<whole>(), hp::generate<all_labels>(group(), number));
  const auto& gradient = std::get<0>(many.gradient);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(gradient)>, by_class>);
  EXPECT_NEAR(many.value.full_tensor()[0], one.value.full_tensor()[0], 1e-14);
  const std::vector<double> a = gradient.full_tensor(), b = std::get<0>(one.gradient).full_tensor();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-14);
  for (std::size_t i = 18; i < 24; ++i) EXPECT_EQ(a[i], 0) << "no label, no loss";
  const auto value = [&](const whole& x) {
    return mean_loss(traced(x), hp::generate<all_labels>(group(), number)).value().full_tensor()[0];
  };
  for (const std::size_t i : {0U, 9U, 17U}) EXPECT_NEAR(b[i], slope(value, waves<whole>(), i), 1e-8);
}

struct line : hp::device_matrix<hp::axis{"tp", 4}> {};
/// The loss of two rows of five logits near -200, and its gradient.
template <class Stored, class Layout>
std::vector<double> small_losses() {
  using logits = hp::dtensor<Stored, hp::extents<2, 5>, Layout>;
  using label = hp::dtensor<std::int32_t, hp::extents<2>, hp::layout<line, none>>;
  const auto x = hp::generate<logits>(
      group(), [](hp::extent_t i) { return hp::kernels::store<Stored>(-200.0 - static_cast<double>(i % 5)); });
  const auto one = hp::generate<label>(group(), [](hp::extent_t) { return std::int32_t{1}; });
  const auto d = hp::value_and_gradient([&](const auto& t) { return sum(cross_entropy(t, one)); }, x);
  std::vector<double> numbers{static_cast<double>(hp::kernels::load(d.value.full_tensor()[0]))};
  for (const auto e : std::get<0>(d.gradient).full_tensor())
    numbers.push_back(static_cast<double>(hp::kernels::load(e)));
  return numbers;
}

// A device without a window of the vocabulary takes no part in the largest logit, in 16 bits too.
TEST(TracedFunctions, CrossEntropyOfAVocabularyThatLeavesADeviceEmpty) {
  using windows = hp::layout<line, none, hp::padded("tp")>;  // of 2, 2, 1 and 0
  const std::vector<double> expected = small_losses<float, hp::layout<line, none, none>>();
  EXPECT_NEAR(expected[0], 2.9038, 1e-4);
  const auto expect_close = [&](const std::vector<double>& got, double tolerance) {
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance);
  };
  expect_close(small_losses<float, windows>(), 1e-6);
  expect_close(small_losses<hp::bf16_bits, windows>(), 1e-2);
  expect_close(small_losses<hp::f16_bits, windows>(), 1e-3);
}

TEST(TracedFunctions, RowsOfATableGetTheirGradients) {
  using ids = hp::dtensor<std::int32_t, hp::extents<8>, on<"dp">>;
  const auto id = hp::generate<ids>(group(), [](hp::extent_t i) { return static_cast<std::int32_t>(i % 3); });
  const auto d = hp::gradient([&](const auto& table) { return sum(embedding(id, table)); }, waves<whole>());
  static_assert(std::is_same_v<layout_of<decltype(d)>, on<none, none, hp::partial("dp")>>);
  const std::vector<double> got = d.full_tensor();
  const double uses[] = {3, 3, 2, 0};
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], uses[i / 6]);
}

}  // namespace
