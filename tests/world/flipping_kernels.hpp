// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the built-in operators in f32, of which one call flips a bit: of its result, or wherever it is told.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/operators/operator_list.hpp>

namespace flipping {

namespace hp = hyperparallel;

/// Calls since `begin`, the one whose result is damaged or -1, and what it chose. Calls come from several threads.
inline std::atomic<std::int64_t> calls{0};
inline std::int64_t damaged = -1;
inline std::uint64_t choice = 0;
inline const hp::operator_attributes* damaged_operator = nullptr;
inline const void* damaged_block = nullptr;
/// Called before each kernel, on a world of one thread; none: nothing.
inline void (*between)(const hp::operator_call&) = nullptr;

inline void flip(void* block, std::int64_t bytes, std::uint64_t drawn) {
  const std::uint64_t bit = hp::detail::mix_bits(drawn) % (8 * static_cast<std::uint64_t>(bytes));
  static_cast<std::byte*>(block)[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
}

template <int Operator>
void run_flipping(const hp::operator_call& call) {
  if (between != nullptr) between(call);
  hp::kernel_of<float>(static_cast<hp::operator_id>(Operator))(call);
  if (calls.fetch_add(1) != damaged) return;
  const int r = static_cast<int>(choice % static_cast<std::uint64_t>(call.rule->result_count));
  damaged_operator = call.attributes;
  damaged_block = call.result[r];
  flip(call.result[r], 4 * call.result_elements(r), choice);  // every element has four bytes
}

template <int... Operators>
hp::operator_kernel kernel_of(hp::operator_id op, std::integer_sequence<int, Operators...>) {
  static constexpr hp::operator_kernel all[] = {&run_flipping<Operators>...};
  return hp::kernel_of<float>(op) == nullptr ? nullptr : all[static_cast<int>(op)];
}
/// A `kernel_choice`.
inline hp::operator_kernel kernel_of(hp::operator_id op) {
  return kernel_of(op, std::make_integer_sequence<int, hp::builtin_operator_count>{});
}

/// The result of call `number` from here on gets a flipped bit; of none where it is -1.
inline void begin(std::int64_t number, std::uint64_t drawn = 0) {
  calls = 0;
  damaged = number;
  choice = drawn;
  damaged_operator = nullptr;
  damaged_block = nullptr;
}

}  // namespace flipping
