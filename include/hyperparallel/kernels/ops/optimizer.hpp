// SPDX-License-Identifier: Apache-2.0
#pragma once
// Optimizers over one tensor, the norm of the gradients, and the routing bias.
//
//   sgd      m ← μ·m + (c·g + λ·p);  p ← p − η·m
//   adamw    m ← β₁·m + (1−β₁)·c·g;  v ← β₂·v + (1−β₂)·(c·g)²;  p ← p − η·(m̂ / (√v̂ + ε) + λ·p)
//   muon     m ← μ·m + c·g;  p ← p − η·(√max(1, rows/columns) · orthogonal(c·g + μ·m) + λ·p)
//
// with η, λ, c the rate, the weight decay and the clip factor, m̂ and v̂ corrected for the step. `orthogonal` is five
// quintic Newton-Schulz steps X ← aX + (bA + cA²)X, A = X·Xᵀ, from X = G / ‖G‖ (Jordan et al., 2024).
// Laws: results may be the same memory as the operands that they replace; elements are independent, except in muon,
// whose matrices are. Sources: Loshchilov and Hutter, arXiv:1711.05101. O(elements); muon O(rows² · columns).

#include <cmath>

#include <hyperparallel/kernels/blocked_product.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// The clip factor: operand `i`, one number.
template <class T>
T clip_of(const operator_call& c, int i) {
  expect(c.rule->operand[i].rank == 0, c, "the clip factor is not one number");
  return *operand<T>(c, i);
}

/// What updates with one moment read and write: p, g, momentum, clip -> p, momentum, or with a master, which is what is updated and p
/// its rounded value, p, g, master, momentum, clip -> p, master, momentum.
template <class T, bool HasMaster>
struct momentum_operands {
  const T rate, keep, decay, clip;
  const T *p, *g, *m;
  T *new_p, *new_master, *new_m;

  explicit momentum_operands(const operator_call& c)
      : rate(static_cast<T>(c.attributes->real[0])),
        keep(static_cast<T>(c.attributes->real[1])),
        decay(static_cast<T>(c.attributes->real[2])),
        clip(clip_of<T>(c, HasMaster ? 4 : 3)),
        p(operand<T>(c, HasMaster ? 2 : 0)),
        g(operand<T>(c, 1)),
        m(operand<T>(c, HasMaster ? 3 : 2)),
        new_p(result<T>(c, 0)),
        new_master(result<T>(c, HasMaster ? 1 : 0)),
        new_m(result<T>(c, HasMaster ? 2 : 1)) {}

  void set(extent_t i, T parameter) const { new_p[i] = new_master[i] = parameter; }
  void go_on(extent_t n) { p += n, g += n, m += n, new_p += n, new_master += n, new_m += n; }
};

template <class T, bool HasMaster = false>
void sgd_kernel(const operator_call& c) {
  const momentum_operands<T, HasMaster> o(c);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) {
    const T parameter = o.p[i], momentum = o.keep * o.m[i] + (o.clip * o.g[i] + o.decay * parameter);
    o.new_m[i] = momentum;
    o.set(i, parameter - o.rate * momentum);
  }
}

/// One element's update by AdamW.
template <class T>
struct adam_rule {
  T rate, beta1, beta2, epsilon, decay, correction1, correction2, clip;

  adam_rule(const operator_call& c, T clip_factor)
      : rate(static_cast<T>(c.attributes->real[0])),
        beta1(static_cast<T>(c.attributes->real[1])),
        beta2(static_cast<T>(c.attributes->real[2])),
        epsilon(static_cast<T>(c.attributes->real[3])),
        decay(static_cast<T>(c.attributes->real[4])),
        correction1(static_cast<T>(1 / (1 - std::pow(c.attributes->real[1], static_cast<double>(c.step))))),
        correction2(static_cast<T>(1 / (1 - std::pow(c.attributes->real[2], static_cast<double>(c.step))))),
        clip(clip_factor) {}

  T update(T p, T g, T& m, T& v) const {
    const T gradient = clip * g;
    m = beta1 * m + (T(1) - beta1) * gradient;
    v = beta2 * v + (T(1) - beta2) * (gradient * gradient);
    return p - rate * (m * correction1 / (std::sqrt(v * correction2) + epsilon) + decay * p);
  }
};

/// p, g, m, v, clip -> p, m, v.
template <class T>
void adamw_kernel(const operator_call& c) {
  const adam_rule<T> rule(c, clip_of<T>(c, 4));
  const T *p = operand<T>(c, 0), *g = operand<T>(c, 1), *m = operand<T>(c, 2), *v = operand<T>(c, 3);
  T *new_p = result<T>(c, 0), *new_m = result<T>(c, 1), *new_v = result<T>(c, 2);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) {
    T first = m[i], second = v[i];
    new_p[i] = rule.update(p[i], g[i], first, second);
    new_m[i] = first;
    new_v[i] = second;
  }
}

/// p, g, master, m, v, clip -> p, master, m, v; p is the rounded master.
template <class T>
void adamw_master_kernel(const operator_call& c) {
  const adam_rule<T> rule(c, clip_of<T>(c, 5));
  const T *g = operand<T>(c, 1), *master = operand<T>(c, 2), *m = operand<T>(c, 3), *v = operand<T>(c, 4);
  T *new_p = result<T>(c, 0), *new_master = result<T>(c, 1), *new_m = result<T>(c, 2), *new_v = result<T>(c, 3);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) {
    T first = m[i], second = v[i];
    const T updated = rule.update(master[i], g[i], first, second);
    new_master[i] = updated;
    new_p[i] = updated;
    new_m[i] = first;
    new_v[i] = second;
  }
}

