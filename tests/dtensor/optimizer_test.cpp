// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/optimizer.hpp>

#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers/feed_forward.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <hp::map_entry... Entries>
using on = hp::layout<mesh, Entries...>;
constexpr auto none = hp::none;
template <int Rows, int Columns, class Layout>
using matrix = hp::dtensor<double, hp::extents<Rows, Columns>, Layout>;
using tokens = matrix<16, 64, on<"dp", none>>;
using wide = matrix<64, 256, on<none, "tp">>;
using tall = matrix<256, 64, on<"tp", none>>;

/// The mlp of examples/dtensor.cpp.
template <class X, class G, class U, class D>
auto mlp(const X& x, const G& gate, const U& up, const D& down) {
  return matmul(swiglu(matmul(x, gate), matmul(x, up)), down);
}
/// The mean of its squared errors.
struct program {
  template <class G, class U, class D, class X, class T>
  auto operator()(const G& gate, const U& up, const D& down, const X& x, const T& minus_target) const {
    const auto y = mlp(x, gate, up, down).template redistribute<tokens::layout>();
    const auto error = y + minus_target;
    return scale(sum(error * error), 1.0 / 1024);
  }
};

/// The same as a model.
hp::graph model(const hp::optimizer_value& optimizer) {
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64});
  const int batch = m.dim("batch", 16), hidden = m.dim("hidden", 64);
  const int x = m.input("x", {batch, hidden}), target = m.input("target", {batch, hidden});
  const int y = hp::swiglu_layer{.name = "mlp", .width = 256}(m, x);
  const int error = m.sum("error", y, m.apply<hp::ops::scale>("minus_target", {target}, {.real = {-1}}));
  const int square = m.apply<hp::ops::multiply>("square", {error, error});
  const int total = m.apply<hp::ops::reduce>("total", {square}, {.text = "*->"});
  m.loss(m.apply<hp::ops::scale>("loss", {total}, {.real = {1.0 / 1024}}));
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, optimizer);
  return m.graph;
}

/// Layouts of a tensor in a program, in the order in which they come up.
std::vector<hp::layout_value> layouts_of(const hp::sharded_program& p, const std::string& name) {
  std::vector<hp::layout_value> all;
  for (int v = 0; v < p.value.size; ++v)
    if (name == p.graph.name_of_tensor(p.value[v].tensor)) all.push_back(p.value[v].layout);
  return all;
}

// The layouts and the reduction points are the partitioner's, so the bits of parameters and losses are.
TEST(Optimizer, AnMlpOfDtensorsTrainsAsTheModelDoes) {
  const hp::optimizer_value o{.rate = 1e-2, .weight_decay = 0.01, .clip = 0.05};
  using strategy = hp::strategy<mesh, hp::data_parallel<"dp">, hp::tensor_parallel<"tp">>;
  hp::model_run<double> run(model(o), strategy::value);
  hp::program_world<double>& world = run.world();
  const hp::rank_group ranks(8);

  auto gate = hp::distribute<wide>(ranks, world.get("mlp.gate.weight"));
  auto up = hp::distribute<wide>(ranks, world.get("mlp.up.weight"));
  auto down = hp::distribute<tall>(ranks, world.get("mlp.down.weight"));
  hp::adamw_state<wide> of_gate(ranks), of_up(ranks);
  hp::adamw_state<tall> of_down(ranks);
  bool clipped = false;
  for (int step = 1; step <= 50; ++step) {
    run.set_random_inputs(static_cast<std::uint64_t>(step));
    const auto x = hp::distribute<tokens>(ranks, world.get("x"));
    const auto target = hp::distribute<tokens>(ranks, world.get("target"));
    const auto [loss, gradients] =
        hp::value_and_gradient<0, 1, 2>(program{}, gate, up, down, x, hp::scale(target, -1.0));
    const auto& [d_gate, d_up, d_down] = gradients;
    const auto g = d_gate.redistribute<wide::layout>(), u = d_up.redistribute<wide::layout>();
    const auto d = d_down.redistribute<tall::layout>();
    const auto clip = hp::clip_factor(o.clip, g, u, d);
    clipped = clipped || clip.full_tensor()[0] < 1;
    hp::adamw_update(o, step, gate, g, of_gate, clip);
    hp::adamw_update(o, step, up, u, of_up, clip);
    hp::adamw_update(o, step, down, d, of_down, clip);
    ASSERT_EQ(run.train_step([](int) {}), loss.full_tensor()[0]) << step;

    if (step > 1) continue;
    const hp::sharded_program& p = world.program();
    const auto layout = [](const auto& t) { return std::remove_cvref_t<decltype(t)>::layout::value; };
    EXPECT_EQ(layouts_of(p, "mlp.gate.weight")[0], wide::layout::value);
    EXPECT_EQ(layouts_of(p, "mlp.down.weight")[0], tall::layout::value);
    using list = std::vector<hp::layout_value>;
    EXPECT_EQ(layouts_of(p, "gradient(mlp.gate.weight)"), (list{layout(d_gate), layout(g)}));
    EXPECT_EQ(layouts_of(p, "gradient(mlp.up.weight)"), (list{layout(d_up), layout(u)}));
    EXPECT_EQ(layouts_of(p, "gradient(mlp.down.weight)"), (list{layout(d_down), layout(d)}));
    EXPECT_EQ(layouts_of(p, "loss")[0], layout(loss));
  }
  EXPECT_TRUE(clipped) << "otherwise the norm is not compared";
  EXPECT_EQ(gate.full_tensor(), world.get("mlp.gate.weight"));
  EXPECT_EQ(up.full_tensor(), world.get("mlp.up.weight"));
  EXPECT_EQ(down.full_tensor(), world.get("mlp.down.weight"));
  EXPECT_EQ(of_down.second_moment.full_tensor(), world.get("second_moment(mlp.down.weight)"));
}

// Gradients that wait along different axes: their squares are reduced first.
TEST(Optimizer, TheNormIsOfAllGradients) {
  const hp::rank_group ranks(8);
  const auto a = hp::full<matrix<4, 4, on<none, "tp">>>(ranks, 3.0);
  const auto b = hp::full<matrix<4, 4, on<"dp", none>>>(ranks, 4.0);
  const double norm = std::sqrt(16 * 9 + 16 * 16);
  EXPECT_DOUBLE_EQ(hp::clip_factor(5.0, a, b).full_tensor()[0], 5.0 / norm);
  EXPECT_EQ(hp::clip_factor(100.0, a, b).full_tensor()[0], 1.0);
  EXPECT_DOUBLE_EQ(hp::clip_factor(6.0, a).full_tensor()[0], 0.5);
  EXPECT_EQ(hp::detail::no_clipping<wide>(ranks).full_tensor()[0], 1.0);
}

TEST(Optimizer, DescendsWithMomentum) {
  const hp::rank_group ranks(8);
  using parameter = matrix<4, 4, on<"dp", "tp">>;
  auto p = hp::full<parameter>(ranks, 1.0), momentum = hp::zeros<parameter>(ranks);
  const auto g = hp::full<parameter>(ranks, 2.0);
  for (int step = 0; step < 2; ++step)
    hp::sgd_update({.rate = 0.25, .momentum = 0.5}, p, g, momentum, hp::detail::no_clipping<parameter>(ranks));
  EXPECT_EQ(momentum.full_tensor(), std::vector<double>(16, 3.0));  // 2, then 0.5 · 2 + 2
  EXPECT_EQ(p.full_tensor(), std::vector<double>(16, 1.0 - 0.25 * 2 - 0.25 * 3));
}

}  // namespace
