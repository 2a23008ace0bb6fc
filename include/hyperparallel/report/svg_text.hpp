// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text and colours of SVG drawings.

#include <string>
#include <string_view>

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

/// Text inside XML: the five reserved characters escaped, control characters as '?'.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&apos;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out;
}

/// Colours that differ for neighbouring numbers. Source: Okabe and Ito, colour universal design.
constexpr const char* colour_of(int operation) {
  constexpr const char* colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                     "#f0e442", "#999999", "#882255", "#44aa99", "#332288", "#ddcc77"};
  return colours[static_cast<unsigned>(operation) % 12];
}

}}}}  // namespace hyperparallel::v0_2::report::detail
