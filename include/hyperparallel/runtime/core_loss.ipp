// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of core_loss.hpp; see support/compiled.hpp.

#include <time.h>
#include <cstdint>

#include <hyperparallel/runtime/core_loss.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY std::int64_t thread_nanoseconds() noexcept {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
#endif
  return -1;
}

HYPERPARALLEL_BODY bool core_loss::note(std::int64_t passed, std::int64_t computed) noexcept {
  if (passed < period / 2 && stride_ < most_tasks)
    stride_ *= 2;
  else if (passed > 2 * period && stride_ > 1)
    stride_ /= 2;
  if (passed < least) return false;  // too short to say
  const bool missing = computed < passed - passed / 4;
  if (missing)
    whole_left_ = looks_until_whole;
  else if (whole_left_ > 0)
    --whole_left_;
  return missing;
}

}}}  // namespace hyperparallel::v0_2::detail
