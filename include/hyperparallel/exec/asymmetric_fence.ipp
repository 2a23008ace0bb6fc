// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of asymmetric_fence.hpp; see support/compiled.hpp.

#include <unistd.h>
#include <atomic>

#include <hyperparallel/exec/asymmetric_fence.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY bool system_fence([[maybe_unused]] bool enrol) noexcept {
#if defined(__linux__) && defined(SYS_membarrier)
  return syscall(SYS_membarrier, enrol ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED : MEMBARRIER_CMD_PRIVATE_EXPEDITED,
                 0, 0) == 0;
#else
  return false;
#endif
}

HYPERPARALLEL_BODY bool has_asymmetric_fence() noexcept {
  static const bool has = detail::system_fence(true) && detail::system_fence(false);
  return has;
}

}}}  // namespace hyperparallel::v0_2::detail
