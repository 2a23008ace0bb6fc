// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of elements and the reductions that they say they pass: the listed ones, and others of each algebra.

#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/ops/functions.hpp>

#include <vector>

namespace elements {

namespace hp = hyperparallel;
namespace algebra = hp::partial_algebra;

struct function_words {
  const char* name;
  int operands;
  hp::partial_words words;
};

template <class Operator, int Operands>
function_words listed() {
  hp::partial_words words = hp::operator_value_of<Operator>.partials;
  if constexpr (requires { Operator::linear; })
    for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::avg})
      hp::say_all(words, Operator::linear, op, hp::partial_mode::each);
  return {Operator::name, Operands, words};
}

inline const std::vector<function_words> all = {
    {"identity", 1, algebra::copies},    {"clone", 1, algebra::copies},
    {"cast", 1, algebra::casts},         listed<hp::ops::scale, 1>(),
    {"dropout", 1, algebra::thins},      listed<hp::ops::shift, 1>(),
    listed<hp::ops::negate, 1>(),        listed<hp::ops::abs, 1>(),
    listed<hp::ops::square, 1>(),        {"reciprocal", 1, algebra::multiplies},
    listed<hp::ops::relu, 1>(),          {"relu6", 1, algebra::rises},
    {"leaky_relu", 1, algebra::rises},   {"elu", 1, algebra::rises},
    {"clamp", 1, algebra::rises},        listed<hp::ops::exp, 1>(),
    {"expm1", 1, algebra::rises},        listed<hp::ops::log, 1>(),
    {"log1p", 1, algebra::rises_above},  {"log2", 1, algebra::rises_above},
    listed<hp::ops::sqrt, 1>(),          listed<hp::ops::sigmoid, 1>(),
    {"log_sigmoid", 1, algebra::rises},  {"hard_sigmoid", 1, algebra::rises},
    listed<hp::ops::softplus, 1>(),      listed<hp::ops::tanh, 1>(),
    {"sinh", 1, algebra::rises},         {"asinh", 1, algebra::rises},
    {"atan", 1, algebra::rises},         {"erf", 1, algebra::rises},
    {"floor", 1, algebra::rises},        {"ceil", 1, algebra::rises},
    {"round", 1, algebra::rises},        {"trunc", 1, algebra::rises},
    {"sign", 1, algebra::signs},         listed<hp::ops::rsqrt, 1>(),
    {"erfc", 1, algebra::falls},         listed<hp::ops::gelu, 1>(),
    listed<hp::ops::squared_relu, 1>(),  listed<hp::ops::silu, 1>(),
    {"mish", 1, algebra::opaque},        {"hard_swish", 1, algebra::opaque},
    listed<hp::ops::sin, 1>(),           listed<hp::ops::cos, 1>(),
    {"tan", 1, algebra::opaque},         {"cosh", 1, algebra::opaque},
    {"is_finite", 1, algebra::opaque},   {"is_nan", 1, algebra::opaque},
    {"is_inf", 1, algebra::opaque},      listed<hp::ops::logical_not, 1>(),
    {"bitwise_not", 1, algebra::falls},  listed<hp::ops::sum, 2>(),
    listed<hp::ops::subtract, 2>(),      listed<hp::ops::multiply, 2>(),
    listed<hp::ops::divide, 2>(),        listed<hp::ops::floor_div, 2>(),
    listed<hp::ops::mod, 2>(),           listed<hp::ops::pow, 2>(),
    {"atan2", 2, algebra::opaque},       listed<hp::ops::maximum, 2>(),
    listed<hp::ops::minimum, 2>(),       listed<hp::ops::equal, 2>(),
    listed<hp::ops::not_equal, 2>(),     listed<hp::ops::greater, 2>(),
    listed<hp::ops::greater_equal, 2>(), listed<hp::ops::less, 2>(),
    listed<hp::ops::less_equal, 2>(),    listed<hp::ops::logical_and, 2>(),
    listed<hp::ops::logical_or, 2>(),    {"logical_xor", 2, algebra::opaque},
    {"bitwise_and", 2, algebra::opaque}, {"bitwise_or", 2, algebra::opaque},
    {"bitwise_xor", 2, algebra::opaque}, listed<hp::ops::swiglu, 2>(),
    {"where", 3, algebra::selects},      {"masked_fill", 2, algebra::overwrites},
};

}  // namespace elements
