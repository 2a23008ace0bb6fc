// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products: batched, with either operand transposed, and the linear map of a layer.
//
// Law: element (i, j) is summed in the computing type as `blocked_product` sums, for every element type and every
// transposition, and stored once. Integers are exact.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <hyperparallel/kernels/blocked_product.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Which operands are stored with their last two dims swapped.
struct transposition {
  bool a = false;
  bool b = false;
};

namespace detail {

/// A matrix inside memory: element (r, c) is at data[r · row + c · column].
template <class X>
struct strided_matrix {
  const X* data;
  extent_t row, column;
};

/// Integers: exact, so in any order.
template <class A, class B, class R>
void integer_product(extent_t m, extent_t n, extent_t k, strided_matrix<A> a, strided_matrix<B> b, R* c) {
  for (extent_t i = 0; i < m; ++i) {
    R* const out = c + i * n;
    for (extent_t j = 0; j < n; ++j) out[j] = R{};
    for (extent_t p = 0; p < k; ++p) {
      const R left = static_cast<R>(a.data[i * a.row + p * a.column]);
      for (extent_t j = 0; j < n; ++j)
        out[j] = static_cast<R>(out[j] + left * static_cast<R>(b.data[p * b.row + j * b.column]));
    }
  }
}

/// c[m × n] = a[m × k] · b[k × n], plus bias[n] unless it is null; c's rows are n elements apart.
template <class A, class B, class R>
void product(extent_t m, extent_t n, extent_t k, strided_matrix<A> a, strided_matrix<B> b, const B* bias, R* c) {
  using C = computing<R>;
  if constexpr (!std::floating_point<C>) {
    integer_product(m, n, k, a, b, c);
    for (extent_t i = 0; i < m && bias != nullptr; ++i)
      for (extent_t j = 0; j < n; ++j) c[i * n + j] = static_cast<R>(c[i * n + j] + static_cast<R>(bias[j]));
  } else {
    // Results of another type than they are computed in are stored once, from rows that are complete.
    constexpr bool in_place = std::is_same_v<R, C>;
    const extent_t height = in_place ? m : smaller(m, 64);
    for (extent_t i = 0; i < m; i += height) {
      const extent_t rows = smaller(height, m - i);
      C* to;
      if constexpr (in_place)
        to = c;
      else
        to = thread_memory<C, 3>(rows * n);
      for (extent_t e = 0; k == 0 && e < rows * n; ++e) to[e] = C(0);
      if (k > 0)
        blocked_product(rows, n, k, even_matrix<const A>{a.data + i * a.row, {a.row}, {a.column}},
                        even_matrix<const B>{b.data, {b.row}, {b.column}}, even_matrix<C>{to, {n}, {1}});
      if (in_place && bias == nullptr) continue;
      for (extent_t r = 0; r < rows; ++r)
        for (extent_t j = 0; j < n; ++j) {
          const C value = to[r * n + j];
          c[(i + r) * n + j] =
              store<R>(bias == nullptr ? value : static_cast<C>(value + static_cast<C>(load(bias[j]))));
        }
    }
  }
}

constexpr shape without_last_two(const shape& s) {
  shape r;
  for (; r.rank < s.rank - 2; ++r.rank) r.extent[r.rank] = s.extent[r.rank];
  return r;
}

/// The extents of matmul(a, b): batch dims broadcast, then m × n.
constexpr shape matmul_shape(const shape& a, const shape& b, transposition t = {}) {
  shape r;
  r.rank = a.rank > b.rank ? a.rank : b.rank;
  for (int d = 0; d < r.rank - 2; ++d) {
    const int in_a = d - r.rank + a.rank, in_b = d - r.rank + b.rank;
    r.extent[d] = in_a < 0 || (in_b >= 0 && a.extent[in_a] == 1) ? b.extent[in_b] : a.extent[in_a];
  }
  r.extent[r.rank - 2] = a.extent[t.a ? a.rank - 1 : a.rank - 2];
  r.extent[r.rank - 1] = b.extent[t.b ? b.rank - 2 : b.rank - 1];
  return r;
}

}  // namespace detail

/// out = a · b over the last two dims, batch dims broadcast. Domain: ranks ≥ 2; out.extents is matmul_shape(…); the
/// operands' summed extents are equal.
template <class A, class B, class R>
void matmul(tensor_view<A> a, tensor_view<B> b, tensor_view<R> out, transposition t = {}) {
  using in_a = std::remove_const_t<A>;
  using in_b = std::remove_const_t<B>;
  const int last = out.extents.rank - 1;
  const extent_t m = out.extents.extent[last - 1], n = out.extents.extent[last];
  const extent_t k = a.extents.extent[t.a ? a.extents.rank - 2 : a.extents.rank - 1];
  const auto multiply = [&](extent_t rows, extent_t at_a, extent_t at_b, extent_t at_out) {
    detail::product(rows, n, k, detail::strided_matrix<in_a>{a.data + at_a, t.a ? 1 : k, t.a ? m : 1},
                    detail::strided_matrix<in_b>{b.data + at_b, t.b ? 1 : n, t.b ? k : 1},
                    static_cast<const in_b*>(nullptr), out.data + at_out);
  };
  if (b.extents.rank == 2 && !t.a) {  // the batch is more rows of one product
    multiply(volume(out) / larger(n, 1), 0, 0, 0);
    return;
  }
  const shape batch = detail::without_last_two(out.extents);
  steps array[3] = {detail::broadcast_steps(detail::without_last_two(a.extents), batch),
                    detail::broadcast_steps(detail::without_last_two(b.extents), batch),
                    detail::row_major_steps(batch)};
  const extent_t matrix[3] = {m * k, k * n, m * n};
  for (int d = 0; d < batch.rank; ++d)
    for (int x = 0; x < 3; ++x) array[x].along[d] *= matrix[x];
  detail::for_each_run(detail::loops_over(batch, array), [&](const auto& offset, extent_t count, const auto& step) {
    for (extent_t i = 0; i < count; ++i)
      multiply(m, offset[0] + i * step[0], offset[1] + i * step[1], offset[2] + i * step[2]);
  });
}

/// out[…, o] = Σ over i of x[…, i] · weight[o, i], plus bias[o]; `bias.data` may be null.
template <class X, class W, class R>
void linear(tensor_view<X> x, tensor_view<W> weight, std::type_identity_t<const_view<W>> bias, tensor_view<R> out) {
  using in_x = std::remove_const_t<X>;
  using in_w = std::remove_const_t<W>;
  const extent_t n = weight.extents.extent[0], k = weight.extents.extent[1];
  detail::product(volume(out) / larger(n, 1), n, k, detail::strided_matrix<in_x>{x.data, k, 1},
                  detail::strided_matrix<in_w>{weight.data, 1, k}, bias.data, out.data);
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
