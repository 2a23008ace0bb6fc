// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of json_text.hpp; see support/compiled.hpp.

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_JSON_BODY std::string_view json_token_at(std::string_view text, std::size_t at) {
  constexpr std::string_view between = " \t\r\n,:[]{}\"";
  const auto is_part = [&](std::size_t i) { return between.find(text[i]) == std::string_view::npos; };
  if (at == 0 || at > text.size()) return {};
  std::size_t first = at - 1, last = at;
  if (!is_part(first)) return text.substr(first, 1);
  while (first > 0 && last - first < most_json_shown && is_part(first - 1)) --first;
  while (last < text.size() && last - first < most_json_shown && is_part(last)) ++last;
  return text.substr(first, last - first);
}

HYPERPARALLEL_JSON_BODY std::string json_place(std::string_view token, std::string_view name) {
  const auto shown = [](std::string_view text) {
    std::string out(text.substr(0, most_json_shown));
    for (char& c : out) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
    return quoted_path(out);
  };
  std::string out = token.empty() ? "" : " " + shown(token);
  if (!name.empty()) out += " behind " + shown(name);
  return out;
}

HYPERPARALLEL_JSON_BODY python_numbers::python_numbers(std::string_view text) {
  constexpr std::string_view between = " \t\r\n,:[]{}\"";
  bool is_text = false, is_first = true;  // in quotes; the first character of a token
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_text && text[at] == '\\') {
      ++at;
      continue;
    }
    if (text[at] == '"') is_text = !is_text;
    if (!is_text && is_first)
      for (const std::string_view word : words)
        if (text.substr(at, word.size()) == word && ends(text, at + word.size(), between)) {
          document_.append(text.substr(copied, at - copied)).append('"' + mark_of(word) + '"');
          copied = at + word.size();
          places_.push_back({at, document_.size() - copied});
        }
    is_first = between.find(text[at]) != std::string_view::npos;
  }
  document_.append(text.substr(copied));
  // A text with such a mark of its own stays as it is.
  if (!places_.empty() && text.find("\\u0001") != std::string_view::npos) places_.clear();
}

/// As JSON, but for numbers that are not finite, which are as Python writes them. Ends behind the most that is shown.
inline void append_json(std::string& out, const nlohmann::json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    out += std::isnan(value.get<double>()) ? "NaN" : value.get<double>() > 0 ? "Infinity" : "-Infinity";
  } else if (!value.is_structured()) {
    out += value.dump(-1, ' ', true);
  } else {
    out += value.is_array() ? '[' : '{';
    bool is_first = true;
    for (const auto& [name, each] : value.items()) {
      if (out.size() > most_json_shown) return;
      if (!is_first) out += ',';
      if (value.is_object()) out += nlohmann::json(name).dump(-1, ' ', true) + ":";
      append_json(out, each);
      is_first = false;
    }
    out += value.is_array() ? ']' : '}';
  }
}

}  // namespace detail

HYPERPARALLEL_JSON_BODY std::string shown_json(const nlohmann::json& value) {
  std::string text;
  detail::append_json(text, value);
  return text.size() > detail::most_json_shown ? text.substr(0, detail::most_json_shown) + "..." : text;
}

}}  // namespace hyperparallel::v0_2
