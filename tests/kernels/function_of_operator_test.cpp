// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/function_of_operator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "operators/functions_of_elements.hpp"

namespace {

namespace hp = hyperparallel;
using hp::partial_mode;
using hp::reduce_op;

double reduced(reduce_op op, double x, double y) {
  switch (op) {
    case reduce_op::sum:
      return x + y;
    case reduce_op::avg:
      return (x + y) / 2;
    case reduce_op::prod:
      return x * y;
    case reduce_op::max:
    case reduce_op::any:
      return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
    case reduce_op::min:
    case reduce_op::all:
      return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y);
    case reduce_op::none:
      break;
  }
  return NAN;
}

bool near(double x, double y) { return x == y || std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y)); }

using function = std::function<double(const double*)>;

const std::map<std::string, function>& functions() {
  static const std::map<std::string, function> all = {
      {"identity", [](const double* x) { return x[0]; }},
      {"clone", [](const double* x) { return x[0]; }},
      {"cast", [](const double* x) { return x[0]; }},
      {"scale", [](const double* x) { return -3 * x[0]; }},
      {"dropout", [](const double* x) { return 1.25 * x[0]; }},
      {"shift", [](const double* x) { return x[0] + 7; }},
      {"negate", [](const double* x) { return -x[0]; }},
      {"abs", [](const double* x) { return std::abs(x[0]); }},
      {"square", [](const double* x) { return x[0] * x[0]; }},
      {"reciprocal", [](const double* x) { return 1 / x[0]; }},
      {"relu", [](const double* x) { return std::max(0.0, x[0]); }},
      {"relu6", [](const double* x) { return std::clamp(x[0], 0.0, 6.0); }},
      {"leaky_relu", [](const double* x) { return x[0] < 0 ? 0.1 * x[0] : x[0]; }},
      {"elu", [](const double* x) { return x[0] < 0 ? std::expm1(x[0]) : x[0]; }},
      {"clamp", [](const double* x) { return std::clamp(x[0], -1.5, 1.0); }},
      {"exp", [](const double* x) { return std::exp(x[0]); }},
      {"expm1", [](const double* x) { return std::expm1(x[0]); }},
      {"log", [](const double* x) { return std::log(x[0]); }},
      {"log1p", [](const double* x) { return std::log1p(x[0]); }},
      {"log2", [](const double* x) { return std::log2(x[0]); }},
      {"sqrt", [](const double* x) { return std::sqrt(x[0]); }},
      {"sigmoid", [](const double* x) { return 1 / (1 + std::exp(-x[0])); }},
      {"log_sigmoid", [](const double* x) { return -std::log1p(std::exp(-x[0])); }},
      {"hard_sigmoid", [](const double* x) { return std::clamp(x[0] / 6 + 0.5, 0.0, 1.0); }},
      {"softplus", [](const double* x) { return std::log1p(std::exp(x[0])); }},
      {"tanh", [](const double* x) { return std::tanh(x[0]); }},
      {"sinh", [](const double* x) { return std::sinh(x[0]); }},
      {"asinh", [](const double* x) { return std::asinh(x[0]); }},
      {"atan", [](const double* x) { return std::atan(x[0]); }},
      {"erf", [](const double* x) { return std::erf(x[0]); }},
      {"floor", [](const double* x) { return std::floor(x[0]); }},
      {"ceil", [](const double* x) { return std::ceil(x[0]); }},
      {"round", [](const double* x) { return std::round(x[0]); }},
      {"trunc", [](const double* x) { return std::trunc(x[0]); }},
      {"sign", [](const double* x) { return x[0] > 0   ? 1.0
                                            : x[0] < 0 ? -1.0
                                                       : 0.0; }},
      {"rsqrt", [](const double* x) { return 1 / std::sqrt(x[0]); }},
      {"erfc", [](const double* x) { return std::erfc(x[0]); }},
      {"gelu", [](const double* x) { return 0.5 * x[0] * std::erfc(-x[0] / std::sqrt(2.0)); }},
      {"squared_relu", [](const double* x) { return x[0] > 0 ? x[0] * x[0] : 0.0; }},
      {"silu", [](const double* x) { return x[0] / (1 + std::exp(-x[0])); }},
      {"mish", [](const double* x) { return x[0] * std::tanh(std::log1p(std::exp(x[0]))); }},
      {"hard_swish", [](const double* x) { return x[0] * std::clamp(x[0] + 3, 0.0, 6.0) / 6; }},
      {"sin", [](const double* x) { return std::sin(x[0]); }},
      {"cos", [](const double* x) { return std::cos(x[0]); }},
      {"tan", [](const double* x) { return std::tan(x[0]); }},
      {"cosh", [](const double* x) { return std::cosh(x[0]); }},
      {"is_finite", [](const double* x) { return std::isfinite(x[0]) ? 1.0 : 0.0; }},
      {"is_nan", [](const double* x) { return std::isnan(x[0]) ? 1.0 : 0.0; }},
      {"is_inf", [](const double* x) { return std::isinf(x[0]) ? 1.0 : 0.0; }},
      {"logical_not", [](const double* x) { return x[0] == 0 ? 1.0 : 0.0; }},
      {"bitwise_not", [](const double* x) { return static_cast<double>(~static_cast<int>(x[0] * 2)); }},
      {"sum", [](const double* x) { return x[0] + x[1]; }},
      {"subtract", [](const double* x) { return x[0] - x[1]; }},
      {"multiply", [](const double* x) { return x[0] * x[1]; }},
      {"divide", [](const double* x) { return x[0] / x[1]; }},
      {"floor_div", [](const double* x) { return std::floor(x[0] / x[1]); }},
      {"mod", [](const double* x) { return std::fmod(x[0], x[1]); }},
      {"pow", [](const double* x) { return std::pow(x[0], x[1]); }},
      {"atan2", [](const double* x) { return std::atan2(x[0], x[1]); }},
      {"maximum", [](const double* x) { return std::max(x[0], x[1]); }},
      {"minimum", [](const double* x) { return std::min(x[0], x[1]); }},
      {"equal", [](const double* x) { return x[0] == x[1] ? 1.0 : 0.0; }},
      {"not_equal", [](const double* x) { return x[0] != x[1] ? 1.0 : 0.0; }},
      {"greater", [](const double* x) { return x[0] > x[1] ? 1.0 : 0.0; }},
      {"greater_equal", [](const double* x) { return x[0] >= x[1] ? 1.0 : 0.0; }},
      {"less", [](const double* x) { return x[0] < x[1] ? 1.0 : 0.0; }},
      {"less_equal", [](const double* x) { return x[0] <= x[1] ? 1.0 : 0.0; }},
      {"logical_and", [](const double* x) { return x[0] != 0 && x[1] != 0 ? 1.0 : 0.0; }},
      {"logical_or", [](const double* x) { return x[0] != 0 || x[1] != 0 ? 1.0 : 0.0; }},
      {"logical_xor", [](const double* x) { return (x[0] != 0) != (x[1] != 0) ? 1.0 : 0.0; }},
      {"bitwise_and", [](const double* x) { return static_cast<double>(int(x[0] * 2) & int(x[1] * 2)); }},
      {"bitwise_or", [](const double* x) { return static_cast<double>(int(x[0] * 2) | int(x[1] * 2)); }},
      {"bitwise_xor", [](const double* x) { return static_cast<double>(int(x[0] * 2) ^ int(x[1] * 2)); }},
      {"swiglu", [](const double* x) { return x[0] / (1 + std::exp(-x[0])) * x[1]; }},
      {"where", [](const double* x) { return x[0] != 0 ? x[1] : x[2]; }},
      {"masked_fill", [](const double* x) { return x[1] != 0 ? 5.0 : x[0]; }},
  };
  return all;
}

