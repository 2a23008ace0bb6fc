// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of elements on dtensors: `exp(x)`, `x + y` with broadcasting, `2.0F * x`, `where(c, x, y)`.
//
// Operands of one operator have one element type; comparisons and truth functions give bool. Law: each result element
// depends on its own operands alone, so the result is the single device's, bit for bit, where nothing was partial.

#include <concepts>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/kernels/elementwise.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

namespace f = kernels::functions;

/// Truth values are compared, chosen and copied, not computed with.
template <class Function, class X>
inline constexpr bool is_number = !std::same_as<X, bool> || std::same_as<Function, f::identity>;

/// A function of one element: `Name` is its name among the rules, `Function` has its kernel.
template <fixed_string Name, class Function>
struct unary {
  constexpr rule_result rule(const shape* x, int) const { return rules::elementwise(Name.text, x[0].rank); }
  template <class X>
    requires is_number<Function, X> && requires(kernels::computing<X> v) { Function::of(v); }
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::unary<Function>(x, out);
  }
};

/// A function of two elements, broadcast; its result is of their type.
template <fixed_string Name, class Function>
struct binary {
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

struct logical_not {
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
using neg = unary<"neg", f::neg>;
using abs = unary<"abs", f::abs>;
using square = unary<"square", f::square>;
using exp = unary<"exp", f::exp>;
using log = unary<"log", f::log>;
using sqrt = unary<"sqrt", f::sqrt>;
using rsqrt = unary<"rsqrt", f::rsqrt>;
using sin = unary<"sin", f::sin>;
using cos = unary<"cos", f::cos>;
using tanh = unary<"tanh", f::tanh>;
using sigmoid = unary<"sigmoid", f::sigmoid>;
using silu = unary<"silu", f::silu>;
using relu = unary<"relu", f::relu>;
using gelu = unary<"gelu", f::gelu>;
using gelu_tanh = unary<"gelu", f::gelu_tanh>;
using add = binary<"add", f::add>;
using sub = binary<"sub", f::sub>;
using mul = binary<"mul", f::mul>;
using div = binary<"div", f::div>;
using minimum = binary<"minimum", f::minimum>;
using maximum = binary<"maximum", f::maximum>;
using pow = binary<"pow", f::pow>;
using mod = binary<"mod", f::mod>;
using swiglu = binary<"swiglu_pair", f::swiglu>;
using floor_div = binary<"floor_div", f::floor_div>;
using equal = comparison<"equal", f::equal>;
using not_equal = comparison<"not_equal", f::not_equal>;
using less = comparison<"less", f::less>;
using less_equal = comparison<"less_equal", f::less_equal>;
using greater = comparison<"greater", f::greater>;
using greater_equal = comparison<"greater_equal", f::greater_equal>;
using logical_and = comparison<"logical_and", f::logical_and>;
using logical_or = comparison<"logical_or", f::logical_or>;
template <class Number>
using scale = with_number<"scale", f::mul, Number>;
template <class Number>
using shift = with_number<"shift", f::add, Number>;

}  // namespace operations

// Each of these is `apply` of the operation of its name.
#define HYPERPARALLEL_UNARY(name)        \
  template <dtensor_type X>              \
  auto name(const X& x) {                \
    return apply<operations::name{}>(x); \
  }
#define HYPERPARALLEL_BINARY(name)          \
  template <dtensor_type A, dtensor_type B> \
  auto name(const A& a, const B& b) {       \
    return apply<operations::name{}>(a, b); \
  }
HYPERPARALLEL_UNARY(neg)
HYPERPARALLEL_UNARY(abs)
HYPERPARALLEL_UNARY(square)
HYPERPARALLEL_UNARY(exp)
HYPERPARALLEL_UNARY(log)
HYPERPARALLEL_UNARY(sqrt)
HYPERPARALLEL_UNARY(rsqrt)
HYPERPARALLEL_UNARY(sin)
HYPERPARALLEL_UNARY(cos)
HYPERPARALLEL_UNARY(tanh)
HYPERPARALLEL_UNARY(sigmoid)
HYPERPARALLEL_UNARY(silu)
HYPERPARALLEL_UNARY(relu)
HYPERPARALLEL_UNARY(gelu)
HYPERPARALLEL_UNARY(gelu_tanh)
HYPERPARALLEL_UNARY(logical_not)
HYPERPARALLEL_BINARY(add)
HYPERPARALLEL_BINARY(sub)
HYPERPARALLEL_BINARY(mul)
HYPERPARALLEL_BINARY(div)
HYPERPARALLEL_BINARY(minimum)
HYPERPARALLEL_BINARY(maximum)
HYPERPARALLEL_BINARY(pow)
HYPERPARALLEL_BINARY(mod)
HYPERPARALLEL_BINARY(floor_div)
HYPERPARALLEL_BINARY(equal)
HYPERPARALLEL_BINARY(not_equal)
HYPERPARALLEL_BINARY(less)
HYPERPARALLEL_BINARY(less_equal)
HYPERPARALLEL_BINARY(greater)
HYPERPARALLEL_BINARY(greater_equal)
HYPERPARALLEL_BINARY(logical_and)
HYPERPARALLEL_BINARY(logical_or)
HYPERPARALLEL_BINARY(swiglu)
#undef HYPERPARALLEL_UNARY
#undef HYPERPARALLEL_BINARY

template <dtensor_type C, dtensor_type A, dtensor_type B>
auto where(const C& condition, const A& a, const B& b) {
  return apply<operations::where{}>(condition, a, b);
}
template <element_type To, dtensor_type X>
auto cast(const X& x) {
  return apply<operations::cast<To>{}>(x);
}
/// x · by and x + by for a number that is known at run time.
template <dtensor_type X, class Number>
  requires std::is_arithmetic_v<Number>
auto scale(const X& x, Number by) {
  return apply_as<operations::scale<Number>{}>(operations::scale<Number>{by}, x);
}
template <dtensor_type X, class Number>
  requires std::is_arithmetic_v<Number>
auto shift(const X& x, Number by) {
  return apply_as<operations::shift<Number>{}>(operations::shift<Number>{by}, x);
}
template <dtensor_type X, dtensor_type Mask, class Number>
  requires std::is_arithmetic_v<Number>
auto masked_fill(const X& x, const Mask& mask, Number value) {
  return apply_as<operations::masked_fill<Number>{}>(operations::masked_fill<Number>{value}, x, mask);
}

template <dtensor_type A, dtensor_type B>
auto operator+(const A& a, const B& b) {
  return add(a, b);
}
template <dtensor_type A, dtensor_type B>
auto operator-(const A& a, const B& b) {
  return sub(a, b);
}
template <dtensor_type A, dtensor_type B>
auto operator*(const A& a, const B& b) {
  return mul(a, b);
}
template <dtensor_type A, dtensor_type B>
auto operator/(const A& a, const B& b) {
  return div(a, b);
}
template <dtensor_type X>
auto operator-(const X& x) {
  return neg(x);
}
template <dtensor_type X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator*(const X& x, Number by) {
  return scale(x, by);
}
template <dtensor_type X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator*(Number by, const X& x) {
  return scale(x, by);
}
template <dtensor_type X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator+(const X& x, Number by) {
  return shift(x, by);
}
template <dtensor_type X, class Number>
  requires std::is_arithmetic_v<Number>
auto operator-(const X& x, Number by) {
  return shift(x, -by);
}

}}  // namespace hyperparallel::v0_2
