// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of elements and the reductions that they say they pass: the listed ones, and others of each algebra.

#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/ops/functions.hpp>

#include <initializer_list>
#include <type_traits>
#include <vector>

namespace elements {

namespace hp = hyperparallel;
namespace algebra = hp::partial_algebra;

struct function_words {
  const char* name;
  int operands;
  hp::partial_words words;
};

using functions = std::vector<function_words>;

template <int Operands, class... Operator>
void add_listed(functions& all) {
  const auto words = []<class Of>(std::type_identity<Of>) {
    hp::partial_words w = hp::operator_value_of<Of>.partials;
    if constexpr (requires { Of::linear; })
      for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::avg})
        hp::detail::say_all(w, Of::linear, op, hp::partial_mode::each);
    return w;
  };
  (all.push_back({Operator::name, Operands, words(std::type_identity<Operator>{})}), ...);
}

inline const functions all = [] {
  namespace ops = hp::ops;
  functions f;
  add_listed<1, ops::scale, ops::shift, ops::negate, ops::abs, ops::square, ops::relu, ops::exp, ops::log, ops::sqrt,
             ops::sigmoid, ops::softplus, ops::tanh, ops::rsqrt, ops::gelu, ops::squared_relu, ops::silu, ops::sin,
             ops::cos, ops::logical_not>(f);
  add_listed<2, ops::sum, ops::subtract, ops::multiply, ops::divide, ops::floor_div, ops::mod, ops::pow, ops::maximum,
             ops::minimum, ops::equal, ops::not_equal, ops::greater, ops::greater_equal, ops::less, ops::less_equal,
             ops::logical_and, ops::logical_or, ops::swiglu>(f);
  const auto add = [&f](int operands, const hp::partial_words& words, std::initializer_list<const char*> names) {
    for (const char* name : names) f.push_back({name, operands, words});
  };
  add(1, algebra::copies, {"identity", "clone"});
  add(1, algebra::casts, {"cast"});
  add(1, hp::detail::rising(algebra::scales, 0), {"dropout"});
  add(1, algebra::multiplies, {"reciprocal"});
  add(1, algebra::rises,
      {"relu6", "leaky_relu", "elu", "clamp", "expm1", "log_sigmoid", "hard_sigmoid", "sinh", "asinh", "atan", "erf",
       "floor", "ceil", "round", "trunc"});
  add(1, algebra::rises_above, {"log1p", "log2"});
  add(1, algebra::signs, {"sign"});
  add(1, algebra::falls, {"erfc", "bitwise_not"});
  add(1, algebra::opaque, {"mish", "hard_swish", "tan", "cosh", "is_finite", "is_nan", "is_inf"});
  add(2, algebra::opaque, {"atan2", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"});
  add(3, algebra::selects, {"where"});
  add(2, algebra::overwrites, {"masked_fill"});
  return f;
}();

}  // namespace elements
