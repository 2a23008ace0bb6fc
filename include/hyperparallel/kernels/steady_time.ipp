// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of steady_time.hpp; see support/compiled.hpp.

#include <cstdint>
#if defined(__linux__)
#include <time.h>
#else
#include <chrono>
#endif

#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

#if defined(__linux__)
namespace detail {

HYPERPARALLEL_BODY std::int64_t steady_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace detail
#else
namespace detail {

HYPERPARALLEL_BODY std::int64_t steady_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace detail
#endif

}}  // namespace hyperparallel::v0_2
