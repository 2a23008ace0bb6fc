// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of huge_pages.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/exec/huge_pages.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::int64_t prefer_huge_pages([[maybe_unused]] std::byte* first,
                                                  [[maybe_unused]] std::int64_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) %
                                              static_cast<std::uintptr_t>(detail::huge_page_bytes));
  const std::int64_t head = past == 0 ? 0 : detail::huge_page_bytes - past;
  const std::int64_t whole = (bytes - head) / detail::huge_page_bytes * detail::huge_page_bytes;
  if (whole > 0 && madvise(first + head, static_cast<std::size_t>(whole), MADV_HUGEPAGE) == 0) return whole;
#endif
  return 0;
}

}}  // namespace hyperparallel::v0_2
