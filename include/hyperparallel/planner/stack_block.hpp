// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block of a decoder as eager operators run it: which tensors exist when, in forward, when it is computed again, and in backward.
//
//   hp::stack_block<Memory> block(sizes, memory);
//   const int out = block.forward(kept, true);
//   block.backward(kept, gradient, weight_gradients);
//
// One operator after the other: its outputs are allocated, then what is not read again is released. An operator's backward
// releases what it has saved, and its incoming gradient, when it has ended; a second gradient of a tensor is added to the first in place. Norms save
// their input and one f32 number a row; products their input; attention its three inputs, its output and one f32 number a head and
// row; the activation its input, the product of gate and width both operands. A rotation keeps nothing but the tables, which all layers share.
//
// `Memory` has allocate(bytes, memory_class, stream) and release(number). Laws: what forward keeps and backward gets is released after
// backward, but for weight_gradients and the gradient of the block's input, which is the one that came in. O(1).

#include <hyperparallel/planner/stack.hpp>
#include <hyperparallel/strategy/storage_uses.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Bytes of an element.
inline constexpr extent_t half_bytes = 2, single_bytes = 4;

/// Tensors that a block keeps from its forward pass to its backward pass; -1 where it does not.
struct stack_kept {
  int norm_rows = -1, normed = -1;
  int query_raw = -1, query_rows = -1, key_raw = -1, key_rows = -1;  ///< inputs of the norms of heads
  int query = -1, key = -1, value = -1, attended = -1, attended_rows = -1;
  int residual = -1, second_rows = -1, second_normed = -1;
  int gate = -1, activated = -1, width = -1, product = -1;
};

template <class Memory>
class stack_block {
 public:
  constexpr stack_block(const stack_sizes& sizes, Memory& memory) : s(sizes), m(memory) {}

  /// Makes what the block gives of its input and returns it. What it keeps is in `kept` where it `keeps`. Where the block is computed again
  /// for its backward pass, it ends when the last tensor that is kept is there, and returns -1.
  constexpr int forward(stack_kept& kept, bool keeps, bool again = false) {
    stack_kept k;
    k.norm_rows = rows_of(1);
    k.normed = gathered(residuals());
    int query = projected(s.query), key = projected(s.key);
    k.value = projected(s.key);
    query = head_normed(query, s.query, s.heads, k.query_raw, k.query_rows, keeps);
    key = head_normed(key, s.key, s.key_heads, k.key_raw, k.key_rows, keeps);
    k.query = rotated(s.query);
    k.key = rotated(s.key);
    drop(query);
    drop(key);
    k.attended = projected(s.query);
    k.attended_rows = take(single_bytes * s.tokens * s.heads);
    int branch = projected(s.hidden);
    if (!keeps) drop(k.attended, k.attended_rows);
    branch = scattered(branch);
    k.residual = residuals();
    drop(branch);
    k.second_rows = rows_of(1);
    int shard = residuals();
    if (!keeps) drop(k.normed, k.norm_rows, k.second_rows);
    k.second_normed = gathered(shard);
    k.gate = projected(s.width);
    k.activated = projected(s.width);
    if (!keeps) drop(k.gate);
    k.width = projected(s.width);
    k.product = projected(s.width);
    if (!keeps) drop(k.activated, k.width);
    if (s.compiled) drop(k.activated);
    int out = -1;
    if (!again) {
      branch = projected(s.hidden);
      if (!keeps) drop(k.product);
      branch = scattered(branch);
      out = residuals();
      drop(branch);
    }
    if (!keeps) drop(k.query, k.key, k.value, k.residual, k.second_normed);
    kept = k;
    return out;
  }

  /// From the gradient of what the block gives, which becomes that of its input in place. `each(number)` is called for the gradient of each
  /// weight as it comes.
  template <class Each>
  constexpr void backward(stack_kept& k, const Each& each) {
    int whole = gathered_gradient();
    int product = projected(s.width);
    each(weight(s.hidden * s.width));
    drop(k.product, whole);
    int activated = projected(s.width), width = projected(s.width);
    drop(product, k.width, k.activated);
    int sum = projected(s.hidden);
    each(weight(s.width * s.hidden));
    drop(width);
    int gate = projected(s.width);
    drop(activated, k.gate);
    add_input_gradient(sum, gate, s.width, each);
    drop(k.second_normed);
    end_branch(sum, k.residual, k.second_rows, each);

    whole = gathered_gradient();
    int attended = projected(s.query);
    each(weight(s.hidden * s.query));
    drop(whole);
    int query = projected(s.query), key = projected(s.key), value = projected(s.key);
    drop(attended, k.query, k.key, k.value, k.attended, k.attended_rows);
    rotate_back(key, s.key);
    rotate_back(query, s.query);
    norm_back(key, s.key, k.key_raw, k.key_rows, each);
    norm_back(query, s.query, k.query_raw, k.query_rows, each);
    sum = projected(s.hidden);
    projection_gradients(s.key, each);
    drop(value);
    add_input_gradient(sum, key, s.key, each, s.biased);
    add_input_gradient(sum, query, s.query, each, s.biased);
    drop(k.normed);
    int no_input = -1;  // it is the block before that has it
    end_branch(sum, no_input, k.norm_rows, each);
  }

