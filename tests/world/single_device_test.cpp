// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/single_device.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

namespace hp = hyperparallel;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

constexpr int batch = 4, inputs = 5, wide = 7, outputs = 3, micro_batches = 2;
constexpr double rate = 0.05, momentum = 0.9, decay = 0.01, most_norm = 0.3;

/// Mean over micro-batches of Σ (silu(x · first) · second − target)² / batch.
hp::graph two_layers() {
  hp::model_builder m;
  m.graph.micro_batches = micro_batches;
  const int b = m.dim("batch", batch), i = m.dim("in", inputs), w = m.dim("wide", wide), o = m.dim("out", outputs);
  const int x = m.input("x", {b, i}), target = m.input("target", {b, o});
  const int first = m.parameter("first", {i, w}), second = m.parameter("second", {w, o});
  const int hidden = m.apply<ops::silu>("hidden", {m.contract("up", "*k,kn->*n", x, first)});
  const int minus = m.apply<ops::scale>("minus", {target}, {.real = {-1.0}});
  const int error = m.sum("error", m.contract("down", "*k,kn->*n", hidden, second), minus);
  m.loss(m.apply<ops::scale>("loss", {m.contract("squares", "xy,xy->", error, error)}, {.real = {1.0 / batch}}));
  hp::differentiate(m.graph);
  hp::optimizer_value sgd;
  sgd.kind = hp::optimizer_kind::sgd;
  sgd.rate = rate;
  sgd.momentum = momentum;
  sgd.weight_decay = decay;
  sgd.clip = most_norm;
  hp::append_optimizer(m.graph, sgd);
  return m.graph;
}

using matrix = std::vector<double>;

matrix noise(int n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  matrix v(static_cast<std::size_t>(n));
  for (double& x : v) x = 0.5 * normal(random);
  return v;
}

/// The same network, its gradient and SGD, written out.
struct by_hand {
  matrix first, second, d_first, d_second, m_first, m_second;
  double loss = 0;

  static double& at(matrix& v, int row, int column, int columns) {
    return v[static_cast<std::size_t>(row * columns + column)];
  }
  void micro_batch(matrix x, matrix target) {
    loss = 0;
    for (int b = 0; b < batch; ++b) {
      double up[wide], hidden[wide], d_hidden[wide] = {};
      for (int w = 0; w < wide; ++w) {
        up[w] = 0;
        for (int i = 0; i < inputs; ++i) up[w] += at(x, b, i, inputs) * at(first, i, w, wide);
        hidden[w] = up[w] / (1 + std::exp(-up[w]));
      }
      for (int o = 0; o < outputs; ++o) {
        double error = -at(target, b, o, outputs);
        for (int w = 0; w < wide; ++w) error += hidden[w] * at(second, w, o, outputs);
        loss += error * error / batch;
        const double d = 2 * error / batch / micro_batches;
        for (int w = 0; w < wide; ++w) {
          at(d_second, w, o, outputs) += d * hidden[w];
          d_hidden[w] += d * at(second, w, o, outputs);
        }
      }
      for (int w = 0; w < wide; ++w) {
        const double s = 1 / (1 + std::exp(-up[w])), slope = s * (1 + up[w] * (1 - s));
        for (int i = 0; i < inputs; ++i) at(d_first, i, w, wide) += d_hidden[w] * slope * at(x, b, i, inputs);
      }
    }
  }
  void update() {
    double squares = 0;
    for (const double d : d_first) squares += d * d;
    for (const double d : d_second) squares += d * d;
    const double clip = std::min(1.0, most_norm / std::sqrt(squares));
    const auto step = [&](matrix& p, matrix& d, matrix& m) {
      for (std::size_t i = 0; i < p.size(); ++i) {
        m[i] = momentum * m[i] + clip * d[i] + decay * p[i];
        p[i] -= rate * m[i];
        d[i] = 0;
      }
    };
    step(first, d_first, m_first);
    step(second, d_second, m_second);
  }
};

