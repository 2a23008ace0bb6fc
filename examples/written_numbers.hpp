// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers and amounts of memory as people write them.

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace command_line {

namespace detail {

/// Whether `text` is one number of base ten, to its last character.
template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace detail

/// Bytes of "48M", "1.5G" or "48000000": a number above 0 and K, M, G, KiB, MiB, GiB or nothing; 0 where the text is
/// none, or has more than 2^53 bytes.
inline std::int64_t bytes_of(std::string_view text) {
  struct {
    const char* name;
    double bytes;
  } constexpr units[] = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                         {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30}};
  double scale = 1, number = 0;
  for (const auto& unit : units)
    if (scale == 1 && text.ends_with(unit.name)) {
      scale = unit.bytes;
      text.remove_suffix(std::string_view(unit.name).size());
    }
  if (!detail::read(text, number) || !(number * scale >= 1) || number * scale > 0x1p53) return 0;
  return static_cast<std::int64_t>(number * scale);
}

}  // namespace command_line
