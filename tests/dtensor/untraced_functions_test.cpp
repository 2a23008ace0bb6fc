// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/untraced_functions.hpp>

#include <hyperparallel/dtensor.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace untraced {

using namespace small_world;

using rows = tensor<on<"dp", none>, 4, 6>;
using weight = tensor<on<none>, 6>;
using ids = hp::dtensor<std::int32_t, hp::extents<4>, on<"dp">>;
using truths = hp::dtensor<bool, hp::extents<4, 6>, on<"dp", none>>;
using variable = decltype(hp::detail::argument_of<true, 0>(std::declval<const rows&>()));
const variable& v();
const rows& x();
const weight& w();
const ids& i();
const truths& t();

}  // namespace untraced

namespace {

using namespace untraced;

/// Refused: what such a function gives is its first variable. Asking for the type prints no error.
template <class Result>
constexpr bool refused = std::is_same_v<Result, variable>;

static_assert(refused<decltype(abs(v()))> && refused<decltype(square(v()))> && refused<decltype(rsqrt(v()))>);
static_assert(refused<decltype(sin(v()))> && refused<decltype(cos(v()))>);
static_assert(refused<decltype(logical_not(v()))> && refused<decltype(hp::cast<float>(v()))>);
static_assert(refused<decltype(minimum(v(), x()))> && refused<decltype(pow(x(), v()))> &&
              refused<decltype(mod(v(), v()))> && refused<decltype(floor_div(v(), v()))>);
static_assert(refused<decltype(equal(v(), x()))> && refused<decltype(not_equal(v(), x()))> &&
              refused<decltype(less(v(), x()))> && refused<decltype(less_equal(v(), x()))> &&
              refused<decltype(greater(v(), x()))> && refused<decltype(greater_equal(v(), x()))> &&
              refused<decltype(logical_and(v(), x()))> && refused<decltype(logical_or(v(), x()))>);
static_assert(refused<decltype(where(t(), x(), v()))> && refused<decltype(masked_fill(v(), t(), 1.0))>);
static_assert(refused<decltype(prod(v()))> && refused<decltype(max<1>(v()))> && refused<decltype(min<0, 1>(v()))> &&
              refused<decltype(all(v()))> && refused<decltype(any(v()))>);
static_assert(refused<decltype(argmax(v()))> && refused<decltype(argmax<1>(v()))> &&
              refused<decltype(max_with_index(v()))>);
static_assert(refused<decltype(log_softmax(v()))> && refused<decltype(packed_swiglu(v()))>);
static_assert(refused<decltype(expand<4, 6>(v()))> && refused<decltype(repeat_interleave<0, 2>(v()))>);
static_assert(refused<decltype(stack<0>(v(), v()))> && refused<decltype(flip<1>(v()))> &&
              refused<decltype(roll<1>(v(), 2))> && refused<decltype(tril(v(), 1))>);
static_assert(refused<decltype(gather<1>(v(), i()))> && refused<decltype(index_select<1>(v(), i()))> &&
              refused<decltype(gather_nd(v(), i()))> && refused<decltype(one_hot<3>(v()))> &&
              refused<decltype(isin(v(), x()))> && refused<decltype(scatter<1>(x(), i(), v()))> &&
              refused<decltype(scatter_add<1>(v(), i(), x()))> && refused<decltype(scatter_update(v(), i(), x()))> &&
              refused<decltype(masked_scatter(v(), t(), x()))>);
static_assert(refused<decltype(cumsum(v()))> && refused<decltype(cumprod<0>(v()))> && refused<decltype(sort(v()))> &&
              refused<decltype(argsort(v()))> && refused<decltype(topk<2>(v()))>);
static_assert(refused<decltype(attention<true>(v(), v(), v()))> && refused<decltype(rope(v(), 100.0))> &&
              refused<decltype(convolution(v(), w()))>);

// Forms without a gradient of functions that have one in another.
static_assert(refused<decltype(softmax<0>(v()))> && refused<decltype(matmul<true>(v(), v()))> &&
              refused<decltype(linear(v(), x(), w()))> && refused<decltype(layer_norm(v(), w()))> &&
              refused<decltype(matmul(v(), w()))>);

// A function with a gradient is preferred, also where a number converts.
static_assert(!refused<decltype(sum(v()))> && !refused<decltype(sum<1>(v()))> && !refused<decltype(mean<0>(v()))> &&
              !refused<decltype(permute<1, 0>(v()))> && !refused<decltype(transpose(v()))> &&
              !refused<decltype(reshape<24>(v()))> && !refused<decltype(expand_dims<0>(v()))> &&
              !refused<decltype(concat<1>(x(), v()))>);
static_assert(!refused<decltype(mean(v()))> && !refused<decltype(softmax(v()))> && !refused<decltype(gelu_tanh(v()))> &&
              !refused<decltype(v() - x())> && !refused<decltype(maximum(x(), v()))> &&
              !refused<decltype(add(v(), v()))>);
static_assert(!refused<decltype(rms_norm(v(), w()))> && !refused<decltype(rms_norm(v(), w(), 1e-5F))> &&
              !refused<decltype(layer_norm(v(), w(), w(), 1))> && !refused<decltype(scale(v(), 2))>);

// On dtensors nothing changes.
static_assert(std::is_same_v<decltype(cumsum(x())), rows> && std::is_same_v<decltype(x() - x()), rows>);

TEST(UntracedFunctions, TakeTheValueOfAVariable) {
  const auto program = [](const auto& a) { return sum(a * cumsum<1>(a.value())); };
  const std::vector<double> got = hp::gradient(program, waves<rows>(1)).full_tensor();
  EXPECT_EQ(got, cumsum<1>(waves<rows>(1)).full_tensor()) << "the running sums are constants";
}

}  // namespace
