// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/traced_functions.hpp>

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;

using rows = tensor<on<"dp", none>, 4, 6>;
using whole = tensor<on<none, none>, 4, 6>;
using columns = tensor<on<none, "tp">, 6, 8>;
using transposed = tensor<on<"tp", none>, 8, 6>;
using weight = tensor<on<none>, 6>;
using by_class = tensor<on<"dp", "tp">, 4, 6>;
using labels = hp::dtensor<std::int32_t, hp::extents<4>, on<"dp">>;
using all_labels = hp::dtensor<std::int32_t, hp::extents<4>, on<none>>;

template <class Tensor>
auto traced(const Tensor& x) {
  return hp::detail::argument_of<true, 0>(x);
}

/// f of a variable and of its value: the same bits.
template <class F, class Tensor>
void expect_same_value(const F& f, const Tensor& x) {
  const auto with = f(traced(x));
  const auto without = f(x);
  static_assert(
      std::is_same_v<typename std::remove_cvref_t<decltype(with)>::tensor, std::remove_cvref_t<decltype(without)>>);
  EXPECT_EQ(with.value().full_tensor(), without.full_tensor());
}

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
  expect_same_value([](const auto& a) { return silu(a) + gelu(a) * sigmoid(a); }, x);
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

/// The gradient of Σ f(x)² on rows over dp is that on one device, and the slope.
template <class F>
void expect_gradient(const F& f) {
  const auto square = [&](const auto& x) {
    const auto y = f(x);
    return sum(y * y);
  };
  const std::vector<double> many = hp::gradient(square, waves<rows>(1)).full_tensor();
  const std::vector<double> one = hp::gradient(square, waves<whole>(1)).full_tensor();
  const auto value = [&](const whole& x) { return square(traced(x)).value().full_tensor()[0]; };
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 1e-12);
  for (const std::size_t i : {0U, 7U, 23U}) EXPECT_NEAR(one[i], slope(value, waves<whole>(1), i), 1e-7);
}

TEST(TracedFunctions, HaveTheirGradients) {
  const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
  const auto t = waves<transposed>(3);
  const auto s = waves<weight>(4);
  expect_gradient([&](const auto& x) { return rms_norm(matmul(x, w) * 0.5, waves<tensor<on<none>, 8>>()); });
  expect_gradient([&](const auto& x) { return linear(rms_norm(x, s), t); });
  expect_gradient([&](const auto& x) { return layer_norm(silu(x), s, s); });
  expect_gradient([](const auto& x) { return softmax(gelu(x)) + sigmoid(x) * x; });
  expect_gradient([](const auto& x) { return swiglu(x, x) * 3; });
  expect_gradient([](const auto& x) { return relu(x) / exp(x) + tanh(x); });
  expect_gradient([](const auto& x) { return x * x - 3 * tanh(-x); });
  expect_gradient([](const auto& x) { return log(x * x + 0.5) + sqrt(exp(x)); });
  expect_gradient([](const auto& x) { return maximum(x, x * x) / exp(x * x); });
  expect_gradient([](const auto& x) {
    const auto other = waves<tensor<layout_of<decltype(x)>, 4, 6>>(5);
    return (other - x) * (x - other);
  });
  expect_gradient([](const auto& x) {
    const auto other = waves<tensor<layout_of<decltype(x)>, 4, 6>>(5);
    return maximum(other / (x * x + exp(x)), mul(x, other)) / exp(other);
  });
  expect_gradient([](const auto& x) { return sum<1>(x * x); });
  expect_gradient([](const auto& x) { return sum<0>(x).reduce_partial(); });
  expect_gradient([](const auto& x) { return mean<-1>(silu(x)); });
  expect_gradient([](const auto& x) { return mean<0>(silu(x)).reduce_partial(); });
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

using pending_rows = tensor<on<none, none, hp::partial("dp")>, 4, 6>;
using pending_mean = hp::dtensor<double, hp::extents<4, 6>, on<none, none, hp::partial("dp", hp::reduce_op::avg)>>;

template <class Tensor, class F>
void expect_pending(const F& f) {
  expect_same_value(f, waves<Tensor>(1));
  const auto square = [&](const auto& x) {
    const auto y = f(x).reduce_partial();
    return sum(y * y);
  };
  const auto d = hp::gradient(square, waves<Tensor>(1));
  const std::vector<double> got = d.full_tensor();
  const whole x = waves<Tensor>(1).template redistribute<on<none, none>>();
  const std::vector<double> expected = hp::gradient(square, x).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-11);
}

// A function that takes a pending sum on dtensors has a gradient there, which is that of the sum's value.
TEST(TracedFunctions, PendingSumsHaveGradients) {
  const auto all = []<class Tensor>(std::type_identity<Tensor>) {
    const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
    const auto t = waves<tensor<on<none, none>, 8, 6>>(3);
    expect_pending<Tensor>([&](const auto& x) { return matmul(x, w); });
    expect_pending<Tensor>([&](const auto& x) { return linear(x, t); });
    expect_pending<Tensor>([&](const auto& x) { return sum(x); });
    expect_pending<Tensor>([&](const auto& x) { return mean(x); });
    expect_pending<Tensor>([&](const auto& x) { return sum<0>(x); });
    expect_pending<Tensor>([&](const auto& x) { return mean<1>(x); });
    expect_pending<Tensor>([&](const auto& x) { return x * waves<whole>(4); });
    expect_pending<Tensor>([&](const auto& x) { return (x + x) * 0.5; });
    expect_pending<Tensor>([&](const auto& x) { return waves<Tensor>(3) - -x; });
    expect_pending<Tensor>([&](const auto& x) { return x / exp(waves<whole>(4)); });
  };
  all(std::type_identity<pending_rows>{});
  all(std::type_identity<pending_mean>{});
  const auto id = hp::generate<hp::dtensor<std::int32_t, hp::extents<3>, on<none>>>(
      group(), [](hp::extent_t i) { return static_cast<std::int32_t>(3 - i); });
  expect_pending<pending_rows>([&](const auto& table) { return embedding(id, table); });
}

// The other operand's gradient reads the pending sum, and waits for it.
TEST(TracedFunctions, AWeightBehindAPendingSumHasItsGradient) {
  const auto program = [](const auto& w, const auto& x) { return sum(matmul(x, w).reduce_partial()); };
  const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
  const auto d = hp::gradient(program, w, waves<pending_rows>(1));
  static_assert(std::is_same_v<layout_of<decltype(d)>, on<none, none, hp::partial("dp")>>);
  const whole x = waves<pending_rows>(1).reduce_partial();
  const std::vector<double> got = d.full_tensor(), expected = hp::gradient(program, w, x).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
}

TEST(TracedFunctions, ADivisorBelowAPendingSumHasItsGradient) {
  const auto program = [](const auto& y, const auto& x) { return sum((x / y).reduce_partial()); };
  const auto y = hp::exp(waves<whole>(2));
  const auto d = hp::gradient(program, y, waves<pending_rows>(1));
  static_assert(std::is_same_v<layout_of<decltype(d)>, on<none, none, hp::partial("dp")>>);
  const whole x = waves<pending_rows>(1).reduce_partial();
  const std::vector<double> got = d.full_tensor(), expected = hp::gradient(program, y, x).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
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
