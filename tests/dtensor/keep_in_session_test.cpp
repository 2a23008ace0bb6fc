// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/keep_in_session.hpp>

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>
#include <hyperparallel/hardware/units.hpp>

#include <gtest/gtest.h>

#include <memory>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;

using rows = tensor<on<"dp", none>, 8, 16>;
using square = tensor<on<none, none>, 16, 16>;
constexpr std::int64_t bytes_of_rows = 8 * 16 * 8 * 2;  // on four positions, each half of it

hp::offload_session session_of(std::int64_t fast) {
  return hp::offload_session({{"hbm", fast}, {"dram", 1 << 20, {20 * hp::gigabyte}, {20 * hp::gigabyte}}});
}

TEST(KeepInSession, ComesBackFromWhereItWasPut) {
  hp::offload_session session = session_of(4 * bytes_of_rows);
  const hp::saved_tensors_scope hooks(std::make_shared<hp::offload_hooks>());
  {
    const hp::keep_in_session scope(session);
    const auto x = waves<rows>(1);
    const hp::detail::kept_dtensor kept(x.dynamic()), again(x.dynamic());
    session.wait_all();
    EXPECT_EQ(session.copies_out(1).copies, 1) << "kept by two, put away once";
    EXPECT_EQ(session.memory(0).bytes_used(), 0);
    EXPECT_EQ(hp::full_tensor<double>(kept.value()), x.full_tensor());
    EXPECT_GT(session.memory(1).bytes_used(), 0);
    EXPECT_EQ(hp::full_tensor<double>(again.value()), x.full_tensor());
    EXPECT_EQ(session.memory(0).bytes_used() + session.memory(1).bytes_used(), 0) << "both have it back";
  }
  {
    const hp::keep_in_session scope(session);
    const hp::detail::kept_dtensor unread(waves<rows>(1).dynamic());
  }
  EXPECT_EQ(session.memory(0).bytes_used() + session.memory(1).bytes_used(), 0) << "gone with the last that kept it";
  const hp::detail::kept_dtensor plain(waves<rows>(2).dynamic());
  EXPECT_EQ(hp::full_tensor<double>(plain.value()), waves<rows>(2).full_tensor()) << "without a scope as it is";
}

/// Three layers, each of which keeps its input.
struct program {
  template <class A, class B, class C, class X>
  auto operator()(const A& a, const B& b, const C& c, const X& x) const {
    const auto y = matmul(silu(matmul(silu(matmul(x, a)), b)), c);
    return mean(y * y);
  }
};

// A budget that holds a third of what is kept: the same bits, and nothing grows.
TEST(KeepInSession, GradientsAreThoseWithoutASession) {
  const auto run = [] {
    return hp::value_and_gradient<0, 1, 2>(program{}, waves<square>(1), waves<square>(2), waves<square>(3),
                                           waves<rows>(4));
  };
  const auto expected = run();
  hp::offload_session session = session_of(2 * bytes_of_rows);
  {
    const hp::saved_tensors_scope hooks(std::make_shared<hp::offload_hooks>());
    const hp::keep_in_session scope(session);
    const auto made = run();
    EXPECT_EQ(made.value.full_tensor(), expected.value.full_tensor());
    EXPECT_EQ(std::get<0>(made.gradient).full_tensor(), std::get<0>(expected.gradient).full_tensor());
    EXPECT_EQ(std::get<1>(made.gradient).full_tensor(), std::get<1>(expected.gradient).full_tensor());
    EXPECT_EQ(std::get<2>(made.gradient).full_tensor(), std::get<2>(expected.gradient).full_tensor());
  }
  // Up to four, inputs of two silus and of two products; one that is read again before its copy has begun needs none.
  EXPECT_GT(session.copies_out(1).copies, 0);
  EXPECT_GT(session.copies_in(1).copies, 0);
  EXPECT_LE(session.memory(0).high_water(), 2 * bytes_of_rows);
  EXPECT_EQ(session.memory(1).bytes_used(), 0);
}

TEST(KeepInSession, WhatDoesNotFitIsRefused) {
  hp::offload_session session = session_of(bytes_of_rows / 2);
  const hp::saved_tensors_scope hooks(std::make_shared<hp::offload_hooks>());
  const hp::keep_in_session scope(session);
  EXPECT_THROW(hp::detail::kept_dtensor(waves<rows>(1).dynamic()), hp::tier_error);
}

}  // namespace