  /// A tensor of the residual stream.
  constexpr int residuals() { return take(half_bytes * s.shard_tokens * s.hidden); }
  /// One f32 number for each of so many parts of a token.
  constexpr int rows_of(extent_t parts) { return take(single_bytes * s.shard_tokens * parts); }
  /// All tokens of a tensor of the residual stream, in its place.
  constexpr int gathered(int shard) {
    if (!s.is_cut) return shard;
    const int whole = projected(s.hidden);
    drop(shard);
    return whole;
  }
  /// The rank's tokens of what is there for all of them, in its place.
  constexpr int scattered(int whole) {
    if (!s.is_cut) return whole;
    const int shard = residuals();
    drop(whole);
    return shard;
  }

 private:
  constexpr int take(extent_t bytes) { return m.allocate(bytes, memory_class::activations, 0); }
  constexpr int weight(extent_t elements) { return m.allocate(half_bytes * elements, memory_class::gradients, 0); }
  constexpr int projected(extent_t columns) { return take(half_bytes * s.tokens * columns); }
  template <class... Numbers>
  constexpr void drop(Numbers&... numbers) {
    const auto one = [this](int& number) {
      if (number >= 0) m.release(number);
      number = -1;
    };
    (one(numbers), ...);
  }

  constexpr int head_normed(int raw, extent_t columns, extent_t heads, int& kept_raw, int& kept_rows, bool keeps) {
    if (!s.head_normed) return raw;
    int rows = take(single_bytes * s.tokens * heads);
    const int out = projected(columns);
    if (!keeps) drop(raw, rows);
    kept_raw = raw;
    kept_rows = rows;
    return out;
  }
  constexpr int rotated(extent_t columns) {
    int by_cosine = projected(columns), negated = take(s.tokens * columns), turned = projected(columns);
    drop(negated);
    int by_sine = projected(columns);
    drop(turned);
    const int out = projected(columns);
    drop(by_cosine, by_sine);
    return out;
  }
  constexpr void rotate_back(int& gradient, extent_t columns) {
    int by_sine = projected(columns), negated = take(s.tokens * columns);
    const int by_cosine = projected(columns);
    drop(gradient);
    int halves = projected(columns);
    drop(by_sine, negated, halves);
    gradient = by_cosine;
  }
  template <class Each>
  constexpr void norm_back(int& gradient, extent_t columns, int& raw, int& rows, const Each& each) {
    if (!s.head_normed) return;
    const int before = projected(columns);
    each(weight(s.head_dim));
    drop(gradient, raw, rows);
    gradient = before;
  }

  /// The incoming gradient of all tokens; -1 where it is there.
  constexpr int gathered_gradient() { return s.is_cut ? projected(s.hidden) : -1; }
  template <class Each>
  constexpr void projection_gradients(extent_t rows, const Each& each, bool biased) {
    each(weight(rows * s.hidden));
    if (biased) each(weight(rows));
  }
  template <class Each>
  constexpr void projection_gradients(extent_t rows, const Each& each) {
    projection_gradients(rows, each, s.biased);
  }
  /// Of a product that reads what others read as well: its weight's gradient, and its part of the input's, which is added to the `sum`.
  template <class Each>
  constexpr void add_input_gradient(int&, int& outgoing, extent_t rows, const Each& each, bool biased = false) {
    int part = projected(s.hidden);
    projection_gradients(rows, each, biased);
    drop(outgoing, part);
  }
  /// The norm before a branch; its gradient is added to that of the residual stream in place.
  template <class Each>
  constexpr void end_branch(int& sum, int& input, int& rows, const Each& each) {
    sum = scattered(sum);
    int before = residuals();
    each(weight(s.hidden));
    drop(sum, before, input, rows);
  }

  const stack_sizes& s;
  Memory& m;
};

}}  // namespace hyperparallel::v0_2
