// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/kept_tensors.hpp>

#include <hyperparallel/dtensor/gradient_verdict.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
namespace ops = hp::ops;

using rows = tensor<on<"dp", none>, 4, 8>;
using weights = tensor<on<none>, 8>;

/// What the caller holds.
template <class Tensor>
using kept = hp::detail::kept<Tensor, false>;

// Nodes keep what backward operators read, and of that only what some gradient that is asked for needs.
TEST(KeptTensors, OnlyWhatIsReadIsKept) {
  const auto x = hp::detail::argument_of<true, 0>(waves<rows>());
  const auto w = waves<weights>(1);
  const auto n = hp::apply<ops::rms_norm>({.real = {1e-6}}, x, w);
  using node = typename std::remove_const_t<decltype(n)>::source::node_type;
  static_assert(std::is_same_v<node::kept_operands, std::tuple<kept<rows>, kept<weights>>>);
  static_assert(std::is_same_v<node::kept_results, std::tuple<hp::detail::nothing>>);
  const auto y = hp::apply<ops::contract, "bh,h->b">(x, w);
  using product = typename std::remove_const_t<decltype(y)>::source::node_type;
  static_assert(std::is_same_v<product::kept_operands, std::tuple<hp::detail::nothing, kept<weights>>>,
                "the gradient of w is not asked for, so x is not kept");
  const auto s = hp::apply<ops::sigmoid>(x);
  using sigmoid = typename std::remove_const_t<decltype(s)>::source::node_type;
  static_assert(std::is_same_v<sigmoid::kept_operands, std::tuple<hp::detail::nothing>>);
  static_assert(std::is_same_v<sigmoid::kept_results, std::tuple<hp::detail::kept<rows, true>>>);
}

TEST(KeptTensors, ComeBack) {
  using reads = hp::detail::gradient_reads<
      ops::contract, std::tuple<hp::detail::no_source,
                                decltype(hp::detail::source_of(hp::detail::argument_of<true, 0>(waves<weights>())))>>;
  static_assert(reads::of('x', 0) && !reads::of('x', 1), "the gradient of the second operand reads the first");
  const auto kept_ones = hp::detail::kept_tensors<reads, 'x', std::tuple<hp::detail::no_source, hp::detail::no_source>>(
      waves<rows>(1), waves<weights>(2));
  auto back = hp::detail::unpacked(kept_ones);
  EXPECT_EQ(std::get<0>(back).full_tensor(), waves<rows>(1).full_tensor());
  static_assert(std::is_same_v<std::tuple_element_t<1, decltype(back)>, hp::detail::nothing>);
}

}  // namespace
