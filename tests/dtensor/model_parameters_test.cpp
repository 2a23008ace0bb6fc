// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/model_parameters.hpp>

#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
using namespace hp::literals;

using rows = tensor<on<"dp", none>, 4, 8>;
using wide = tensor<on<none, "tp">, 8, 8>;
using tall = tensor<on<"tp", none>, 8, 8>;
struct gated {
  BOOST_HANA_DEFINE_STRUCT(gated, (wide, gate), (wide, up));
};
struct mlp {
  BOOST_HANA_DEFINE_STRUCT(mlp, (gated, in), (int, steps), (tall, down));
};
mlp model() { return {{waves<wide>(1), waves<wide>(2)}, 3, waves<tall>(3)}; }

struct loss_of {
  template <class Weights, class X>
  auto operator()(const Weights& w, const X& x) const {
    const auto y = matmul(swiglu(matmul(x, w["in.gate"_n]), matmul(x, w["in.up"_n])), w["down"_n]);
    const auto whole = y.reduce_partial();
    return mean(whole * whole);
  }
};

TEST(ModelParameters, MembersNameThem) {
  const auto weights = hp::parameters(model());
  std::string names;
  weights.for_each([&](auto key, const auto&) { names += std::string(key.name.text) + " "; });
  EXPECT_EQ(names, "in.gate in.up down ");
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(weights["down"_n])>, tall>);
  EXPECT_EQ(weights["in.up"_n].full_tensor(), waves<wide>(2).full_tensor());
}

TEST(ModelParameters, AreSetBack) {
  auto weights = hp::parameters(model());
  weights["in.gate"_n] = waves<wide>(7);
  mlp m = model();
  hp::set_parameters(m, weights);
  EXPECT_EQ(m.in.gate.full_tensor(), waves<wide>(7).full_tensor());
  EXPECT_EQ(m.down.full_tensor(), waves<tall>(3).full_tensor());
  EXPECT_EQ(m.steps, 3);
}

struct tower {
  using layers = std::array<gated, 12>;
  BOOST_HANA_DEFINE_STRUCT(tower, (layers, all), (tall, last));
};

// Arrays of models are parts of the model as its members are.
TEST(ModelParameters, ArraysNameThemByPlace) {
  tower t = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return tower{{gated{waves<wide>(static_cast<int>(2 * I)), waves<wide>(static_cast<int>(2 * I + 1))}...},
                 waves<tall>(99)};
  }(std::make_index_sequence<12>{});
  auto weights = hp::parameters(t);
  static_assert(decltype(weights)::size == 25);
  EXPECT_EQ(weights["all.0.up"_n].full_tensor(), waves<wide>(1).full_tensor());
  EXPECT_EQ(weights["all.11.gate"_n].full_tensor(), waves<wide>(22).full_tensor());
  weights["all.10.up"_n] = waves<wide>(50);
  hp::set_parameters(t, weights);
  EXPECT_EQ(t.all[10].up.full_tensor(), waves<wide>(50).full_tensor());
  EXPECT_EQ(t.last.full_tensor(), waves<tall>(99).full_tensor());
}

// By name as by place.
TEST(ModelParameters, GradientsHaveTheirNames) {
  const auto weights = hp::parameters(model());
  const auto [loss, d] = hp::value_and_gradient(loss_of{}, weights, waves<rows>(4));
  const auto by_place = [](const auto& g, const auto& u, const auto& n, const auto& x) {
    return loss_of{}(hp::values("in.gate"_n = g, "in.up"_n = u, "down"_n = n), x);
  };
  const auto [same, gradients] =
      hp::value_and_gradient<0, 1, 2>(by_place, waves<wide>(1), waves<wide>(2), waves<tall>(3), waves<rows>(4));
  EXPECT_EQ(loss.full_tensor(), same.full_tensor());
  static_assert(std::is_same_v<layout_of<decltype(d["in.up"_n])>, on<none, "tp", hp::partial("dp")>>);
  EXPECT_EQ(d["in.up"_n].full_tensor(), std::get<1>(gradients).full_tensor());
  EXPECT_EQ(d["down"_n].full_tensor(), std::get<2>(gradients).full_tensor());
}

// All at once as one by one, clipped together.
TEST(ModelParameters, AreUpdatedTogether) {
  for (const double largest : {0.0, 0.01}) {
    const hp::optimizer_value o{.rate = 0.1, .clip = largest};
    auto weights = hp::parameters(model());
    auto states = hp::adamw_states(weights);
    wide gate = waves<wide>(1), up = waves<wide>(2);
    tall down = waves<tall>(3);
    hp::adamw_state<wide> of_gate(group()), of_up(group());
    hp::adamw_state<tall> of_down(group());
    for (int step = 1; step <= 3; ++step) {
      const auto d = hp::value_and_gradient(loss_of{}, weights, waves<rows>(4)).second;
      const auto g = d["in.gate"_n].reduce_partial(), u = d["in.up"_n].reduce_partial();
      const auto n = d["down"_n].reduce_partial();
      const auto clip = largest > 0 ? hp::clip_factor(largest, g, u, n) : hp::detail::no_clipping<wide>(group());
      hp::adamw_update(o, step, gate, g, of_gate, clip);
      hp::adamw_update(o, step, up, u, of_up, clip);
      hp::adamw_update(o, step, down, n, of_down, clip);
      hp::adamw_update(o, step, weights, d, states);
    }
    EXPECT_EQ(weights["in.gate"_n].full_tensor(), gate.full_tensor());
    EXPECT_EQ(weights["in.up"_n].full_tensor(), up.full_tensor());
    EXPECT_EQ(weights["down"_n].full_tensor(), down.full_tensor());
    EXPECT_EQ(states["down"_n].second_moment.full_tensor(), of_down.second_moment.full_tensor());
  }
}

}  // namespace