bool is_truth(reduce_op op) { return op == reduce_op::all || op == reduce_op::any; }

/// Operands that are masks, whatever the reduction.
bool is_mask(const std::string& name, int operand) {
  return (name == "where" && operand == 0) || (name == "masked_fill" && operand == 1);
}

const std::vector<double>& grid(bool truth) {
  static const std::vector<double> numbers = {-8, -2.5, -1, -0.5, 0, 1, 1.5, 3, 8}, bits = {0, 1};
  return truth ? bits : numbers;
}

/// Whether g(op of terms) = out of g(terms): with the operands of `group` in terms. Where the function is
/// not defined on the result itself there is nothing to be equal to.
bool passes(const std::string& name, int operands, reduce_op op, reduce_op out, unsigned group) {
  const function& g = functions().at(name);
  double x[3], y[3], whole[3];
  std::function<bool(int)> choose = [&](int p) -> bool {
    if (p == operands) {
      for (int i = 0; i < operands; ++i) whole[i] = (group >> i & 1u) != 0 ? reduced(op, x[i], y[i]) : x[i];
      const double is = g(whole), was = reduced(out, g(x), g(y));
      return std::isnan(is) || !std::isfinite(is) || near(is, was);
    }
    const bool split = (group >> p & 1u) != 0;
    for (const double a : grid(is_truth(op) || is_mask(name, p)))
      for (const double b : grid(is_truth(op) || is_mask(name, p))) {
        if (!split && a != b) continue;
        x[p] = a;
        y[p] = b;
        if (!choose(p + 1)) return false;
      }
    return true;
  };
  return choose(0);
}

