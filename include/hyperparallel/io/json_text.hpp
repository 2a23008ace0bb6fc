// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON objects from untrusted files. Needs nlohmann-json on the include path; no front header includes this one.
//
// Laws: what is parsed has no object with a name twice and no NUL byte, and is nested at most as deep as is allowed;
// everything else is an io_error of one line that names the file and, where the text is no JSON, the byte, what stands there
// and the name before it. O(bytes · log names of an object).

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The most characters of a file that an error repeats at a time.
inline constexpr std::size_t most_json_shown = 60;

/// The number, word or single character that holds the byte `at`, from 1 on; empty behind the end.
inline std::string_view json_token_at(std::string_view text, std::size_t at) {
  constexpr std::string_view between = " \t\r\n,:[]{}\"";
  const auto is_part = [&](std::size_t i) { return between.find(text[i]) == std::string_view::npos; };
  if (at == 0 || at > text.size()) return {};
  std::size_t first = at - 1, last = at;
  if (!is_part(first)) return text.substr(first, 1);
  while (first > 0 && last - first < most_json_shown && is_part(first - 1)) --first;
  while (last < text.size() && last - first < most_json_shown && is_part(last)) ++last;
  return text.substr(first, last - first);
}

/// " 'NaN' behind 'hidden_size'", as far as there are any; a byte beyond ASCII is shown as '?'.
inline std::string json_place(std::string_view token, std::string_view name) {
  const auto shown = [](std::string_view text) {
    std::string out(text.substr(0, most_json_shown));
    for (char& c : out) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
    return quoted_path(out);
  };
  std::string out = token.empty() ? "" : " " + shown(token);
  if (!name.empty()) out += " behind " + shown(name);
  return out;
}

}  // namespace detail

/// The object that `text` is, of the file `path`. `subject` is what errors call the text, as in "the header"; an object
/// in an object in an object is nested 3 levels deep. `json` may have another type for numbers than double.
template <class json = nlohmann::json>
json parse_json_object(std::string_view text, const std::string& path, const std::string& subject, int deepest) {
  const auto refuse = [&](const std::string& reason) { throw io_error("read", path, subject + reason); };
  // The library's parser takes it for the end of the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    refuse(" is not JSON (byte " + std::to_string(zero) + ")");
  std::vector<std::set<std::string>> names;  // of the open objects
  std::string last;                          // name that was read
  using event_t = typename json::parse_event_t;
  const auto refuse_early = [&](int depth, event_t event, json& parsed) {
    const bool opens = event == event_t::object_start || event == event_t::array_start;
    if (opens && depth >= deepest) refuse(" is nested deeper than " + std::to_string(deepest) + " levels");
    if (event == event_t::object_start) names.emplace_back();
    if (event == event_t::object_end) names.pop_back();
    if (event != event_t::key) return true;
    last = parsed.template get<std::string>();
    if (!names.back().insert(last).second) refuse(" names " + quoted_path(last) + " twice");
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text, refuse_early);
  } catch (const nlohmann::json::parse_error& e) {
    refuse(" is not JSON (byte " + std::to_string(e.byte) +
           detail::json_place(detail::json_token_at(text, e.byte), last) + ")");
  } catch (const nlohmann::json::out_of_range& e) {  // its message ends with the number between quotes
    std::string_view number = e.what();
    number.remove_prefix(std::min(number.find('\'') + 1, number.size()));
    number = number.substr(0, number.find('\''));
    refuse(" has a number that no double holds:" + detail::json_place(number, last));
  }
  if (!parsed.is_object()) refuse(" is no JSON object");
  return parsed;
}

/// A value as a short text of ASCII on one line, for an error.
inline std::string shown_json(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', true);
  return text.size() > detail::most_json_shown ? text.substr(0, detail::most_json_shown) + "..." : text;
}

}}  // namespace hyperparallel::v0_2
