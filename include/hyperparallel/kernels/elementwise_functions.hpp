// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of elementwise.hpp: types with `of`, on computing types. Operands of one call have one type.
//
// Semantics are NumPy's where C++ differs: `mod` has the sign of the divisor, `floor_div` rounds down, `maximum` and
// `minimum` hand on a NaN. Domain for integers: no overflow, no division by 0, exponents ≥ 0; `div` truncates.

#include <cmath>
#include <concepts>
#include <numbers>

#include <hyperparallel/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace functions {

/// Copies; between element types this is the cast.
struct identity {
  static constexpr auto of(auto x) { return x; }
};
struct neg {
  static constexpr auto of(auto x) { return -x; }
};
struct abs {
  static constexpr auto of(std::integral auto x) { return x < 0 ? -x : +x; }
  static auto of(std::floating_point auto x) { return std::fabs(x); }
};
struct square {
  static constexpr auto of(auto x) { return x * x; }
};
struct exp {
  static auto of(std::floating_point auto x) { return std::exp(x); }
};
struct log {
  static auto of(std::floating_point auto x) { return std::log(x); }
};
struct sqrt {
  static auto of(std::floating_point auto x) { return std::sqrt(x); }
};
struct rsqrt {
  static auto of(std::floating_point auto x) { return 1 / std::sqrt(x); }
};
struct sin {
  static auto of(std::floating_point auto x) { return std::sin(x); }
};
struct cos {
  static auto of(std::floating_point auto x) { return std::cos(x); }
};
struct tanh {
  static auto of(std::floating_point auto x) { return std::tanh(x); }
};
struct sigmoid {
  static auto of(std::floating_point auto x) { return 1 / (1 + std::exp(-x)); }
};
/// x / (1 + e^-x): the bits of `swiglu`'s gate.
struct silu {
  static auto of(std::floating_point auto x) { return x / (1 + std::exp(-x)); }
};
/// d · slope at x of the sigmoid, told by its value y.
struct sigmoid_gradient {
  template <std::floating_point T>
  static T of(T d, T y) {
    HYPERPARALLEL_EXACT_BODY
    return d * y * (T(1) - y);
  }
};
/// d · slope of silu at x. Where e^-x overflows s is 0, and so is the slope: 1 − s and not s · e^-x, that is 0 · ∞.
struct silu_gradient {
  template <std::floating_point T>
  static T of(T d, T x) {
    HYPERPARALLEL_EXACT_BODY
    const T s = sigmoid::of(x);
    return d * (s * (T(1) + x * (T(1) - s)));
  }
};
/// log(1 + e^x), without overflow.
struct softplus {
  template <std::floating_point T>
  static T of(T x) {
    HYPERPARALLEL_EXACT_BODY
    return x > T(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
};
struct softplus_gradient {
  template <std::floating_point T>
  static T of(T d, T x) {
    HYPERPARALLEL_EXACT_BODY
    return d * sigmoid::of(x);
  }
};
/// max(x, 0)².
struct squared_relu {
  template <std::floating_point T>
  static T of(T x) {
    HYPERPARALLEL_EXACT_BODY
    return x > T(0) ? x * x : T(0);
  }
};
struct squared_relu_gradient {
  template <std::floating_point T>
  static T of(T d, T x) {
    HYPERPARALLEL_EXACT_BODY
    return x > T(0) ? d * (T(2) * x) : T(0);
  }
};
/// silu(gate) · up.
struct swiglu {
  template <std::floating_point T>
  static T of(T gate, T up) {
    return silu::of(gate) * up;
  }
};
struct relu {
  static constexpr auto of(auto x) { return x < 0 ? decltype(x){} : x; }
};
/// d · slope of the function that gave y; that of relu at 0 is 0.
struct relu_gradient {
  static constexpr auto of(auto d, auto y) { return y > 0 ? d : decltype(d){}; }
};
struct tanh_gradient {
  template <std::floating_point T>
  static T of(T d, T y) {
    HYPERPARALLEL_EXACT_BODY
    return d * (1 - y * y);
  }
};
struct sqrt_gradient {
  static auto of(std::floating_point auto d, std::floating_point auto y) { return d / (2 * y); }
};
/// x · Φ(x), by the error function; its complement keeps the left tail accurate.
struct gelu {
  template <std::floating_point T>
  static T of(T x) {
    return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<T>);
  }
};
/// d · slope of gelu at x: Φ(x) + x · φ(x).
struct gelu_gradient {
  template <std::floating_point T>
  static T of(T d, T x) {
    HYPERPARALLEL_EXACT_BODY
    const T below = std::erfc(-x / std::numbers::sqrt2_v<T>) / 2;
    const T density = std::exp(-x * x / 2) * (std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>);
    return d * (below + x * density);
  }
};
/// gelu by tanh (Hendrycks and Gimpel, arXiv:1606.08415 §2).
struct gelu_tanh {
  template <std::floating_point T>
  static T of(T x) {
    HYPERPARALLEL_EXACT_BODY
    constexpr T scale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
    return x / 2 * (1 + std::tanh(scale * (x + T(0.044715) * (x * x * x))));
  }
};
/// d · slope of gelu_tanh at x.
struct gelu_tanh_gradient {
  template <std::floating_point T>
  static T of(T d, T x) {
    HYPERPARALLEL_EXACT_BODY
    constexpr T scale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
    const T t = std::tanh(scale * (x + T(0.044715) * (x * x * x)));
    return d * ((T(1) + t) / 2 + x / 2 * ((T(1) - t * t) * (scale * (T(1) + T(0.134145) * (x * x)))));
  }
};
/// gelu_tanh(gate) · up.
struct geglu {
  template <std::floating_point T>
  static T of(T gate, T up) {
    return gelu_tanh::of(gate) * up;
  }
};
struct logical_not {
  static constexpr bool of(auto x) { return x == 0; }
};

struct add {
  static constexpr auto of(auto a, auto b) { return a + b; }
};
struct sub {
  static constexpr auto of(auto a, auto b) { return a - b; }
};
struct mul {
  static constexpr auto of(auto a, auto b) { return a * b; }
};
struct div {
  static constexpr auto of(auto a, auto b) { return a / b; }
};
/// d · slope in b. a / b² would leave the range of floats where a / b / b does not.
struct divide_gradient {
  static auto of(std::floating_point auto d, std::floating_point auto a, std::floating_point auto b) {
    return -d * (a / b) / b;
  }
};
struct minimum {
  static constexpr auto of(auto a, auto b) { return b < a || b != b ? b : a; }
};
struct maximum {
  static constexpr auto of(auto a, auto b) { return a < b || b != b ? b : a; }
};
struct pow {
  static auto of(std::floating_point auto x, std::floating_point auto n) { return std::pow(x, n); }
  template <std::integral T>
  static constexpr T of(T x, T n) {
    T result = 1;
    for (; n > 0; n = static_cast<T>(n / 2)) {
      if (n % 2 != 0) result = static_cast<T>(result * x);
      if (n > 1) x = static_cast<T>(x * x);  // not after the last bit: it could overflow for nothing
    }
    return result;
  }
};
struct mod {
  template <std::floating_point T>
  static T of(T a, T b) {
    const T rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <std::integral T>
  static constexpr T of(T a, T b) {
    const T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};
/// ⌊a / b⌋, from the rest, so that floor_div(a, b) · b + mod(a, b) is a up to rounding.
struct floor_div {
  template <std::floating_point T>
  static T of(T a, T b) {
    if (b == 0) return a / b;
    const T quotient = (a - mod::of(a, b)) / b;
    const T below = std::floor(quotient);
    return quotient - below > T(0.5) ? below + 1 : below;
  }
  template <std::integral T>
  static constexpr T of(T a, T b) {
    const T quotient = static_cast<T>(a / b);
    return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
  }
};

struct equal {
  static constexpr bool of(auto a, auto b) { return a == b; }
};
struct not_equal {
  static constexpr bool of(auto a, auto b) { return a != b; }
};
struct less {
  static constexpr bool of(auto a, auto b) { return a < b; }
};
struct less_equal {
  static constexpr bool of(auto a, auto b) { return a <= b; }
};
struct greater {
  static constexpr bool of(auto a, auto b) { return a > b; }
};
struct greater_equal {
  static constexpr bool of(auto a, auto b) { return a >= b; }
};
struct logical_and {
  static constexpr bool of(auto a, auto b) { return a != 0 && b != 0; }
};
struct logical_or {
  static constexpr bool of(auto a, auto b) { return a != 0 || b != 0; }
};

/// condition ? a : b.
struct where {
  static constexpr auto of(bool condition, auto a, auto b) { return condition ? a : b; }
};
/// mask ? value : x.
struct masked_fill {
  static constexpr auto of(auto x, bool mask, auto value) { return mask ? value : x; }
};

}}}}  // namespace hyperparallel::v0_2::kernels::functions

HYPERPARALLEL_EXACT_END
