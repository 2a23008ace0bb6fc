// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of a stack by what they are: the residual stream, what products give, f32 numbers a row, gradients of weights.
//
//   const int x = tensors.residuals(), y = tensors.projected(columns);
//   tensors.drop(x, y);
//
// `Memory` has allocate(bytes, memory_class, stream) and release(number). Law: what is taken is there until it is dropped; a number that is
// dropped is -1. O(1).

#include <hyperparallel/planner/stack.hpp>
#include <hyperparallel/strategy/storage_uses.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Bytes of an element.
inline constexpr extent_t half_bytes = 2, single_bytes = 4;

}  // namespace detail

template <class Memory>
class stack_tensors {
 public:
  constexpr stack_tensors(const stack_sizes& sizes, Memory& memory) : s(sizes), m(memory) {}

  /// A tensor of the residual stream.
  constexpr int residuals() { return take(s.stream_bytes() * s.shard_tokens * s.hidden); }
  constexpr int take(extent_t bytes) { return m.allocate(bytes, memory_class::activations, 0); }
  constexpr int projected(extent_t columns) { return take(detail::half_bytes * s.tokens * columns); }
  /// One f32 number for each of so many parts of a token.
  constexpr int rows_of(extent_t parts) { return take(detail::single_bytes * s.shard_tokens * parts); }
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
  /// The gradient of a weight.
  constexpr int weight(extent_t elements) {
    int half = m.allocate(detail::half_bytes * elements, memory_class::gradients, 0);
    if (!s.autocast) return half;
    const int single = m.allocate(detail::single_bytes * elements, memory_class::gradients, 0);
    drop(half);
    return single;
  }
  template <class... Numbers>
  constexpr void drop(Numbers&... numbers) {
    const auto one = [this](int& number) {
      if (number >= 0) m.release(number);
      number = -1;
    };
    (one(numbers), ...);
  }

 protected:
  const stack_sizes& s;
  Memory& m;
};

}}  // namespace hyperparallel::v0_2
