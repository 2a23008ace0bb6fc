// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON objects from untrusted files. Needs nlohmann-json on the include path; no front header includes this one.
//
// Laws: what is parsed has no object with a name twice and no NUL byte, and is nested at most as deep as is allowed;
// everything else is an io_error of one line that names the file. O(bytes · log names of an object).

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The object that `text` is, of the file `path`. `subject` is what errors call the text, as in "the header"; an object
/// in an object in an object is nested 3 levels deep.
inline nlohmann::json parse_json_object(std::string_view text, const std::string& path, const std::string& subject,
                                        int deepest) {
  using json = nlohmann::json;
  const auto refuse = [&](const std::string& reason) { throw io_error("read", path, subject + reason); };
  // The library's parser takes it for the end of the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    refuse(" is not JSON (byte " + std::to_string(zero) + ")");
  std::vector<std::set<std::string>> names;  // of the open objects
  const auto refuse_early = [&](int depth, json::parse_event_t event, json& parsed) {
    const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= deepest) refuse(" is nested deeper than " + std::to_string(deepest) + " levels");
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event == json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second)
      refuse(" names " + quoted_path(parsed.get<std::string>()) + " twice");
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text, refuse_early);
  } catch (const json::parse_error& e) {
    refuse(" is not JSON (byte " + std::to_string(e.byte) + ")");
  } catch (const json::exception&) {
    refuse(" is not JSON");
  }
  if (!parsed.is_object()) refuse(" is no JSON object");
  return parsed;
}

/// A value as a short text of ASCII on one line, for an error.
inline std::string shown_json(const nlohmann::json& value) {
  constexpr std::size_t most_shown = 60;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() > most_shown ? text.substr(0, most_shown) + "..." : text;
}

}}  // namespace hyperparallel::v0_2
