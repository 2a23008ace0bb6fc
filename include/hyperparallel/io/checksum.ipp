// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of checksum.hpp; see support/compiled.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY std::string checksum_text(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15u];
  return text;
}

}}}  // namespace hyperparallel::v0_2::detail
