// SPDX-License-Identifier: Apache-2.0
#pragma once
// A head of linear attention: its state from token to token, and backward through it. What a token does: operators/ops/linear_attention.hpp.
//
// Laws: sums over a width are in rising order; gradients of queries and keys are added to what is there. Backward keeps a state for each of about √tokens runs of tokens
// and computes those of one run again, so a call takes O(√tokens · key width · value width) of memory. O(points).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/support/integer.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Attributes and sizes of a call.
struct linear_attention_form {
  bool is_delta;
  double scale, epsilon;
  extent_t tokens, keys, values;  ///< keys and values: widths

  extent_t state_size() const { return keys * values; }
};

/// Rows of one head, a token after the other.
template <class T>
struct head_rows {
  T* at = nullptr;
  extent_t step = 0;
  T* operator[](extent_t token) const { return at + token * step; }
};

template <class T>
struct linear_attention_head {
  linear_attention_form f{};
  head_rows<const T> query{}, key{}, value{}, decay{}, strength{};

  /// 1, or 1 over the length of a row.
  T factor_of(const T* row) const {
    if (f.epsilon <= 0.0) return T(1);
    T sum = static_cast<T>(f.epsilon);
    for (extent_t d = 0; d < f.keys; ++d) sum += row[d] * row[d];
    return T(1) / std::sqrt(sum);
  }
  /// Decays the state; writes the value, less what the state has of the key where the rule is the delta rule.
  void decay_state(extent_t t, T* state, T* rest) const {
    const T alpha = std::exp(-*decay[t]), *const k = key[t], *const v = value[t];
    for (extent_t i = 0; i < f.state_size(); ++i) state[i] *= alpha;
    std::fill_n(rest, f.values, T(0));
    if (f.is_delta) {
      const T by = factor_of(k);
      for (extent_t d = 0; d < f.keys; ++d, state += f.values)
        for (extent_t e = 0; e < f.values; ++e) rest[e] += state[e] * (k[d] * by);
    }
    for (extent_t e = 0; e < f.values; ++e) rest[e] = v[e] - rest[e];
  }
  /// The state behind token `t` from the one before it.
  void step(extent_t t, T* state, T* rest) const {
    decay_state(t, state, rest);
    const T *const k = key[t], by = factor_of(k) * *strength[t];
    for (extent_t d = 0; d < f.keys; ++d, state += f.values)
      for (extent_t e = 0; e < f.values; ++e) state[e] += k[d] * by * rest[e];
  }

  void forward(const head_rows<T>& out, std::vector<T>& memory) const {
    memory.assign(static_cast<std::size_t>(f.state_size() + f.values), T(0));
    T *const state = memory.data(), *const rest = state + f.state_size();
    for (extent_t t = 0; t < f.tokens; ++t) {
      step(t, state, rest);
      const T *const q = query[t], by = factor_of(q) * static_cast<T>(f.scale);
      T* const o = out[t];
      std::fill_n(o, f.values, T(0));
      for (extent_t d = 0; d < f.keys; ++d)
        for (extent_t e = 0; e < f.values; ++e) o[e] += state[d * f.values + e] * (q[d] * by);
    }
  }
};

template <class T>
struct linear_attention_gradient_head : linear_attention_head<T> {
  using linear_attention_head<T>::f;
  head_rows<const T> d_out{};
  head_rows<T> d_query{}, d_key{}, d_value{}, d_decay{}, d_strength{};

