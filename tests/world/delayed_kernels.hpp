// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the built-in operators in f32 that are late at random: one in 16 sleeps, some yield or spin.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/operators/operator_list.hpp>

namespace delayed {

namespace hp = hyperparallel;

inline std::atomic<std::uint64_t> calls{0};

/// No two calls of a program draw the same.
inline void be_late() {
  const std::uint64_t drawn = hp::detail::mix_bits(calls.fetch_add(1, std::memory_order_relaxed) + 1);
  const std::uint64_t length = drawn >> 32;
  if (drawn % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(length % 100));
  if (drawn % 16 == 1) std::this_thread::yield();
  for (std::uint64_t i = length % 1000; drawn % 2 == 1 && i > 0; --i)
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

template <int Operator>
void run_late(const hp::operator_call& call) {
  be_late();
  hp::kernel_of<float>(static_cast<hp::operator_id>(Operator))(call);
}

template <int... Operators>
hp::operator_kernel late_kernel_of(hp::operator_id op, std::integer_sequence<int, Operators...>) {
  static constexpr hp::operator_kernel late[] = {&run_late<Operators>...};
  return hp::kernel_of<float>(op) == nullptr ? nullptr : late[static_cast<int>(op)];
}
/// A `kernel_choice`.
inline hp::operator_kernel late_kernel_of(hp::operator_id op) {
  return late_kernel_of(op, std::make_integer_sequence<int, hp::builtin_operator_count>{});
}

}  // namespace delayed
