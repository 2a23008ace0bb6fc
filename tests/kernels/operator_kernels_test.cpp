// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/operator_kernels.hpp>

#include <hyperparallel/check/check_operator.hpp>
#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/operator_work.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/single_device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

struct rectified_square_gradient {
  static constexpr const char *name = "rectified_square_gradient", *text = "*,*->*";
  template <class T>
  static void run(hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) {
    for (extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = x.data[i] > 0 ? 2 * x.data[i] * dy.data[i] : T(0);
  }
};
struct rectified_square {
  static constexpr const char *name = "rectified_square", *text = "*->*";
  static constexpr int flops_per_point = 2;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<rectified_square_gradient>("g0,x0>0");
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] > 0 ? x.data[i] * x.data[i] : T(0);
  }
};

/// x + r, and its root mean square norm over the last dim times a weight: two results. real[0] = epsilon.
struct residual_norm_gradient {
  static constexpr const char *name = "residual_norm_gradient", *text = "*H,*H,*H,H->*H,*H,H";
  template <class T>
  static void run(const hp::operator_call& c, hp::const_view<T> ds, hp::const_view<T> dn, hp::const_view<T> s,
                  hp::const_view<T> w, hp::tensor_view<T> dx, hp::tensor_view<T> dr, hp::tensor_view<T> dw) {
    const extent_t width = hp::volume(w);
    std::fill_n(dw.data, width, T(0));
    for (extent_t at = 0; at < hp::volume(s); at += width) {
      const T *row = s.data + at, *dy = dn.data + at;
      const T root = hp::kernels::detail::inverse_root_mean_square<T>(width, row, c.attributes->real[0]);
      const T along = hp::kernels::detail::lane_sum<T>(width, [&](extent_t h) { return dy[h] * w.data[h] * row[h]; });
      for (extent_t h = 0; h < width; ++h) {
        const T through = dy[h] * w.data[h] * root - row[h] * root * root * root * along / static_cast<T>(width);
        dx.data[at + h] = dr.data[at + h] = ds.data[at + h] + through;
        dw.data[h] += dy[h] * row[h] * root;
      }
    }
  }
};
struct residual_norm {
  static constexpr const char *name = "residual_norm", *text = "*H,*H,H->*H,*H";
  static constexpr int flops_per_point = 5;
  static constexpr unsigned starts_at_one = 0b100;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<residual_norm_gradient>("g0,g1,y0,x2>012");
  }
  template <class T>
  static void run(const hp::operator_call& c, hp::const_view<T> x, hp::const_view<T> r, hp::const_view<T> w,
                  hp::tensor_view<T> s, hp::tensor_view<T> n) {
    for (extent_t i = 0; i < hp::volume(s); ++i) s.data[i] = x.data[i] + r.data[i];
    hp::kernels::rms_norm(hp::const_view<T>(s), w, n, c.attributes->real[0]);
  }
};

/// Running sums along the last dim: linear, so pending sums may pass, yet the dim must be whole.
template <bool Reverse>
struct running_sum {
  static constexpr const char *name = Reverse ? "reverse_running_sum" : "running_sum", *text = "*H->*H";
  static constexpr hp::partial_words partials = hp::linear_together(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<running_sum<!Reverse>>("g0>0");
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    const extent_t width = x.extents.extent[x.extents.rank - 1];
    for (extent_t row = 0; row < hp::volume(x); row += width)
      for (extent_t i = 0, last = Reverse ? width - 1 : 0; i < width; ++i) {
        const extent_t at = row + (Reverse ? width - 1 - i : i);
        y.data[at] = x.data[at] + (i > 0 ? y.data[last] : T(0));
        last = at;
      }
  }
};
/// A plus the transpose of b: linear in both together, with dims in another order.
struct add_transposed {
  static constexpr const char *name = "add_transposed", *text = "bsh,bhs->bsh";
  static constexpr hp::partial_words partials = hp::linear_together(0b11u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<hp::ops::broadcast>("g0>0");
    b.template backward<hp::ops::broadcast>("g0>1");
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::const_view<T> y, hp::tensor_view<T> z) {
    const hp::shape& s = z.extents;
    for (extent_t i = 0; i < hp::volume(z); ++i) {
      const extent_t b = i / (s.extent[1] * s.extent[2]), row = i / s.extent[2] % s.extent[1], h = i % s.extent[2];
      z.data[i] = x.data[i] + y.data[(b * s.extent[2] + h) * s.extent[1] + row];
    }
  }
};

