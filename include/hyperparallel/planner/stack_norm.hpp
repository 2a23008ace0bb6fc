// SPDX-License-Identifier: Apache-2.0
#pragma once
// RMSNorm as a stack runs it, of the residual stream and of each head: as one operator that saves its input and a number a row, or composed
// of elementwise operators.
//
//   const int out = norm.normed(kept, true);
//   norm.norm_gradient(gradient, kept, each);
//
// Composed, the norm squares an f32 copy of its input (under autocast the stream itself is f32), and saves the copy, one number a row, and what
// is weighed. Source: LlamaRMSNorm of transformers. Law: what is kept is released by the gradient, which comes in place of the incoming one. O(1).

#include <hyperparallel/planner/stack_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of a norm; -1 where it is not kept.
struct norm_kept {
  int copy = -1;    ///< its input in f32, where operators are composed and the stream is bf16
  int rows = -1;    ///< one number a row
  int normed = -1;  ///< before it is weighed, where operators are composed
};

template <class Memory>
class stack_norm : public stack_tensors<Memory> {
  using tensors = stack_tensors<Memory>;

 protected:
  using tensors::m, tensors::s;

 public:
  using tensors::drop, tensors::projected, tensors::residuals, tensors::rows_of, tensors::take, tensors::weight;
  using tensors::tensors;

  /// The norm of one; what is kept of it is in `k`. Composed operators release the rest where it does not `keep`.
  constexpr int normed(norm_kept& k, bool keeps) {
    if (!s.composed) {
      k.rows = rows_of(1);
      return residuals();
    }
    compose_norm(k, s.shard_tokens * s.hidden, s.shard_tokens, !s.autocast);
    const int out = residuals();
    if (!keeps) drop(k.copy, k.normed);
    return out;
  }
  /// Its backward: `sum`, the gradient of its output, becomes that of its input.
  template <class Each>
  constexpr void norm_gradient(int& sum, norm_kept& k, const Each& each) {
    if (!s.composed) {
      const int before = residuals();
      each(weight(s.hidden));
      drop(sum, k.rows);
      sum = before;
      return;
    }
    compose_norm_back(sum, k, s.shard_tokens * s.hidden, s.stream_bytes(), s.hidden, each);
  }
  /// Of queries or keys, in place of `raw`, which is kept where the norm is one operator.
  constexpr int head_normed(int raw, extent_t columns, extent_t heads, norm_kept& k, int& kept_raw, bool keeps) {
    if (!s.head_normed) return raw;
    if (s.composed) {
      compose_norm(k, s.tokens * columns, s.tokens * heads, true);
      const int out = projected(columns);
      if (!keeps) drop(k.copy, k.normed, k.rows);
      drop(raw);
      return out;
    }
    k.rows = take(detail::single_bytes * s.tokens * heads);
    const int out = projected(columns);
    if (!keeps) drop(raw, k.rows);
    kept_raw = raw;
    return out;
  }
  /// Its backward likewise.
  template <class Each>
  constexpr void head_norm_gradient(int& gradient, extent_t columns, norm_kept& k, int& raw, const Each& each) {
    if (!s.head_normed) return;
    if (s.composed) return compose_norm_back(gradient, k, s.tokens * columns, detail::half_bytes, s.head_dim, each);
    const int before = projected(columns);
    each(weight(s.head_dim));
    drop(gradient, raw, k.rows);
    gradient = before;
  }

 private:
  /// `copies`: its input is bf16.
  constexpr void compose_norm(norm_kept& k, extent_t elements, extent_t rows, bool copies) {
    if (copies) k.copy = take(detail::single_bytes * elements);
    int squares = take(detail::single_bytes * elements), mean = take(detail::single_bytes * rows);
    drop(squares);
    k.rows = take(detail::single_bytes * rows);
    drop(mean);
    int scaled = take(detail::single_bytes * elements);
    k.normed = scaled;
    if (!copies) return;
    k.normed = take(detail::half_bytes * elements);
    drop(scaled);
  }
  template <class Each>
  constexpr void compose_norm_back(int& sum, norm_kept& k, extent_t elements, extent_t bytes, extent_t columns,
                                   const Each& each) {
    int weighed = take(bytes * elements), of_weight = take(bytes * elements);
    each(weight(columns));
    drop(of_weight, sum, k.normed);
    if (bytes == detail::half_bytes) {
      const int single = take(detail::single_bytes * elements);
      drop(weighed);
      weighed = single;
    }
    int before = take(detail::single_bytes * elements), of_rows = take(detail::single_bytes * elements);
    drop(of_rows, weighed);
    int of_squares = take(detail::single_bytes * elements);
    drop(of_squares, k.copy, k.rows);
    sum = before;
    if (bytes != detail::half_bytes) return;
    sum = take(detail::half_bytes * elements);
    drop(before);
  }
};

}}  // namespace hyperparallel::v0_2
