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
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

namespace f = kernels::functions;

/// Truth values are compared, chosen and copied, not computed with.
template <class Function, class X>
inline constexpr bool is_number = !std::same_as<X, bool> || std::same_as<Function, f::identity>;

/// A function of one element: `Name` is its name among the rules, `Function` has its kernel, `Operator` is the listed
/// operator that it is on variables.
template <fixed_string Name, class Function, class Operator = void>
struct unary {
  using on_variables = traced_as<Operator>;
  constexpr rule_result rule(const shape* x, int) const { return rules::elementwise(Name.text, x[0].rank); }
  template <class X>
    requires is_number<Function, X> && requires(kernels::computing<X> v) { Function::of(v); }
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::unary<Function>(x, out);
  }
};

/// A function of two elements, broadcast; its result is of their type. On variables pending sums of the operands of the
/// mask `Linear` pass.
template <fixed_string Name, class Function, class Operator = void, unsigned Linear = 0>
struct binary {
  using on_variables = traced_as<Operator, Linear>;
  constexpr rule_result rule(const shape* x, int count) const {
    return rules::elementwise(Name.text, detail::aligned_shapes<max_operands>(x, count).at, count);
  }
  template <class X>
    requires is_number<Function, X> && requires(kernels::computing<X> v) { Function::of(v, v); }
  void run(const local_operation&, const_view<X> a, const_view<X> b, tensor_view<X> out) const {
    kernels::binary<Function>(a, b, out);
  }
};

/// A function of two elements whose result is a truth value.
template <fixed_string Name, class Function>
struct comparison {
  template <class...>
  using results = std::tuple<bool>;
  constexpr rule_result rule(const shape* x, int count) const { return binary<Name, Function>{}.rule(x, count); }
  template <class X>
  void run(const local_operation&, const_view<X> a, const_view<X> b, tensor_view<bool> out) const {
    kernels::binary<Function>(a, b, out);
  }
};

struct negation {
  template <class...>
  using results = std::tuple<bool>;
  constexpr rule_result rule(const shape* x, int) const { return rules::elementwise("logical_not", x[0].rank); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<bool> out) const {
    kernels::unary<f::logical_not>(x, out);
  }
};

/// Elements as another type, rounded once.
template <class To>
struct cast {
  template <class...>
  using results = std::tuple<To>;
  constexpr rule_result rule(const shape* x, int) const { return rules::elementwise("cast", x[0].rank); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<To> out) const {
    kernels::unary<f::identity>(x, out);
  }
};

/// Function(x, by): a number beside a tensor. As a rule it scales (x · by) or shifts (x + by).
template <fixed_string Name, class Function, class Number>
struct with_number {
  Number by{};
  constexpr rule_result rule(const shape* x, int) const { return rules::elementwise(Name.text, x[0].rank); }
  template <class X>
    requires is_number<Function, X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    const kernels::computing<X> number = static_cast<kernels::computing<X>>(by);
    kernels::binary<Function>(x, const_view<kernels::computing<X>>{&number, shape{}}, out);
  }
};

/// condition ? a : b, broadcast.
struct where {
  static constexpr unsigned truths = 0b001u;
  template <class, class T, class>
  using results = std::tuple<T>;
  constexpr rule_result rule(const shape* x, int count) const {
    return rules::elementwise("where", detail::aligned_shapes<max_operands>(x, count).at, count);
  }
  template <class X>
  void run(const local_operation&, const_view<bool> condition, const_view<X> a, const_view<X> b,
           tensor_view<X> out) const {
    kernels::ternary<f::where>(condition, a, b, out);
  }
};

/// `value` where the mask holds, else x.
template <class Number>
struct masked_fill {
  static constexpr unsigned truths = 0b10u;
  Number value{};
  constexpr rule_result rule(const shape* x, int count) const {
    return rules::elementwise("masked_fill", detail::aligned_shapes<max_operands>(x, count).at, count);
  }
  template <class X>
  void run(const local_operation&, const_view<X> x, const_view<bool> mask, tensor_view<X> out) const {
    const kernels::computing<X> number = static_cast<kernels::computing<X>>(value);
    kernels::ternary<f::masked_fill>(x, mask, const_view<kernels::computing<X>>{&number, shape{}}, out);
  }
};

using identity = unary<"identity", f::identity>;
template <class Number>
using scale = with_number<"scale", f::mul, Number>;
template <class Number>
using shift = with_number<"shift", f::add, Number>;

}  // namespace operations

