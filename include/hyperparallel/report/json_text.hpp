// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text inside JSON. Law: whatever bytes go in, a JSON string of valid UTF-8 comes out; valid UTF-8 comes back unchanged
// when it is parsed, and each byte that is no part of valid UTF-8 comes back as U+FFFD.

#include <cstddef>
#include <string>
#include <string_view>

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

/// Bytes of the UTF-8 character at the start of `text`; 0 where there is none. Overlong forms, surrogates and values
/// above U+10FFFF are no characters. Source: RFC 3629, section 4.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return length;
}

/// `text` as a JSON string, quotes included. O(bytes).
inline std::string json_string(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = detail::utf8_length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

}}}}  // namespace hyperparallel::v0_2::report::detail
