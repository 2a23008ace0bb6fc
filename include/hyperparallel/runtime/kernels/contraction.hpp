// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products: batched, with either operand transposed, and the linear map of a layer.
//
// Law: element (i, j) is the left-to-right sum over k of single-rounded products in the computing type, started from 0
// and stored once: the law of `gemm`, for every element type and every transposition. Integers are exact.
// Operands that `gemm` cannot read where they are (transposed, 16-bit) are packed tile by tile on the stack.

#include <cstdint>
#include <type_traits>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/gemm.hpp>
#include <hyperparallel/runtime/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::kernels {

/// Which operands are stored with their last two dims swapped.
struct transposition {
  bool a = false;
  bool b = false;
};

namespace detail {

/// `gemm` for any computing type: the same domain, the same order of every sum.
template <class C>
HYPERPARALLEL_EXACT void block_product(extent_t m, extent_t n, extent_t k, const C* a, extent_t lead_a, const C* b,
                                       extent_t lead_b, C* c, extent_t lead_c, gemm_mode mode) {
  HYPERPARALLEL_EXACT_BODY
  if constexpr (std::is_same_v<C, float>) {
    gemm(m, n, k, a, lead_a, b, lead_b, c, lead_c, mode);
  } else {
    for (extent_t i = 0; i < m; ++i) {
      C* const out = c + i * lead_c;
      if (mode == gemm_mode::overwrite)
        for (extent_t j = 0; j < n; ++j) out[j] = C{};
      for (extent_t p = 0; p < k; ++p) {
        const C left = a[i * lead_a + p];
        const C* const right = b + p * lead_b;
        for (extent_t j = 0; j < n; ++j) out[j] = static_cast<C>(out[j] + left * right[j]);
      }
    }
  }
}

/// to[r · pitch + c] = from[r · row + c · column] in the computing type.
template <class X, class C>
void pack(extent_t rows, extent_t columns, const X* from, extent_t row, extent_t column, C* to, extent_t pitch) {
  for (extent_t r = 0; r < rows; ++r)
    for (extent_t c = 0; c < columns; ++c) to[r * pitch + c] = static_cast<C>(load(from[r * row + c * column]));
}

/// A matrix inside memory: element (r, c) is at data[r · row + c · column].
template <class X>
struct strided_matrix {
  const X* data;
  extent_t row, column;
};

/// c[m × n] = a[m × k] · b[k × n], plus bias[n] unless it is null; c's rows are n elements apart.
template <class A, class B, class R>
void product(extent_t m, extent_t n, extent_t k, strided_matrix<A> a, strided_matrix<B> b, const B* bias, R* c) {
  using C = computing<R>;
  if constexpr (std::is_same_v<A, C> && std::is_same_v<B, C> && std::is_same_v<R, C>)
    if (a.column == 1 && b.column == 1 && bias == nullptr) {
      block_product(m, n, k, a.data, a.row, b.data, b.row, c, n, gemm_mode::overwrite);
      return;
    }
  constexpr extent_t side = 32, depth = 128;
  C left[side * depth], right[depth * side], sum[side * side];
  for (extent_t j = 0; j < n; j += side) {
    const extent_t columns = smaller(side, n - j);
    for (extent_t i = 0; i < m; i += side) {
      const extent_t rows = smaller(side, m - i);
      for (extent_t at = 0; at < side * side; ++at) sum[at] = C{};
      for (extent_t p = 0; p < k; p += depth) {
        const extent_t terms = smaller(depth, k - p);
        pack(rows, terms, a.data + i * a.row + p * a.column, a.row, a.column, left, depth);
        // One column of tiles whose depth fits one tile is packed once.
        if (i == 0 || k > depth) pack(terms, columns, b.data + p * b.row + j * b.column, b.row, b.column, right, side);
        block_product(rows, columns, terms, left, depth, right, side, sum, side, gemm_mode::accumulate);
      }
      for (extent_t r = 0; r < rows; ++r)
        for (extent_t s = 0; s < columns; ++s) {
          C value = sum[r * side + s];
          if (bias != nullptr) value = static_cast<C>(value + static_cast<C>(load(bias[j + s])));
          c[(i + r) * n + j + s] = store<R>(value);
        }
    }
  }
}

constexpr shape without_last_two(const shape& s) {
  shape r;
  for (; r.rank < s.rank - 2; ++r.rank) r.extent[r.rank] = s.extent[r.rank];
  return r;
}

}  // namespace detail

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
  steps array[3] = {broadcast_steps(detail::without_last_two(a.extents), batch),
                    broadcast_steps(detail::without_last_two(b.extents), batch), row_major_steps(batch)};
  const extent_t matrix[3] = {m * k, k * n, m * n};
  for (int d = 0; d < batch.rank; ++d)
    for (int x = 0; x < 3; ++x) array[x].along[d] *= matrix[x];
  for_each_run(loops_over(batch, array), [&](const auto& offset, extent_t count, const auto& step) {
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

}  // namespace hyperparallel::inline v0_2::kernels

HYPERPARALLEL_EXACT_END