// Each of these names a description, and is `apply` of it; on variables it is one error line where that says nothing.
#define HYPERPARALLEL_FUNCTION(name, ...)                       \
  namespace operations {                                        \
  using name = __VA_ARGS__;                                     \
  }                                                             \
  template <auto... Options, class... X>                        \
    requires(variable_type<X> || ...)                           \
  auto name(const X&... x) -> detail::first_variable_of<X...> { \
    return detail::without_gradient<#name>(x...);               \
  }
#define HYPERPARALLEL_UNARY(name, ...)              \
  HYPERPARALLEL_FUNCTION(name, __VA_ARGS__)         \
  template <tensor_of_function<operations::name> X> \
  auto name(const X& x) {                           \
    return apply<operations::name{}>(x);            \
  }
#define HYPERPARALLEL_BINARY(name, ...)                  \
  HYPERPARALLEL_FUNCTION(name, __VA_ARGS__)              \
  template <class A, class B>                            \
    requires tensors_of_function<operations::name, A, B> \
  auto name(const A& a, const B& b) {                    \
    return apply<operations::name{}>(a, b);              \
  }
HYPERPARALLEL_UNARY(neg, unary<"neg", f::neg, ops::negate>)
HYPERPARALLEL_UNARY(abs, unary<"abs", f::abs>)
HYPERPARALLEL_UNARY(square, unary<"square", f::square>)
HYPERPARALLEL_UNARY(exp, unary<"exp", f::exp, ops::exp>)
HYPERPARALLEL_UNARY(log, unary<"log", f::log, ops::log>)
HYPERPARALLEL_UNARY(sqrt, unary<"sqrt", f::sqrt, ops::sqrt>)
HYPERPARALLEL_UNARY(rsqrt, unary<"rsqrt", f::rsqrt>)
HYPERPARALLEL_UNARY(sin, unary<"sin", f::sin>)
HYPERPARALLEL_UNARY(cos, unary<"cos", f::cos>)
HYPERPARALLEL_UNARY(tanh, unary<"tanh", f::tanh, ops::tanh>)
HYPERPARALLEL_UNARY(sigmoid, unary<"sigmoid", f::sigmoid, ops::sigmoid>)
HYPERPARALLEL_UNARY(silu, unary<"silu", f::silu, ops::silu>)
HYPERPARALLEL_UNARY(relu, unary<"relu", f::relu, ops::relu>)
HYPERPARALLEL_UNARY(gelu, unary<"gelu", f::gelu, ops::gelu>)
HYPERPARALLEL_UNARY(gelu_tanh, unary<"gelu", f::gelu_tanh, ops::gelu_tanh>)
HYPERPARALLEL_BINARY(add, binary<"add", f::add, ops::sum>)
HYPERPARALLEL_BINARY(sub, binary<"sub", f::sub, ops::subtract>)
HYPERPARALLEL_BINARY(mul, binary<"mul", f::mul, ops::multiply, 0b11u>)
HYPERPARALLEL_BINARY(div, binary<"div", f::div, ops::divide>)
HYPERPARALLEL_BINARY(minimum, binary<"minimum", f::minimum>)
HYPERPARALLEL_BINARY(maximum, binary<"maximum", f::maximum, ops::maximum>)
HYPERPARALLEL_BINARY(pow, binary<"pow", f::pow>)
HYPERPARALLEL_BINARY(mod, binary<"mod", f::mod>)
HYPERPARALLEL_BINARY(swiglu, binary<"swiglu_pair", f::swiglu, ops::swiglu>)
HYPERPARALLEL_BINARY(floor_div, binary<"floor_div", f::floor_div>)
HYPERPARALLEL_BINARY(equal, comparison<"equal", f::equal>)
HYPERPARALLEL_BINARY(not_equal, comparison<"not_equal", f::not_equal>)
HYPERPARALLEL_BINARY(less, comparison<"less", f::less>)
HYPERPARALLEL_BINARY(less_equal, comparison<"less_equal", f::less_equal>)
HYPERPARALLEL_BINARY(greater, comparison<"greater", f::greater>)
HYPERPARALLEL_BINARY(greater_equal, comparison<"greater_equal", f::greater_equal>)
HYPERPARALLEL_BINARY(logical_and, comparison<"logical_and", f::logical_and>)
HYPERPARALLEL_BINARY(logical_or, comparison<"logical_or", f::logical_or>)
HYPERPARALLEL_UNARY(logical_not, negation)
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