  void backward(std::vector<T>& memory) {
    const extent_t size = f.state_size();
    extent_t run = 1;
    while (run * run < f.tokens) ++run;
    const extent_t runs = ceil_divide(f.tokens, run);
    memory.assign(static_cast<std::size_t>((runs + run + 3) * size + 2 * f.values + 2 * f.keys), T(0));
    T *const before = memory.data(), *const states = before + runs * size;  // before each run; of the tokens of one run
    slope_ = states + (run + 1) * size;
    decayed_ = slope_ + size;
    rest_ = decayed_ + size;
    d_rest_ = rest_ + f.values;
    d_row_ = d_rest_ + f.values;
    d_key_row_ = d_row_ + f.keys;
    for (extent_t r = 1; r < runs; ++r) {
      T* const state = before + r * size;
      std::copy_n(state - size, size, state);
      for (extent_t t = (r - 1) * run; t < r * run; ++t) this->step(t, state, rest_);
    }
    for (extent_t r = runs - 1; r >= 0; --r) {
      const extent_t begin = r * run, end = smaller(begin + run, f.tokens);
      std::copy_n(before + r * size, size, states);
      for (extent_t t = begin; t < end; ++t) {
        T* const next = states + (t - begin + 1) * size;
        std::copy_n(next - size, size, next);
        this->step(t, next, rest_);
      }
      for (extent_t t = end - 1; t >= begin; --t) pass_token(t, states + (t - begin) * size);
    }
  }

 private:
  /// Gradients of token `t`, whose state before it is `state`, behind it the one after that; `slope_` goes from the state behind the token
  /// to the one before it.
  void pass_token(extent_t t, const T* state) {
    const extent_t size = f.state_size();
    const T *const q = this->query[t], *const k = this->key[t], *const out = d_out[t], *const after = state + size;
    const T q_by = this->factor_of(q), k_by = this->factor_of(k), scale = static_cast<T>(f.scale);
    const T alpha = std::exp(-*this->decay[t]), beta = *this->strength[t];
    for (extent_t d = 0; d < f.keys; ++d) {
      T sum = T(0);
      for (extent_t e = 0; e < f.values; ++e) {
        sum += after[d * f.values + e] * out[e];
        slope_[d * f.values + e] += scale * q_by * q[d] * out[e];
      }
      d_row_[d] = scale * sum;
    }
    add_row_gradient(q, q_by, d_row_, d_query[t]);

    std::copy_n(state, size, decayed_);
    this->decay_state(t, decayed_, rest_);
    std::fill_n(d_rest_, f.values, T(0));
    for (extent_t d = 0; d < f.keys; ++d) {
      T sum = T(0);
      for (extent_t e = 0; e < f.values; ++e) {
        const T slope = slope_[d * f.values + e];
        d_rest_[e] += slope * (k[d] * k_by);
        sum += slope * rest_[e];
      }
      d_key_row_[d] = beta * sum;
    }
    T of_strength = T(0);
    for (extent_t e = 0; e < f.values; ++e) {
      of_strength += d_rest_[e] * rest_[e];
      d_rest_[e] *= beta;
      d_value[t][e] = d_rest_[e];
    }
    *d_strength[t] = of_strength;
    if (f.is_delta)
      for (extent_t d = 0; d < f.keys; ++d) {
        T sum = T(0);
        for (extent_t e = 0; e < f.values; ++e) {
          sum += decayed_[d * f.values + e] * d_rest_[e];
          slope_[d * f.values + e] -= k[d] * k_by * d_rest_[e];
        }
        d_key_row_[d] -= sum;
      }
    add_row_gradient(k, k_by, d_key_row_, d_key[t]);
    T of_decay = T(0);
    for (extent_t i = 0; i < size; ++i) {
      of_decay -= slope_[i] * decayed_[i];
      slope_[i] *= alpha;
    }
    *d_decay[t] = of_decay;
  }

  /// Adds the gradient of a row that was multiplied by `factor`, 1 or 1 over its length, from that of the product.
  void add_row_gradient(const T* row, T factor, const T* d, T* to) const {
    T along = T(0);
    if (f.epsilon > 0.0)
      for (extent_t i = 0; i < f.keys; ++i) along += d[i] * row[i];
    along *= factor * factor;
    for (extent_t i = 0; i < f.keys; ++i) to[i] += factor * (d[i] - along * row[i]);
  }

  T *slope_ = nullptr, *decayed_ = nullptr, *rest_ = nullptr, *d_rest_ = nullptr, *d_row_ = nullptr,
    *d_key_row_ = nullptr;
};

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
