// SPDX-License-Identifier: Apache-2.0
// A head's backward keeps states of runs of tokens: whatever the number of tokens, its gradients are those of differences.
#include <hyperparallel/kernels/linear_attention_head.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;
namespace k = hp::kernels::detail;
using hp::extent_t;

struct head {
  static constexpr extent_t keys = 3, values = 2;
  k::linear_attention_form form{true, 0.7, 1e-3, 0, keys, values};
  std::vector<double> in[5];  // q, k, v, decay, strength
  std::vector<double> d_out, memory;

  head(extent_t tokens, std::mt19937& random) {
    form.tokens = tokens;
    std::normal_distribution<double> normal;
    const extent_t width[5] = {keys, keys, values, 1, 1};
    for (int i = 0; i < 5; ++i)
      for (extent_t x = 0; x < tokens * width[i]; ++x)
        in[i].push_back(i < 3 ? normal(random) : 0.5 / (1 + std::fabs(normal(random))));
    for (extent_t x = 0; x < tokens * values; ++x) d_out.push_back(normal(random));
  }
  void take(k::linear_attention_head<double>& h) const {
    h.f = form;
    h.query = {in[0].data(), keys};
    h.key = {in[1].data(), keys};
    h.value = {in[2].data(), values};
    h.decay = {in[3].data(), 1};
    h.strength = {in[4].data(), 1};
  }
  double loss() {
    std::vector<double> out(d_out.size());
    k::linear_attention_head<double> h;
    take(h);
    h.forward({out.data(), values}, memory);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * d_out[i];
    return sum;
  }
};

TEST(LinearAttentionHead, BackwardIsTheDifferenceQuotient) {
  std::mt19937 random(3);
  for (extent_t tokens = 1; tokens <= 18; ++tokens) {
    head h(tokens, random);
    std::vector<double> d[5];
    for (int i = 0; i < 5; ++i) d[i].assign(h.in[i].size(), 0.0);
    k::linear_attention_gradient_head<double> g;
    h.take(g);
    g.d_out = {h.d_out.data(), head::values};
    g.d_query = {d[0].data(), head::keys};
    g.d_key = {d[1].data(), head::keys};
    g.d_value = {d[2].data(), head::values};
    g.d_decay = {d[3].data(), 1};
    g.d_strength = {d[4].data(), 1};
    g.backward(h.memory);
    for (int i = 0; i < 5; ++i)
      for (std::size_t x = 0; x < h.in[i].size(); ++x) {
        const double step = 1e-5, before = h.in[i][x];
        h.in[i][x] = before + step;
        const double above = h.loss();
        h.in[i][x] = before - step;
        const double below = h.loss();
        h.in[i][x] = before;
        ASSERT_NEAR(d[i][x], (above - below) / (2 * step), 1e-7) << tokens << " tokens, operand " << i << " at " << x;
      }
  }
}

// Gradients of queries and keys are added to what other heads left.
TEST(LinearAttentionHead, GradientsOfKeysAreAdded) {
  std::mt19937 random(4);
  head h(9, random);
  std::vector<double> once[5], twice[5];
  for (int i = 0; i < 5; ++i) once[i].assign(h.in[i].size(), 0.0);
  for (int i = 0; i < 5; ++i) twice[i] = once[i];
  for (int times = 0; times < 3; ++times) {
    auto& d = times == 0 ? once : twice;
    k::linear_attention_gradient_head<double> g;
    h.take(g);
    g.d_out = {h.d_out.data(), head::values};
    g.d_query = {d[0].data(), head::keys};
    g.d_key = {d[1].data(), head::keys};
    g.d_value = {d[2].data(), head::values};
    g.d_decay = {d[3].data(), 1};
    g.d_strength = {d[4].data(), 1};
    g.backward(h.memory);
  }
  for (int i = 0; i < 5; ++i)
    for (std::size_t x = 0; x < once[i].size(); ++x)
      EXPECT_NEAR(twice[i][x], i < 2 ? 2 * once[i][x] : once[i][x], 1e-14 * std::fabs(once[i][x]));
}

}  // namespace
