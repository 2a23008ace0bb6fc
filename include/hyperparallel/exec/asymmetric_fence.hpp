// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fence between a store and a later load that costs one side next to nothing: the frequent side only keeps the
// compiler from moving them, the rare side makes the system run a full fence on every core where this process runs.
//
// Law: A stores x, calls `light_fence`, loads y; B stores y, calls `heavy_fence`, loads x. Then at least one of the two
// sees the other's store, as if all four were sequentially consistent (Linux: membarrier(2), private expedited; the
// pairing is that of its manual page). A publisher of a word that another core is polling would otherwise wait for that
// line at every publication, several times as long as the rest of an empty task takes.

#include <atomic>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hyperparallel { inline namespace v0_2 { namespace detail {

bool system_fence([[maybe_unused]] bool enrol) noexcept;

/// Whether the system has such a fence; asks it once. Without one both sides must use sequentially consistent
/// operations.
bool has_asymmetric_fence() noexcept;

/// Domain of the two: has_asymmetric_fence().
inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Some microseconds.
inline void heavy_fence() noexcept {
  while (!detail::system_fence(false)) detail::system_fence(true);  // a forked process enrols again
}

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/asymmetric_fence.ipp>
#endif
