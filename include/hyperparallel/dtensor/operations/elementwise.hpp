// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of elements on dtensors: `exp(x)`, `x + y` with broadcasting, `2.0F * x`, `where(c, x, y)`; on variables
// those that are listed operators with gradients, of operands of one shape.
//
// Operands of one operator have one element type; comparisons and truth functions give bool. Law: each result element
// depends on its own operands alone, so the result is the single device's, bit for bit, where nothing was partial.

#include <concepts>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/traced_operation.hpp>
#include <hyperparallel/dtensor/untraced_functions.hpp>
#include <hyperparallel/kernels/elementwise.hpp>
#include <hyperparallel/kernels/function_of_operator.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// A function whose results are truth values, whatever its operands.
template <class Function>
concept gives_truth = requires(float x) {
  { Function::of(x) } -> std::same_as<bool>;
} || requires(float x) {
  { Function::of(x, x) } -> std::same_as<bool>;
};

/// The rule of a function of elements, broadcast.
constexpr rule_result rule_of_elements(const char* name, const partial_words& words, int flops, const shape* x,
                                       int count) {
  return rules::broadcasting(name, aligned_shapes<max_operands>(x, count).at, count, words, flops);
}

}  // namespace detail

/// A listed operator that is a function of one element, or of two, on dtensors: operands are broadcast, and sliced to meet
/// each other. Pending sums pass of operands in which it says that it is `linear`; on variables where each has a backward
/// operator of its own.
template <class Operator>
struct elementwise {
  using function = decltype(kernels::function_of(Operator{}));
  static constexpr unsigned linear = [] {
    if constexpr (requires { Operator::linear; })
      return Operator::linear;
    else
      return 0u;
  }();
  static constexpr bool gradients_alone =
      linear != 0 && detail::parts_made(detail::gradient_of_type<Operator, 2>.rule[0]) == 1;
  static constexpr listed<Operator> on_variables{.linear = gradients_alone ? linear : 0};
  /// Truth values are compared, not computed with.
  template <class X>
  static constexpr bool takes = !std::same_as<X, bool> || detail::gives_truth<function>;
  template <class X, class... Others>
  using results = std::tuple<std::conditional_t<detail::gives_truth<function>, bool, X>>;

  constexpr rule_result rule(const shape* x, int count) const {
    constexpr const operator_value& o = operator_value_of<Operator>;
    constexpr int operands = requires(float v) { function::of(v); } ? 1 : 2;
    if (count != operands) return no_rule(o.name, rule_code::too_many_operands, count);
    partial_words words = o.partials;
    for (const reduce_op op : {reduce_op::sum, reduce_op::avg}) detail::say_all(words, linear, op, partial_mode::each);
    return detail::rule_of_elements(o.name, words, o.flops_per_point, x, count);
  }
  template <class X, class R>
    requires takes<X> && requires(kernels::computing<X> v) { function::of(v); }
  void run(const local_operation&, const_view<X> x, tensor_view<R> out) const {
    kernels::detail::unary<function>(x, out);
  }
  template <class X, class R>
    requires takes<X> && requires(kernels::computing<X> v) { function::of(v, v); }
  void run(const local_operation&, const_view<X> a, const_view<X> b, tensor_view<R> out) const {
    kernels::detail::binary<function>(a, b, out);
  }
};

namespace operations {

namespace f = kernels::functions;

/// Elements as another type, rounded once.
template <class To>
struct cast {
  template <class...>
  using results = std::tuple<To>;
  constexpr rule_result rule(const shape* x, int count) const {
    return detail::rule_of_elements("cast", partial_algebra::casts, 0, x, count);
  }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<To> out) const {
    kernels::detail::unary<f::identity>(x, out);
  }
};

/// The listed scale (x · by) or shift (x + by), by a number of any type.
template <class Operator, class Function, class Number>
struct with_number {
  Number by{};
  constexpr rule_result rule(const shape* x, int count) const {
    return detail::rule_of_elements(Operator::name, Operator::partials, 1, x, count);
  }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    const kernels::computing<X> number = static_cast<kernels::computing<X>>(by);
    kernels::detail::binary<Function>(x, const_view<kernels::computing<X>>{&number, shape{}}, out);
  }
};
template <class Number>
using scale = with_number<ops::scale, f::mul, Number>;
template <class Number>
using shift = with_number<ops::shift, f::add, Number>;

/// condition ? a : b, broadcast.
struct where {
  static constexpr unsigned truths = 0b001u;
  template <class, class T, class>
  using results = std::tuple<T>;
  constexpr rule_result rule(const shape* x, int count) const {
    return detail::rule_of_elements("where", partial_algebra::selects, 0, x, count);
  }
  template <class X>
  void run(const local_operation&, const_view<bool> condition, const_view<X> a, const_view<X> b,
           tensor_view<X> out) const {
    kernels::detail::ternary<f::where>(condition, a, b, out);
  }
};

/// `value` where the mask holds, else x.
template <class Number>
struct masked_fill {
  static constexpr unsigned truths = 0b10u;
  Number value{};
  constexpr rule_result rule(const shape* x, int count) const {
    return detail::rule_of_elements("masked_fill", partial_algebra::overwrites, 0, x, count);
  }
  template <class X>
  void run(const local_operation&, const_view<X> x, const_view<bool> mask, tensor_view<X> out) const {
    const kernels::computing<X> number = static_cast<kernels::computing<X>>(value);
    kernels::detail::ternary<f::masked_fill>(x, mask, const_view<kernels::computing<X>>{&number, shape{}}, out);
  }
};

}  // namespace operations

