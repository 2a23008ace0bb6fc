// SPDX-License-Identifier: Apache-2.0
#pragma once
// The named functions of elements: operands, partial algebra and operations. One line makes a new one.

#include <hyperparallel/operators/rules/partial_algebra.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// A function of elements. Every arithmetic operation, root and transcendental function counts as one.
struct elementwise_function {
  const char* name;
  int operands;
  partial_algebra algebra;
  int flops;
};

inline constexpr elementwise_function elementwise_functions[] = {
    {"identity", 1, partial_algebra::copies, 0},
    {"clone", 1, partial_algebra::copies, 0},
    {"cast", 1, partial_algebra::casts, 0},
    {"scale", 1, partial_algebra::scales, 1},
    {"dropout", 1, partial_algebra::thins, 1},
    {"shift", 1, partial_algebra::shifts, 1},
    {"neg", 1, partial_algebra::negates, 1},
    {"abs", 1, partial_algebra::multiplies, 1},
    {"square", 1, partial_algebra::multiplies, 1},
    {"reciprocal", 1, partial_algebra::multiplies, 1},
    {"relu", 1, partial_algebra::rises, 1},
    {"relu6", 1, partial_algebra::rises, 2},
    {"leaky_relu", 1, partial_algebra::rises, 2},
    {"elu", 1, partial_algebra::rises, 3},
    {"clamp", 1, partial_algebra::rises, 2},
    {"exp", 1, partial_algebra::rises, 1},
    {"expm1", 1, partial_algebra::rises, 2},
    {"log", 1, partial_algebra::rises_above, 1},
    {"log1p", 1, partial_algebra::rises_above, 2},
    {"log2", 1, partial_algebra::rises_above, 1},
    {"sqrt", 1, partial_algebra::rises_above, 1},
    {"sigmoid", 1, partial_algebra::rises, 4},
    {"log_sigmoid", 1, partial_algebra::rises, 5},
    {"hard_sigmoid", 1, partial_algebra::rises, 4},
    {"softplus", 1, partial_algebra::rises, 3},
    {"tanh", 1, partial_algebra::rises, 1},
    {"sinh", 1, partial_algebra::rises, 1},
    {"asinh", 1, partial_algebra::rises, 1},
    {"atan", 1, partial_algebra::rises, 1},
    {"erf", 1, partial_algebra::rises, 1},
    {"floor", 1, partial_algebra::rises, 1},
    {"ceil", 1, partial_algebra::rises, 1},
    {"round", 1, partial_algebra::rises, 1},
    {"trunc", 1, partial_algebra::rises, 1},
    {"sign", 1, partial_algebra::signs, 1},
    {"rsqrt", 1, partial_algebra::falls_above, 2},
    {"erfc", 1, partial_algebra::falls, 1},
    {"gelu", 1, partial_algebra::opaque, 5},
    {"silu", 1, partial_algebra::opaque, 4},
    {"mish", 1, partial_algebra::opaque, 5},
    {"hard_swish", 1, partial_algebra::opaque, 5},
    {"sin", 1, partial_algebra::opaque, 1},
    {"cos", 1, partial_algebra::opaque, 1},
    {"tan", 1, partial_algebra::opaque, 1},
    {"cosh", 1, partial_algebra::opaque, 1},
    {"is_finite", 1, partial_algebra::opaque, 1},
    {"is_nan", 1, partial_algebra::opaque, 1},
    {"is_inf", 1, partial_algebra::opaque, 1},
    {"logical_not", 1, partial_algebra::inverts_truth, 1},
    {"bitwise_not", 1, partial_algebra::falls, 1},
    {"add", 2, partial_algebra::adds, 1},
    {"sub", 2, partial_algebra::subtracts, 1},
    {"mul", 2, partial_algebra::products, 1},
    {"div", 2, partial_algebra::quotients, 1},
    {"floor_div", 2, partial_algebra::opaque, 2},
    {"mod", 2, partial_algebra::opaque, 1},
    {"pow", 2, partial_algebra::opaque, 1},
    {"atan2", 2, partial_algebra::opaque, 1},
    {"maximum", 2, partial_algebra::takes_larger, 1},
    {"minimum", 2, partial_algebra::takes_smaller, 1},
    {"equal", 2, partial_algebra::opaque, 1},
    {"not_equal", 2, partial_algebra::opaque, 1},
    {"greater", 2, partial_algebra::is_greater, 1},
    {"greater_equal", 2, partial_algebra::is_greater, 1},
    {"less", 2, partial_algebra::is_less, 1},
    {"less_equal", 2, partial_algebra::is_less, 1},
    {"logical_and", 2, partial_algebra::both, 1},
    {"logical_or", 2, partial_algebra::either, 1},
    {"logical_xor", 2, partial_algebra::opaque, 1},
    {"bitwise_and", 2, partial_algebra::opaque, 1},
    {"bitwise_or", 2, partial_algebra::opaque, 1},
    {"bitwise_xor", 2, partial_algebra::opaque, 1},
    {"swiglu_pair", 2, partial_algebra::gates, 5},
    {"where", 3, partial_algebra::selects, 0},
    {"masked_fill", 2, partial_algebra::overwrites, 0},
};

/// The function of that name, or null. O(functions).
constexpr int function_called(const char* name) {
  constexpr int count = static_cast<int>(sizeof elementwise_functions / sizeof *elementwise_functions);
  for (int i = 0; i < count; ++i)
    if (same_text(elementwise_functions[i].name, name)) return i;
  return -1;
}

}}}  // namespace hyperparallel::v0_2::rules
