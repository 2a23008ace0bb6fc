// SPDX-License-Identifier: Apache-2.0
#pragma once
// Large blocks on large pages.
//
// A move over hundreds of MiB of 4 KiB pages spends its time on address translation, in a virtual machine twice; on
// 2 MiB pages it runs at the speed of memory. The system is only asked: where it does not listen, everything works as
// before. Law: contents do not change, and memory that nobody has written still costs nothing, to one page.

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;

}  // namespace detail

/// Asks for huge pages under the whole ones among [first, first + bytes); best before the memory is first written.
/// Returns the bytes for which the system agreed, 0 where there is no whole page or it does not listen.
std::int64_t prefer_huge_pages([[maybe_unused]] std::byte* first, [[maybe_unused]] std::int64_t bytes) noexcept;

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/huge_pages.ipp>
#endif
