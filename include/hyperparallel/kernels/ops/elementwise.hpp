// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element by element: sum, add_bias, scale, multiply, broadcast, accumulate, SwiGLU, GeGLU, SiLU, GELU, sigmoid, relu, tanh, exp,
// log, sqrt, shift, negate, subtract, divide, maximum and their gradients.
//
//   silu(x) = x / (1 + e^−x)    silu'(x) = σ(x) · (1 + x · (1 − σ(x)))          σ(x) = 1 / (1 + e^−x)
//
// Laws: a result element depends on the operands' elements at its own point alone; results may be the same memory as an
// operand of the same loops. An operand that lacks a loop of the result is repeated along it; a product that lacks a
// loop of its operands is their contraction. O(points).

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/function_of_operator.hpp>
#include <hyperparallel/kernels/ops/contraction.hpp>
#include <hyperparallel/support/array_bound.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// Refuses a call whose operands [0, count) have not the loops of the first result.
inline void expect_same_loops(const operator_call& c, int count) {
  for (int i = 0; i < count; ++i)
    expect(hyperparallel::detail::same_factors(c.rule->operand[i], c.rule->result[0]), c,
           "operands and results have different loops");
}

}  // namespace detail

/// result 0 = f(operand 0, …, operand Count - 1) at each point.
template <class T, int Count, class Function>
void pointwise(const operator_call& c, const Function& f) {
  const tensor_factors& r = c.rule->result[0];
  const T* in[hyperparallel::detail::array_bound(Count)];
  detail::loop_steps steps[hyperparallel::detail::array_bound(Count + 1)];
  bool flat = true;
  for (int i = 0; i < Count; ++i) {
    in[i] = operand<T>(c, i);
    steps[i] = detail::steps_of(c, c.rule->operand[i]);
    flat = flat && hyperparallel::detail::same_factors(c.rule->operand[i], r);
    const detail::loop_list missing = detail::loops_of(c.rule->operand[i], {}, {&r});
    expect(missing.count == 0, c, "the result lacks a loop of an operand");
  }
  steps[Count] = detail::steps_of(c, r);
  T* const out = result<T>(c, 0);
  const auto run = [&](const extent_t(&at)[hyperparallel::detail::array_bound(Count + 1)], extent_t n,
                       const extent_t(&stride)[hyperparallel::detail::array_bound(Count + 1)]) {
    for (extent_t i = 0; i < n; ++i) {
      T& to = out[at[Count] + i * stride[Count]];
      if constexpr (Count == 1)
        to = f(in[0][at[0] + i * stride[0]]);
      else if constexpr (Count == 2)
        to = f(in[0][at[0] + i * stride[0]], in[1][at[1] + i * stride[1]]);
      else
        to = f(in[0][at[0] + i * stride[0]], in[1][at[1] + i * stride[1]], in[2][at[2] + i * stride[2]]);
    }
  };
  extent_t stride[hyperparallel::detail::array_bound(Count + 1)],
      origin[hyperparallel::detail::array_bound(Count + 1)] = {};
  if (flat) {
    for (extent_t& s : stride) s = 1;
    run(origin, c.result_elements(0), stride);
    return;
  }
  detail::loop_list outer = detail::loops_of(r);
  expect(outer.count > 0, c, "operands and results have different loops");
  const int inner = outer.loop[--outer.count];
  for (int i = 0; i <= Count; ++i) stride[i] = steps[i].of[inner];
  detail::for_each_point(c, outer, steps, [&](const auto& at) { run(at, c.loop[inner].extent, stride); });
}

namespace detail {

template <class T>
void sum_kernel(const operator_call& c) {
  if (c.rule->operand_count == 2) {
    pointwise<T, 2>(c, [](T x, T y) { return x + y; });
    return;
  }
  expect_same_loops(c, c.rule->operand_count);
  T* const out = result<T>(c, 0);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) {
    T total = operand<T>(c, 0)[i];
    for (int x = 1; x < c.rule->operand_count; ++x) total += operand<T>(c, x)[i];
    out[i] = total;
  }
}

template <class T>
void scale_kernel(const operator_call& c) {
  const T by = static_cast<T>(c.attributes->real[0]);
  pointwise<T, 1>(c, [by](T x) { return by * x; });
}

template <class T>
void shift_kernel(const operator_call& c) {
  const T by = static_cast<T>(c.attributes->real[0]);
  pointwise<T, 1>(c, [by](T x) { return x + by; });
}

