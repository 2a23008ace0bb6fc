// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of steady_time.hpp; see support/compiled.hpp.

#include <chrono>
#include <cstdint>

#include <hyperparallel/runtime/steady_time.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::int64_t steady_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}}  // namespace hyperparallel::v0_2
