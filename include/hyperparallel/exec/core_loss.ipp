// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of core_loss.hpp; see support/compiled.hpp.

#include <time.h>
#include <cstdint>

#include <hyperparallel/exec/core_loss.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

#if defined(CLOCK_THREAD_CPUTIME_ID)
inline std::int64_t clock_nanoseconds(clockid_t clock) noexcept {
  timespec t{};
  return clock_gettime(clock, &t) == 0 ? t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec : -1;
}
#endif

HYPERPARALLEL_BODY std::int64_t thread_nanoseconds() noexcept {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  return clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
#else
  return -1;
#endif
}

#if defined(__linux__)
HYPERPARALLEL_BODY std::int64_t thread_nanoseconds(pthread_t thread) noexcept {
  clockid_t clock{};
  return pthread_getcpuclockid(thread, &clock) == 0 ? clock_nanoseconds(clock) : -1;
}
#endif

HYPERPARALLEL_BODY bool core_loss::note(std::int64_t passed, std::int64_t computed) noexcept {
  if (passed < period / 2 && stride_ < most_tasks) stride_ *= 2;
  for (std::int64_t left = passed; left > 2 * period && stride_ > 1; left /= 2) stride_ /= 2;
  if (passed < least) return false;  // too short to say
  const bool missing = computed < passed - passed / 4;
  if (missing)
    whole_left_ = looks_until_whole;
  else if (whole_left_ > 0)
    --whole_left_;
  return missing;
}

}}}  // namespace hyperparallel::v0_2::detail
