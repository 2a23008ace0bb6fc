// SPDX-License-Identifier: Apache-2.0
#pragma once
// Working memory of the taskflow algorithms, in the same two forms as a taskflow: inline arrays for constant
// evaluation, pointers to memory that somebody else owns for run time. One declaration serves both: a count of
// `run_time_count` turns every array of that kind into a pointer.
//
// Law: scratch carries no result from one call to the next; every algorithm writes before it reads.

#include <cstddef>

#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int run_time_count = -1;

namespace detail {

template <class T, int Count>
struct scratch_array_of {
  using type = T[array_bound(Count + 1)];
};

template <class T>
struct scratch_array_of<T, run_time_count> {
  using type = T*;
};

}  // namespace detail

/// `T[Count + 1]`, or `T*` where `Count` is `run_time_count`.
template <class T, int Count>
using scratch_array = typename detail::scratch_array_of<T, Count>::type;

/// An array that is going to be written out of order is filled in order first: g++ keeps the elements of an array in a
/// constant evaluation as a list. Clang, which keeps arrays, would only pay for it.
#if defined(__clang__)
namespace detail {

inline constexpr bool fills_before_scattering = false;

}  // namespace detail
#else
namespace detail {

inline constexpr bool fills_before_scattering = true;

}  // namespace detail
#endif

/// Owns zeroed blocks of trivial objects until it dies: what the run-time forms of taskflow, schedule and scratch take
/// from.
class scratch_memory {
 public:
  scratch_memory() = default;
  scratch_memory(const scratch_memory&) = delete;
  scratch_memory& operator=(const scratch_memory&) = delete;
  ~scratch_memory() {
    while (last_ != nullptr) {
      block* const before = last_->before;
      ::operator delete(last_);
      last_ = before;
    }
  }

  /// Takes all these arrays, of `count` + 1 zeroed elements each.
  template <class... T>
  void take_each(int count, T*&... array) {
    ((array = take<T>(count)), ...);
  }

  /// An array of `count` + 1 zeroed elements; T is trivial and its alignment is at most that of a block.
  template <class T>
  T* take(int count) {
    static_assert(alignof(T) <= alignof(block));
    const std::size_t elements = static_cast<std::size_t>(count) + 1;
    block* const fresh = static_cast<block*>(::operator new(sizeof(block) + elements * sizeof(T)));
    fresh->before = last_;
    last_ = fresh;
    T* const first = reinterpret_cast<T*>(fresh + 1);
    for (std::size_t i = 0; i < elements; ++i) first[i] = T{};
    return first;
  }

 private:
  struct alignas(alignof(std::max_align_t)) block {
    block* before;
  };
  block* last_ = nullptr;
};

}}  // namespace hyperparallel::v0_2
