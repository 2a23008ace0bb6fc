// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/elementwise.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

/// Runs `op` on operands of one shape and compares every element with `f` of its operands' elements.
template <class Function>
void check(operator_id op, int operands, const Function& f, const case_options& options = {}) {
  std::mt19937 random(1);
  std::string text = "xyz", domains = "n";
  for (int i = 1; i < operands; ++i) {
    text += ",xyz";
    domains += "n";
  }
  run_case<double> c(op, text + "->xyz", domains, options, random);
  c.run_whole();
  for (std::size_t i = 0; i < c.result[0].values.size(); ++i) {
    double x[8] = {};
    for (int o = 0; o < operands; ++o) x[o] = c.operand[at(o)].values[i];
    EXPECT_NEAR(c.result[0].values[i], f(x), 1e-15 + 1e-14 * std::fabs(f(x))) << name_of(op);
  }
}

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Elementwise, AgreesWithTheFormulas) {
  check(id_of<ops::sum>, 1, [](const double* x) { return x[0]; });
  check(id_of<ops::sum>, 2, [](const double* x) { return x[0] + x[1]; });
  check(id_of<ops::sum>, 8, [](const double* x) {
    double total = 0;
    for (int i = 0; i < 8; ++i) total += x[i];
    return total;
  });
  check(id_of<ops::scale>, 1, [](const double* x) { return 2.5 * x[0]; }, {{}, {2.5}});
  check(id_of<ops::multiply>, 2, [](const double* x) { return x[0] * x[1]; });
  check(id_of<ops::accumulate>, 2, [](const double* x) { return x[0] + x[1]; });
  check(id_of<ops::silu>, 1, [](const double* x) { return x[0] * sigma(x[0]); });
  check(id_of<ops::sigmoid>, 1, [](const double* x) { return sigma(x[0]); });
  check(id_of<ops::swiglu>, 2, [](const double* x) { return x[0] * sigma(x[0]) * x[1]; });
  check(id_of<ops::sigmoid_gradient>, 2, [](const double* x) { return x[0] * x[1] * (1 - x[1]); });
  check(id_of<ops::silu_gradient>, 2, [](const double* x) {
    const double s = sigma(x[1]);
    return x[0] * (s + x[1] * s * (1 - s));
  });
}

TEST(Elementwise, EverydayFunctionsAgreeWithTheFormulas) {
  check(id_of<ops::relu>, 1, [](const double* x) { return std::max(x[0], 0.0); });
  check(id_of<ops::relu_gradient>, 2, [](const double* x) { return x[1] > 0 ? x[0] : 0; });
  check(id_of<ops::tanh>, 1, [](const double* x) { return std::tanh(x[0]); });
  check(id_of<ops::tanh_gradient>, 2, [](const double* x) { return x[0] * (1 - x[1] * x[1]); });
  check(id_of<ops::exp>, 1, [](const double* x) { return std::exp(x[0]); });
  check(id_of<ops::shift>, 1, [](const double* x) { return x[0] + 2.5; }, {{}, {2.5}});
  check(id_of<ops::negate>, 1, [](const double* x) { return -x[0]; });
  check(id_of<ops::subtract>, 2, [](const double* x) { return x[0] - x[1]; });
  check(id_of<ops::divide>, 2, [](const double* x) { return x[0] / x[1]; });
  check(id_of<ops::divide_gradient>, 3, [](const double* x) { return -x[0] * x[1] / (x[2] * x[2]); });
  check(id_of<ops::sqrt_gradient>, 2, [](const double* x) { return x[0] / (2 * x[1]); });
  check(id_of<ops::maximum>, 2, [](const double* x) { return std::max(x[0], x[1]); });
}

/// The gradients of a maximum of x and y for a gradient of 1.
std::pair<double, double> gradients_of_maximum(double x, double y) {
  std::mt19937 random(5);
  run_case<double> c(id_of<ops::maximum_gradient>, "n,n,n->n,n", "nnn", {}, random);
  const double given[] = {1, x, y};
  for (int i = 0; i < 3; ++i) c.operand[at(i)].values.assign(c.operand[at(i)].values.size(), given[i]);
  c.run_whole();
  return {c.result[0].values[0], c.result[1].values[0]};
}

// To the operand that the maximum is, NaNs as well; to the first where they are equal.
TEST(Elementwise, AMaximumHasOneGradient) {
  EXPECT_EQ(gradients_of_maximum(2, 1), std::pair(1.0, 0.0));
  EXPECT_EQ(gradients_of_maximum(1, 2), std::pair(0.0, 1.0));
  EXPECT_EQ(gradients_of_maximum(2, 2), std::pair(1.0, 0.0));
  EXPECT_EQ(gradients_of_maximum(0.0, -0.0), std::pair(1.0, 0.0));
  EXPECT_EQ(gradients_of_maximum(NAN, 2), std::pair(1.0, 0.0));
  EXPECT_EQ(gradients_of_maximum(2, NAN), std::pair(0.0, 1.0));
}

TEST(Elementwise, OperandsRepeatAlongWhatTheyLack) {
  std::mt19937 random(2);
  run_case<float> c(id_of<ops::broadcast>, "zx->xyz", "n", {}, random);
  c.run_whole();
  const hp::operator_call call = c.whole();
  const extent_t z = call.loop[0].extent, x = call.loop[1].extent, y = call.loop[2].extent;
  for (extent_t i = 0; i < x; ++i)
    for (extent_t j = 0; j < y; ++j)
      for (extent_t k = 0; k < z; ++k)
        EXPECT_EQ(c.result[0].values[at((i * y + j) * z + k)], c.operand[0].values[at(k * x + i)]);
}

// A product that lacks a loop of its operands is summed over it: what the gradient of a repeated operand needs.
TEST(Elementwise, AProductMayBeSummed) {
  std::mt19937 random(3);
  run_case<double> c(id_of<ops::multiply>, "xy,xy->x", "nn", {}, random);
  c.run_whole();
  const extent_t x = c.op.loop[0].extent, y = c.op.loop[1].extent;
  for (extent_t i = 0; i < x; ++i) {
    double sum = 0;
    for (extent_t j = 0; j < y; ++j) sum += c.operand[0].values[at(i * y + j)] * c.operand[1].values[at(i * y + j)];
    EXPECT_NEAR(c.result[0].values[at(i)], sum, 1e-14);
  }
}

TEST(Elementwise, LargeArgumentsStayFinite) {
  for (const float x : {-1000.0F, -100.0F, 100.0F, 1000.0F}) {
    EXPECT_NEAR(hp::kernels::functions::sigmoid::of(x), x < 0 ? 0.0F : 1.0F, 1e-30F);
    EXPECT_NEAR(hp::kernels::functions::silu_gradient::of(1.0F, x), x < 0 ? 0.0F : 1.0F, 1e-30F);
  }
}

TEST(Elementwise, RefusesOperandsOfOtherLoops) {
  std::mt19937 random(4);
  run_case<float> c(id_of<ops::swiglu_gradient>, "xy,xy,yx->xy,xy", "nnn", {}, random);
  EXPECT_THROW(c.run_whole(), std::invalid_argument);
  run_case<float> lacking(id_of<ops::silu>, "xy->x", "n", {}, random);
  EXPECT_THROW(lacking.run_whole(), std::invalid_argument);
}

}  // namespace