using mine = hp::operators<hp::builtin, residual_norm, residual_norm_gradient, rectified_square,
                           rectified_square_gradient, running_sum<false>, running_sum<true>, add_transposed>;

/// The library's transformer block with the residual of the attention and the norm after it in one operator, and a
/// dense branch beside the experts.
struct own_block {
  hp::attention_layer attention{.query_heads = 16, .key_heads = 8, .head_dim = 4};
  hp::mixture_of_experts experts{.experts = 8, .top_k = 2, .width = 16};

  constexpr int operator()(hp::model_builder& m, int x) const {
    const int hidden = hp::dim_from_end(m, x, 0), wide = m.dim("ffn", 32);
    const int branch = attention(m, hp::rms_norm_layer{"attention_norm", 1e-6}(m, x));
    const int weight = m.parameter("feed_forward_norm.weight", {hidden});
    const int sum = m.apply<residual_norm>("feed_forward_norm", {x, branch, weight}, {.real = {1e-6}}), norm = sum + 1;
    const int up = m.apply<rectified_square>("dense.activation", {hp::linear_layer{"dense.up", {wide}}(m, norm)});
    return m.apply<hp::ops::sum>("feed_forward_residual",
                                 {sum, experts(m, norm), hp::linear_layer{"dense.down", {hidden}}(m, up)});
  }
};

struct own_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), sequence = m.dim("seq", 16);
    const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
    int x = hp::token_embedding{.vocabulary = 256, .hidden = 32}(m, tokens);
    x = m.repeat("layers", 2, x, own_block{});
    // The last norm: nothing reads its sum, whose gradient is zeros.
    const int hidden = hp::dim_from_end(m, x, 0), branch = hp::linear_layer{"last.branch", {hidden}}(m, x);
    const int weight = m.parameter("last.weight", {hidden});
    x = m.apply<residual_norm>("last.norm", {x, branch, weight}, {.real = {1e-6}}) + 1;
    hp::language_head{.vocabulary = 256}(m, x, labels);
  }
};

hp::graph own_step() {
  hp::graph g = hp::build_model<own_model>(
      {.activation = hp::f64, .parameter = hp::f64, .unrolled = true, .operators = mine::list});
  hp::differentiate(g);
  hp::append_optimizer(g, {});
  return g;
}

hp::model_run_options with_kernels() {
  hp::model_run_options options;
  options.program.kernels = hp::kernels_of<double, mine>;
  return options;
}

// A user's operators, of one result and of two, under every strategy by name: the losses of one device.
TEST(OperatorKernels, TrainUnderEveryNamedStrategy) {
  const hp::graph g = own_step();
  ASSERT_EQ(g.status.code, hp::graph_code::ok) << hp::name_of(g.status.code);
  ASSERT_EQ(hp::check_graph(g), hp::graph_status{});
  const auto losses = [&](const char* name, int ranks) {
    hp::model_run<double> run(g, hp::strategy_called(name, ranks).strategy, with_kernels());
    std::vector<double> all;
    for (int s = 0; s < 3; ++s)
      all.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(s)); }));
    return all;
  };
  const std::vector<double> one = losses("single", 1);
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    const std::vector<double> many = losses(name, 8);
    for (std::size_t s = 0; s < one.size(); ++s) EXPECT_NEAR(many[s], one[s], 1e-9 * std::abs(one[s])) << name;
  }
}

TEST(OperatorKernels, KeepTheirRulesAndGradients) {
  EXPECT_EQ((hp::check_operator<rectified_square, mine>().complaint), "");
  EXPECT_EQ((hp::check_operator<residual_norm, mine>({.real = {0.01}}).complaint), "");
  EXPECT_EQ((hp::check_operator<running_sum<false>, mine>().complaint), "");
  EXPECT_EQ((hp::check_operator<add_transposed, mine>().complaint), "");
}