/// Σ x² over n elements, added in double, 4096 at a time.
template <class T>
double square_sum(extent_t n, const T* x) {
  double total = 0;
  constexpr extent_t block = 4096;
  for (extent_t first = 0; first < n; first += block)
    total += lane_sum<double>(n - first < block ? n - first : block, [&](extent_t i) {
      const double value = static_cast<double>(x[first + i]);
      return value * value;
    });
  return total;
}

/// x [rows × columns], rows ≤ columns: replaced by the nearest orthogonal matrix, roughly. Needs three squares and x of
/// memory.
template <class T>
void orthogonalise(extent_t rows, extent_t columns, T* x) {
  const T a = T(3.4445), b = T(-4.7750), third = T(2.0315);
  const T by = static_cast<T>(1 / (std::sqrt(square_sum(rows * columns, x)) + 1e-7));
  for (extent_t i = 0; i < rows * columns; ++i) x[i] *= by;
  T* const gram = thread_memory<T, 1>(2 * rows * rows + rows * columns);
  T *const square = gram + rows * rows, *const turned = square + rows * rows;
  const auto as = [](const T* data, extent_t row, extent_t column) {
    return even_matrix<const T>{data, {row}, {column}};
  };
  for (int step = 0; step < 5; ++step) {
    blocked_product<T>(rows, rows, columns, as(x, columns, 1), as(x, 1, columns), even_matrix<T>{gram, {rows}, {1}});
    blocked_product<T>(rows, rows, rows, as(gram, rows, 1), as(gram, rows, 1), even_matrix<T>{square, {rows}, {1}});
    for (extent_t i = 0; i < rows * rows; ++i) gram[i] = b * gram[i] + third * square[i];
    blocked_product<T>(rows, columns, rows, as(gram, rows, 1), as(x, columns, 1),
                       even_matrix<T>{turned, {columns}, {1}});
    for (extent_t i = 0; i < rows * columns; ++i) x[i] = a * x[i] + turned[i];
  }
}

/// Operands as momentum_operands; real = rate, momentum, weight decay. Rows of the matrix are dims [integer[0], integer[1]), columns the
/// dims from there on, and what is before is a batch.
template <class T, bool HasMaster = false>
void muon_kernel(const operator_call& c) {
  const tensor_factors& matrix = c.rule->result[0];
  const extent_t side = c.attributes->integer[0], other_side = c.attributes->integer[1];
  expect(0 <= side && side < other_side && other_side < matrix.rank, c, "the sides of the matrix are not told");
  extent_t rows = 1, columns = 1;
  for (int d = static_cast<int>(side); d < matrix.rank; ++d) {
    const loop_span& l = c.loop[matrix.term[d]];
    expect(l.extent == l.whole, c, "the matrix is not whole");
    (d < other_side ? rows : columns) *= l.extent;
  }
  momentum_operands<T, HasMaster> o(c);
  const extent_t n = rows * columns;
  const bool tall = rows > columns;
  const T scale = tall ? static_cast<T>(std::sqrt(static_cast<double>(rows) / static_cast<double>(columns))) : T(1);
  T* const x = thread_memory<T, 0>(n);
  for (extent_t left = c.result_elements(0) / n; left > 0; --left) {
    for (extent_t r = 0; r < rows; ++r)
      for (extent_t s = 0; s < columns; ++s) {
        const extent_t i = r * columns + s;
        const T gradient = o.clip * o.g[i], momentum = o.keep * o.m[i] + gradient;
        o.new_m[i] = momentum;
        x[tall ? s * rows + r : i] = gradient + o.keep * momentum;
      }
    orthogonalise(tall ? columns : rows, tall ? rows : columns, x);
    for (extent_t r = 0; r < rows; ++r)
      for (extent_t s = 0; s < columns; ++s) {
        const extent_t i = r * columns + s;
        const T parameter = o.p[i];
        o.set(i, parameter - o.rate * (scale * x[tall ? s * rows + r : i] + o.decay * parameter));
      }
    o.go_on(n);
  }
}

template <class T>
void sum_of_squares_kernel(const operator_call& c) {
  *result<T>(c, 0) = static_cast<T>(square_sum(c.operand_elements(0), operand<T>(c, 0)));
}

/// Sum of squares -> min(1, real[0] / √sum).
template <class T>
void clip_factor_kernel(const operator_call& c) {
  const T norm = std::sqrt(*operand<T>(c, 0)), most = static_cast<T>(c.attributes->real[0]);
  *result<T>(c, 0) = norm > most ? most / norm : T(1);
}

/// bias, counts -> bias + real[0] · sign(mean − count).
template <class T>
void update_bias_kernel(const operator_call& c) {
  const T *bias = operand<T>(c, 0), *count = operand<T>(c, 1);
  T* const to = result<T>(c, 0);
  const extent_t n = c.result_elements(0);
  const T mean = lane_sum<T>(n, [&](extent_t i) { return count[i]; }) / static_cast<T>(n);
  const T rate = static_cast<T>(c.attributes->real[0]);
  for (extent_t i = 0; i < n; ++i) to[i] = bias[i] + (count[i] < mean ? rate : count[i] > mean ? -rate : T(0));
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::sum_of_squares> = kernels::detail::sum_of_squares_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::clip_factor> = kernels::detail::clip_factor_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::sgd> = kernels::detail::sgd_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::sgd_master> = kernels::detail::sgd_kernel<T, true>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::adamw> = kernels::detail::adamw_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::adamw_master> = kernels::detail::adamw_master_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::muon> = kernels::detail::muon_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::muon_master> = kernels::detail::muon_kernel<T, true>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::update_bias> = kernels::detail::update_bias_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