/// Element by element; a loop that the result lacks is summed over.
template <class T>
void multiply_kernel(const operator_call& c) {
  for (int l = 0; l < c.rule->factor_count; ++l)
    if (!has_factor(c.rule->result[0], l)) return contract_kernel<T>(c);
  pointwise<T, 2>(c, [](T x, T y) { return x * y; });
}

/// dy -> dx of a mean.
template <class T>
void mean_gradient_kernel(const operator_call& c) {
  const tensor_factors &dy = c.rule->operand[0], &dx = c.rule->result[0];
  const T count = static_cast<T>(whole_points_of(c, loops_of(dx, {}, {&dy})));
  pointwise<T, 1>(c, [count](T d) { return d / count; });
}

/// The kernel of a function of elements.
template <class T, class Function>
void function_kernel(const operator_call& c) {
  const auto f = [](auto... x) { return Function::of(x...); };
  if constexpr (requires(T x) { Function::of(x); })
    pointwise<T, 1>(c, f);
  else if constexpr (requires(T x) { Function::of(x, x); })
    pointwise<T, 2>(c, f);
  else
    pointwise<T, 3>(c, f);
}

/// d result, x, y -> dx, dy: `f(d, x, y, dx, dy)` at each point.
template <class T, class Function>
void gradients_of_two(const operator_call& c, const Function& f) {
  expect_same_loops(c, 3);
  const T *d = operand<T>(c, 0), *x = operand<T>(c, 1), *y = operand<T>(c, 2);
  T *dx = result<T>(c, 0), *dy = result<T>(c, 1);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) f(T(d[i]), T(x[i]), T(y[i]), dx[i], dy[i]);
}

template <class T>
void swiglu_gradient_kernel(const operator_call& c) {
  gradients_of_two<T>(c, [](T d, T gate, T up, T& d_gate, T& d_up) {
    d_gate = functions::silu_gradient::of(d * up, gate);
    d_up = d * functions::silu::of(gate);
  });
}

template <class T>
void geglu_gradient_kernel(const operator_call& c) {
  gradients_of_two<T>(c, [](T d, T gate, T up, T& d_gate, T& d_up) {
    d_gate = functions::gelu_tanh_gradient::of(d * up, gate);
    d_up = d * functions::gelu_tanh::of(gate);
  });
}

template <class T>
void clamped_swiglu_kernel(const operator_call& c) {
  const T limit = static_cast<T>(c.attributes->real[0]), steepness = static_cast<T>(c.attributes->real[1]);
  pointwise<T, 2>(c, [=](T gate, T up) {
    const T g = functions::minimum::of(gate, limit);
    const T u = functions::maximum::of(functions::minimum::of(up, limit), -limit);
    return g * functions::sigmoid::of(steepness * g) * (u + T(1));
  });
}

/// 0 beyond the limits.
template <class T>
void clamped_swiglu_gradient_kernel(const operator_call& c) {
  const T limit = static_cast<T>(c.attributes->real[0]), steepness = static_cast<T>(c.attributes->real[1]);
  gradients_of_two<T>(c, [=](T d, T gate, T up, T& d_gate, T& d_up) {
    const T g = functions::minimum::of(gate, limit);
    const T u = functions::maximum::of(functions::minimum::of(up, limit), -limit);
    const T s = functions::sigmoid::of(steepness * g);
    d_gate = gate > limit ? T(0) : d * (u + T(1)) * (s * (T(1) + steepness * g * (T(1) - s)));
    d_up = up > limit || up < -limit ? T(0) : d * (g * s);
  });
}

/// To the operand that `functions::maximum` takes.
template <class T>
void maximum_gradient_kernel(const operator_call& c) {
  gradients_of_two<T>(c, [](T d, T x, T y, T& dx, T& dy) {
    const bool second = x < y || y != y;
    dx = second ? T(0) : d;
    dy = second ? d : T(0);
  });
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

namespace hyperparallel { inline namespace v0_2 {

template <class T, kernels::detail::function_of_elements Operator>
inline constexpr operator_kernel kernel_for<T, Operator> =
    kernels::detail::function_kernel<T, decltype(kernels::function_of(Operator{}))>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::mean_gradient> = kernels::detail::mean_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::sum> = kernels::detail::sum_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::scale> = kernels::detail::scale_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::shift> = kernels::detail::shift_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::multiply> = kernels::detail::multiply_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::swiglu_gradient> = kernels::detail::swiglu_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::geglu_gradient> = kernels::detail::geglu_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::clamped_swiglu> = kernels::detail::clamped_swiglu_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::clamped_swiglu_gradient> =
    kernels::detail::clamped_swiglu_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::maximum_gradient> = kernels::detail::maximum_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
