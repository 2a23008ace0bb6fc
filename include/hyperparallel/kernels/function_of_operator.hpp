// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which function of elements (elementwise_functions.hpp) a listed operator is: what models and distributed tensors compute
// it by, hence with the same bits.

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/ops/functions.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// The function of elements that an operator is; those that are none have no overload. Not defined.
functions::add function_of(ops::add_bias);
functions::add function_of(ops::accumulate);
functions::identity function_of(ops::broadcast);
functions::silu function_of(ops::silu);
functions::silu_gradient function_of(ops::silu_gradient);
functions::sigmoid function_of(ops::sigmoid);
functions::sigmoid_gradient function_of(ops::sigmoid_gradient);
functions::softplus function_of(ops::softplus);
functions::softplus_gradient function_of(ops::softplus_gradient);
functions::squared_relu function_of(ops::squared_relu);
functions::squared_relu_gradient function_of(ops::squared_relu_gradient);
functions::gelu function_of(ops::gelu);
functions::gelu_gradient function_of(ops::gelu_gradient);
functions::gelu_tanh function_of(ops::gelu_tanh);
functions::gelu_tanh_gradient function_of(ops::gelu_tanh_gradient);
functions::swiglu function_of(ops::swiglu);
functions::geglu function_of(ops::geglu);
functions::relu function_of(ops::relu);
functions::relu_gradient function_of(ops::relu_gradient);
functions::tanh function_of(ops::tanh);
functions::tanh_gradient function_of(ops::tanh_gradient);
functions::exp function_of(ops::exp);
functions::log function_of(ops::log);
functions::sqrt function_of(ops::sqrt);
functions::sqrt_gradient function_of(ops::sqrt_gradient);
functions::neg function_of(ops::negate);
functions::sub function_of(ops::subtract);
functions::div function_of(ops::divide);
functions::divide_gradient function_of(ops::divide_gradient);
functions::maximum function_of(ops::maximum);
functions::add function_of(ops::sum);
functions::mul function_of(ops::multiply);
functions::abs function_of(ops::abs);
functions::square function_of(ops::square);
functions::rsqrt function_of(ops::rsqrt);
functions::sin function_of(ops::sin);
functions::cos function_of(ops::cos);
functions::minimum function_of(ops::minimum);
functions::pow function_of(ops::pow);
functions::mod function_of(ops::mod);
functions::floor_div function_of(ops::floor_div);
functions::equal function_of(ops::equal);
functions::not_equal function_of(ops::not_equal);
functions::less function_of(ops::less);
functions::less_equal function_of(ops::less_equal);
functions::greater function_of(ops::greater);
functions::greater_equal function_of(ops::greater_equal);
functions::logical_and function_of(ops::logical_and);
functions::logical_or function_of(ops::logical_or);
functions::logical_not function_of(ops::logical_not);

namespace detail {

template <class Operator>
concept function_of_elements = requires(Operator o) { function_of(o); };

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