TEST(SingleDevice, TrainsAsTheSameStepsByHand) {
  const hp::graph g = two_layers();
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  std::mt19937 random(31);
  hp::single_device<double> device(g);
  by_hand hand;
  hand.first = device.values("first") = noise(inputs * wide, random);
  hand.second = device.values("second") = noise(wide * outputs, random);
  hand.d_first = hand.m_first = matrix(hand.first.size());
  hand.d_second = hand.m_second = matrix(hand.second.size());
  double first_loss = 0;
  for (int step = 0; step < 20; ++step) {
    device.train_step([&](hp::single_device<double>& d, int) {
      d.values("x") = noise(batch * inputs, random);
      d.values("target") = noise(batch * outputs, random);
      hand.micro_batch(d.values("x"), d.values("target"));
    });
    EXPECT_NEAR(device.values(g.loss)[0], hand.loss, 1e-12);
    hand.update();
    if (step == 0) first_loss = hand.loss;
    for (std::size_t i = 0; i < hand.first.size(); ++i) ASSERT_NEAR(device.values("first")[i], hand.first[i], 1e-12);
    for (std::size_t i = 0; i < hand.second.size(); ++i) ASSERT_NEAR(device.values("second")[i], hand.second[i], 1e-12);
    for (int t = 0; t < g.tensor.size; ++t)
      if (g.tensor[t].replaces >= 0) {
        EXPECT_EQ(&device.values(t), &device.values(g.tensor[t].replaces)) << "one memory";
      }
  }
  EXPECT_EQ(device.steps(), 20);
  EXPECT_NE(first_loss, hand.loss);
}

TEST(SingleDevice, LearnsAFixedBatch) {
  const hp::graph g = two_layers();
  hp::single_device<float> device(g);
  std::mt19937 random(32);
  const auto fill = [&](std::vector<float>& to) {
    const matrix from = noise(static_cast<int>(to.size()), random);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]);
  };
  for (const char* name : {"first", "second", "x", "target"}) fill(device.values(name));
  float before = 0;
  for (int step = 0; step < 150; ++step) {
    device.train_step([](hp::single_device<float>&, int) {});
    if (step == 0) before = device.values(g.loss)[0];
  }
  EXPECT_LT(device.values(g.loss)[0], 0.2F * before);
}

// What worlds are held against draws the random numbers that worlds draw: others in each micro-batch.
TEST(SingleDevice, DropsInEachMicroBatchWhatARunDrops) {
  for (int count = 1; count <= 3; ++count) {
    hp::model_builder m({.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
    const int rows = m.dim("batch", 4), hidden = m.dim("hidden", 8), x = m.input("x", {rows, hidden});
    const int dropped = hp::dropout_layer{.rate = 0.5}(m, x);
    const int product = m.contract("product", "bh,h->b", dropped, m.parameter("w", {hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {product}, {.text = "b->"}));
    m.graph.micro_batches = count;
    hp::differentiate(m.graph);
    hp::append_optimizer(m.graph, {.kind = hp::optimizer_kind::sgd, .rate = 0.1, .momentum = 0, .clip = 0});
    hp::model_run<double> run(m.graph, hp::strategy_called("single", 1).strategy);
    hp::single_device<double> device(m.graph);
    std::vector<double> values(32);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    device.values("w") = run.world().get("w");
    for (int step = 0; step < 3; ++step) {
      run.train_step([&](int) { run.world().set("x", values); });
      device.train_step([&](hp::single_device<double>& d, int) { d.values("x") = values; });
      EXPECT_EQ(run.world().get("w"), device.values("w")) << count << " micro-batches, step " << step;
    }
  }
}

TEST(SingleDevice, RefusesWhatCannotRun) {
  const auto message = [](const auto& act) {
    try {
      act();
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  hp::model_builder folded;
  const int d = folded.dim("d", 4);
  folded.repeat("layer", 3, folded.input("x", {d}),
                [](hp::model_builder& m, int x) { return m.apply<ops::silu>("y", {x}); });
  EXPECT_EQ(message([&] { hp::single_device<float> device(folded.graph); }),
            "single_device: segment 'layer' is folded; build the graph unrolled");
  hp::model_builder wrong;
  wrong.dim("d", 4);
  wrong.dim("d", 5);
  EXPECT_EQ(message([&] { hp::single_device<float> device(wrong.graph); }),
            "single_device: the graph is refused: dim_has_two_extents");
  hp::single_device<double> device(two_layers());
  EXPECT_EQ(message([&] { device.values("third"); }),
            "single_device: no tensor is called 'third', the nearest is 'first'");
}

}  // namespace