// Each of these is a listed operator; on variables it is one error line where that has no gradient.
#define HYPERPARALLEL_FUNCTION(name)                            \
  template <auto... Options, class... X>                        \
    requires(variable_type<X> || ...)                           \
  auto name(const X&... x) -> detail::first_variable_of<X...> { \
    return detail::without_gradient<#name>(x...);               \
  }
#define HYPERPARALLEL_UNARY(name, operation)                           \
  HYPERPARALLEL_FUNCTION(name)                                         \
  template <detail::tensor_of_function<elementwise<ops::operation>> X> \
  auto name(const X& x) {                                              \
    return apply<elementwise<ops::operation>{}>(x);                    \
  }
#define HYPERPARALLEL_BINARY(name, operation)                               \
  HYPERPARALLEL_FUNCTION(name)                                              \
  template <class A, class B>                                               \
    requires detail::tensors_of_function<elementwise<ops::operation>, A, B> \
  auto name(const A& a, const B& b) {                                       \
    return apply<elementwise<ops::operation>{}>(a, b);                      \
  }
HYPERPARALLEL_UNARY(neg, negate)
HYPERPARALLEL_UNARY(abs, abs)
HYPERPARALLEL_UNARY(square, square)
HYPERPARALLEL_UNARY(exp, exp)
HYPERPARALLEL_UNARY(log, log)
HYPERPARALLEL_UNARY(sqrt, sqrt)
HYPERPARALLEL_UNARY(rsqrt, rsqrt)
HYPERPARALLEL_UNARY(sin, sin)
HYPERPARALLEL_UNARY(cos, cos)
HYPERPARALLEL_UNARY(tanh, tanh)
HYPERPARALLEL_UNARY(sigmoid, sigmoid)
HYPERPARALLEL_UNARY(silu, silu)
HYPERPARALLEL_UNARY(relu, relu)
HYPERPARALLEL_UNARY(gelu, gelu)
HYPERPARALLEL_UNARY(gelu_tanh, gelu_tanh)
HYPERPARALLEL_UNARY(logical_not, logical_not)
HYPERPARALLEL_BINARY(add, sum)
HYPERPARALLEL_BINARY(sub, subtract)
HYPERPARALLEL_BINARY(mul, multiply)
HYPERPARALLEL_BINARY(div, divide)
HYPERPARALLEL_BINARY(minimum, minimum)
HYPERPARALLEL_BINARY(maximum, maximum)
HYPERPARALLEL_BINARY(pow, pow)
HYPERPARALLEL_BINARY(mod, mod)
HYPERPARALLEL_BINARY(swiglu, swiglu)
HYPERPARALLEL_BINARY(floor_div, floor_div)
HYPERPARALLEL_BINARY(equal, equal)
HYPERPARALLEL_BINARY(not_equal, not_equal)
HYPERPARALLEL_BINARY(less, less)
HYPERPARALLEL_BINARY(less_equal, less_equal)
HYPERPARALLEL_BINARY(greater, greater)
HYPERPARALLEL_BINARY(greater_equal, greater_equal)
HYPERPARALLEL_BINARY(logical_and, logical_and)
HYPERPARALLEL_BINARY(logical_or, logical_or)
#undef HYPERPARALLEL_FUNCTION
#undef HYPERPARALLEL_UNARY
#undef HYPERPARALLEL_BINARY

/// `mul` of variables.
template <class A, class B>
  requires traced_operands<A, B>
auto multiply(const A& a, const B& b) {
  return mul(a, b);
}
template <dtensor_type C, dtensor_type A, dtensor_type B>
auto where(const C& condition, const A& a, const B& b) {
  return apply<operations::where{}>(condition, a, b);
}
template <element_type To, dtensor_type X>
auto cast(const X& x) {
  return apply<operations::cast<To>{}>(x);
}
/// x · by and x + by for a number that is known at run time.
template <tensor_or_variable X, class Number>
  requires std::is_arithmetic_v<Number>
auto scale(const X& x, Number by) {
  if constexpr (dtensor_type<X>)
    return apply_as<operations::scale<Number>{}>(operations::scale<Number>{by}, x);
  else
    return apply<ops::scale>({.real = {static_cast<double>(by)}}, x);
}
template <tensor_or_variable X, class Number>
  requires std::is_arithmetic_v<Number>
auto shift(const X& x, Number by) {
  if constexpr (dtensor_type<X>)
    return apply_as<operations::shift<Number>{}>(operations::shift<Number>{by}, x);
  else
    return apply<ops::shift>({.real = {static_cast<double>(by)}}, x);
}
template <dtensor_type X, dtensor_type Mask, class Number>
  requires std::is_arithmetic_v<Number>
auto masked_fill(const X& x, const Mask& mask, Number value) {
  return apply_as<operations::masked_fill<Number>{}>(operations::masked_fill<Number>{value}, x, mask);
}

#define HYPERPARALLEL_SIGN(sign, name)                  \
  template <tensor_or_variable A, tensor_or_variable B> \
  auto operator sign(const A& a, const B& b) {          \
    return name(a, b);                                  \
  }
HYPERPARALLEL_SIGN(+, add)
HYPERPARALLEL_SIGN(-, sub)
HYPERPARALLEL_SIGN(*, mul)
HYPERPARALLEL_SIGN(/, div)
#undef HYPERPARALLEL_SIGN
template <tensor_or_variable X>
auto operator-(const X& x) {
  return neg(x);
}
template <tensor_or_variable X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator*(const X& x, Number by) {
  return scale(x, by);
}
template <tensor_or_variable X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator*(Number by, const X& x) {
  return scale(x, by);
}
template <tensor_or_variable X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator+(const X& x, Number by) {
  return shift(x, by);
}
template <tensor_or_variable X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator-(const X& x, Number by) {
  return shift(x, -by);
}

}}  // namespace hyperparallel::v0_2