unsigned group_of(const hp::partial_words& w, int operands, int o, reduce_op op) {
  if (hp::detail::word_of(w, o, op).mode != partial_mode::together) return 1u << o;
  unsigned group = 0;
  for (int q = 0; q < operands; ++q)
    if (hp::detail::word_of(w, q, op).mode == partial_mode::together) group |= 1u << q;
  return group;
}

TEST(FunctionOfOperator, WhatPassesPasses) {
  for (const elements::function_words& f : elements::all) {
    ASSERT_EQ(functions().count(f.name), 1u) << f.name;
    const hp::partial_words& w = f.words;
    EXPECT_TRUE(w.stated) << f.name;
    for (int o = 0; o < f.operands; ++o)
      for (int i = 1; i < hp::reduce_op_count; ++i) {
        const reduce_op op = static_cast<reduce_op>(i);
        const hp::detail::partial_word word = hp::detail::word_of(w, o, op);
        EXPECT_NE(word.mode, partial_mode::joins) << f.name;
        if (word.mode == partial_mode::refuses) continue;
        EXPECT_TRUE(passes(f.name, f.operands, op, word.out, group_of(w, f.operands, o, op)))
            << f.name << " operand " << o << " by " << hp::name_of(op);
      }
  }
}

// What is refused has a counterexample on a handful of numbers, or is refused for a reason that numbers do not show.
TEST(FunctionOfOperator, WhatIsRefusedWouldBeWrong) {
  // Π exp(x) leaves the range that exp(Σ x) keeps, and whether a product is zero may be underflow. A factor of unknown
  // sign is not told by one of them.
  const std::set<std::string> known = {"exp:sum",         "logical_not:prod", "logical_and:prod",
                                       "logical_or:prod", "scale:max",        "scale:min"};
  const std::set<std::string> constant_on_finite_numbers = {"is_finite", "is_nan", "is_inf"};
  for (const elements::function_words& f : elements::all) {
    if (constant_on_finite_numbers.count(f.name) == 1) continue;
    const hp::partial_words& w = f.words;
    for (int o = 0; o < f.operands; ++o)
      for (const reduce_op op : {reduce_op::sum, reduce_op::max, reduce_op::min, reduce_op::avg, reduce_op::prod}) {
        if (is_mask(f.name, o) || hp::detail::word_of(w, o, op).mode != partial_mode::refuses) continue;
        for (int i = 1; i < hp::reduce_op_count; ++i) {
          const reduce_op out = static_cast<reduce_op>(i);
          if (known.count(std::string(f.name) + ":" + hp::name_of(op)) == 1) continue;
          EXPECT_FALSE(passes(f.name, f.operands, op, out, 1u << o))
              << f.name << " operand " << o << " by " << hp::name_of(op) << " gives " << hp::name_of(out);
        }
      }
  }
}

TEST(FunctionOfOperator, NamesAreDistinct) {
  std::set<std::string> names;
  for (const elements::function_words& f : elements::all) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_TRUE(hp::fits(f.name));
  }
  EXPECT_EQ(names.size(), functions().size());
}

/// The function of a listed operator is the one of its name.
template <class... Operator>
void hold_by_name() {
  const auto hold = []<class Of>(std::type_identity<Of>) {
    using f = decltype(hp::kernels::function_of(Of{}));
    for (const double a : grid(false))
      for (const double b : grid(false)) {
        const double x[] = {a, b}, expected = functions().at(Of::name)(x);
        double is = 0;
        if constexpr (requires { f::of(a); })
          is = static_cast<double>(f::of(a));
        else
          is = static_cast<double>(f::of(a, b));
        EXPECT_TRUE(near(is, expected) || (std::isnan(is) && std::isnan(expected))) << Of::name << " " << a << " " << b;
      }
  };
  (hold(std::type_identity<Operator>{}), ...);
}

TEST(FunctionOfOperator, IsTheOneOfItsName) {
  namespace ops = hp::ops;
  hold_by_name<ops::silu, ops::sigmoid, ops::softplus, ops::squared_relu, ops::gelu, ops::swiglu, ops::relu, ops::tanh,
               ops::exp, ops::log, ops::sqrt, ops::negate, ops::subtract, ops::divide, ops::maximum, ops::sum,
               ops::multiply, ops::abs, ops::square, ops::rsqrt, ops::sin, ops::cos, ops::minimum, ops::pow, ops::equal,
               ops::not_equal, ops::less, ops::less_equal, ops::greater, ops::greater_equal, ops::logical_and,
               ops::logical_or, ops::logical_not>();
}

}  // namespace