/// Its first result holds numbers: the place of each element in its dim.
struct places {
  static constexpr const char *name = "places", *text = "a->a,a";
  static constexpr unsigned index_results = 0b01;
  static constexpr bool not_differentiable = true;
  template <class T>
  static void run(const hp::operator_call& c, hp::const_view<T> x, hp::tensor_view<std::int32_t> place,
                  hp::tensor_view<T> copy) {
    for (hp::extent_t i = 0; i < hp::volume(x); ++i) {
      place.data[i] = static_cast<std::int32_t>(c.loop[0].begin + i);
      copy.data[i] = x.data[i];
    }
  }
};

TEST(OperatorKernels, ResultsThatHoldNumbersAreNumbers) {
  EXPECT_EQ((hp::check_operator<places, hp::operators<hp::builtin, places>>().complaint), "");
}

// The gradients that the operators name, against differences of the loss.
void expect_finite_differences(bool reads_sum, bool reads_norm) {
  hp::model_builder m({.operators = mine::list});
  const int rows = m.dim("rows", 3), width = m.dim("width", 4);
  const int x = m.parameter("x", {rows, width}), r = m.parameter("r", {rows, width}), w = m.parameter("w", {width});
  const int sum = m.apply<residual_norm>("norm", {x, r, w}, {.real = {0.01}});
  const int y = m.apply<rectified_square>("y", {sum + 1});
  const int weight = m.input("weight", {rows, width});
  const int both = reads_sum && reads_norm ? m.sum("both", sum, y) : reads_sum ? sum : y;
  m.loss(m.contract("loss", "ab,ab->", both, weight));
  hp::differentiate(m.graph);
  ASSERT_EQ(m.graph.status.code, hp::graph_code::ok);
  ASSERT_EQ(hp::check_graph(m.graph), hp::graph_status{});
  hp::single_device<double> device(m.graph, hp::kernels_of<double, mine>);
  for (const int t : {x, r, w, weight})
    for (std::size_t i = 0; i < device.values(t).size(); ++i)
      device.values(t)[i] = std::sin(static_cast<double>(7 * i + 3) * (t + 1));
  device.run(hp::graph_phase::forward, hp::graph_phase::backward);
  const auto loss = [&] {
    device.run(hp::graph_phase::forward, hp::graph_phase::forward);
    return device.values(m.graph.loss)[0];
  };
  for (const int t : {x, r, w}) {
    const std::vector<double> gradient = device.values(hp::gradient_of(m.graph, t));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double& value = device.values(t)[i];
      const double kept = value, step = 1e-6;
      value = kept + step;
      const double above = loss();
      value = kept - step;
      const double below = loss();
      value = kept;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-7) << m.graph.name_of_tensor(t) << " " << i;
    }
  }
}

TEST(OperatorKernels, GradientsAgreeWithFiniteDifferences) { expect_finite_differences(true, true); }

// A backward operator that reads the gradients of both results gets zeros for the one that nothing reads.
TEST(OperatorKernels, GradientsOfUnreadResultsAreZeros) {
  expect_finite_differences(false, true);
  expect_finite_differences(true, false);
}

TEST(OperatorKernels, APlanIsPricedByTheirRows) {
  const hp::graph g = own_step();
  int priced = 0;
  for (const hp::graph_operator& o : g.op) {
    if (std::string(g.value_of(o).name) != "residual_norm") continue;
    EXPECT_EQ(hp::detail::flops_of(g, o, {}, {}), 5 * 8 * 16 * 32) << g.text_at(o.name);
    ++priced;
  }
  EXPECT_EQ(priced, 3);
}

TEST(OperatorKernels, WhatHasNoKernelIsRefusedByName) {
  const hp::graph g = own_step();
  try {
    hp::model_run<double> run(g, hp::strategy_called("dp", 2).strategy);
    FAIL();
  } catch (const hp::program_error& e) {
    EXPECT_STREQ(e.what(),
                 "operator layers.0.feed_forward_norm (residual_norm) has no kernel; a user's come with "
                 "program_options::kernels = kernels_of<T, operators<...>>");
  }
  EXPECT_THROW(hp::single_device<double>{g}, std::invalid_argument);
}

}  // namespace
