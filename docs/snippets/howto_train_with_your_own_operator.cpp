// SPDX-License-Identifier: Apache-2.0
// docs/how-to/train-with-your-own-operator.md
#undef NDEBUG
#include <cassert>
#include <cmath>
#include <vector>

#include <hyperparallel/check/check_operator.hpp>
#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/train.hpp>

namespace hp = hyperparallel;

struct rectified_square_gradient {
  static constexpr const char *name = "rectified_square_gradient", *text = "*,*->*";
  template <class T>
  static void run(hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) {
    for (hp::extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = x.data[i] > 0 ? 2 * x.data[i] * dy.data[i] : T(0);
  }
};

struct rectified_square {
  static constexpr const char *name = "rectified_square",
                              *text = "*->*";  // one point of any tensor: no dim has to be whole
  static constexpr int flops_per_point = 2;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<rectified_square_gradient>("g0,x0>0");
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] > 0 ? x.data[i] * x.data[i] : T(0);
  }
};

struct leaky_relu_gradient {
  static constexpr const char *name = "leaky_relu_gradient", *text = "*,*->*";
  template <class T>
  static void run(const hp::operator_call& call, hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) {
    const T slope = static_cast<T>(call.attributes->real[0]);  // of the forward operator
    for (hp::extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = x.data[i] > 0 ? dy.data[i] : slope * dy.data[i];
  }
};

struct leaky_relu {
  static constexpr const char *name = "leaky_relu", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<leaky_relu_gradient>("g0,x0>0");
  }
  template <class T>
  static void run(const hp::operator_call& call, hp::const_view<T> x, hp::tensor_view<T> y) {
    const T slope = static_cast<T>(call.attributes->real[0]);
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] > 0 ? x.data[i] : slope * x.data[i];
  }
};

using mine = hp::operators<hp::builtin, rectified_square, rectified_square_gradient, leaky_relu, leaky_relu_gradient>;

struct mlp {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 64);
    const int x = m.input("x", {m.dim("batch", 8), hidden}), target = m.input("target", {m.dim("batch", 8), hidden});
    const int h = m.apply<rectified_square>("activation", {hp::linear_layer{"up", {wide}}(m, x)});
    const int y = m.apply<leaky_relu>("leak", {hp::linear_layer{"down", {hidden}}(m, h)}, {.real = {0.125}});
    const int off = m.sum("difference", y, m.apply<hp::ops::scale>("negated", {target}, {.real = {-1.0}}));
    m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<hp::ops::multiply>("square", {off, off})}, {.text = "*->"}));
  }
};

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using split =
    hp::strategy<mesh, hp::column_parallel<"up", "tp">, hp::row_parallel<"down", "tp">, hp::data_parallel<"dp">>;
using step = hp::train_step<mlp, split, hp::adamw, hp::matrix384, mine, hp::precision<hp::data_type::f32>>;
static_assert(step::verified);

double train(const char* strategy, int ranks) {
  const hp::graph g = hp::training_graph<mlp>(hp::adamw::value, {.build = {.unrolled = true, .operators = mine::list}});
  hp::model_run<double> run(hp::in_floats(g, hp::f64), hp::strategy_called(strategy, ranks).strategy,
                            {.program = {.kernels = hp::kernels_of<double, mine>}});
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = run.train_step([&](int) { run.set_random_inputs(1); });
  return loss;
}

int main() {
  const hp::operator_check checked = hp::check_operator<rectified_square, mine>();
  assert(checked.ok);  // else checked.complaint is one line
  const double alone = train("single", 1);
  for (const char* name : {"dp", "zero3", "tp"}) assert(std::abs(train(name, 4) - alone) <= 1e-9 * alone);

  hp::world<step> world;  // runs the plan of the type; the kernels come with the list
  std::vector<float> x(8 * 16), target(8 * 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = target[i] = static_cast<float>(i % 7) / 7;
  const std::vector<double> losses = world.feed("x", x).feed("target", target).train(10);
  assert(losses.back() < losses.front());

  const hp::rank_group group(8);
  const auto whole = hp::full<hp::dtensor<float, hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>>(group, 3.0F);
  const auto y = hp::apply<rectified_square>(whole);
  static_assert(std::is_same_v<decltype(y), decltype(whole)>);
  assert(y.full_tensor()[5] == 9.0F);
  const auto below = hp::full<hp::dtensor<float, hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>>(group, -3.0F);
  assert(hp::apply<leaky_relu>(hp::operator_attributes{.real = {0.125}}, below).full_tensor()[5] == -0.375F);
}
