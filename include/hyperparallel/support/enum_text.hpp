// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text or the name of an enumerator, from texts in the order of the enumerators.

#include <cstddef>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// `texts` are of all enumerators up to `Last`; "unknown" of a number that is none of them.
template <auto Last, std::size_t N>
constexpr const char* enum_text(const char* const (&texts)[N], decltype(Last) code) {
  static_assert(N == static_cast<std::size_t>(Last) + 1, "a text for each enumerator");
  const auto place = static_cast<std::size_t>(code);
  return place < N ? texts[place] : "unknown";
}

/// The same of names in one literal, each ended by a zero: enum_name("ok\0too_large", code). O(characters).
template <class Code, std::size_t N>
constexpr const char* enum_name(const char (&names)[N], Code code) {
  std::size_t at = 0;
  for (int left = static_cast<int>(code); left > 0 && at < N; ++at) left -= names[at] == '\0' ? 1 : 0;
  return at < N ? names + at : "unknown";
}

}}}  // namespace hyperparallel::v0_2::detail
