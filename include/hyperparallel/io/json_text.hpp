// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON objects from untrusted files. Needs nlohmann-json on the include path; no front header includes this one.
//
// Laws: what is parsed has no object with a name twice and no NUL byte, and is nested at most as deep as is allowed;
// everything else is an io_error of one line that names the file and, where the text is no JSON, the byte, what stands there
// and the name before it. O(bytes · log names of an object).

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
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

/// Python's numbers beyond JSON, each as a text of JSON that no other value of the document is.
class python_numbers {
 public:
  explicit python_numbers(std::string_view text) {
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

  bool any() const { return !places_.empty(); }
  const std::string& document() const { return document_; }
  /// The byte of the text that is the byte `at` of the document, both from 1 on.
  std::size_t byte_of(std::size_t at) const {
    std::size_t longer = 0;
    for (const place& p : places_)
      if (at > p.at + p.longer) longer = p.longer;
    return at - longer;
  }
  /// Of what is parsed.
  template <class json>
  void put_back(json& parsed) const {
    if (!parsed.is_string()) return;
    const std::string text = parsed.template get<std::string>();
    constexpr double values[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
    for (std::size_t i = 0; i < std::size(words); ++i)
      if (text == "\x01" + std::string(words[i])) parsed = values[i];
  }

 private:
  struct place {
    std::size_t at, longer;  ///< in the text; how much longer the document is behind it
  };
  static constexpr std::string_view words[] = {"Infinity", "-Infinity", "NaN"};

  static std::string mark_of(std::string_view word) { return "\\u0001" + std::string(word); }
  /// Whether a value ends here, and no name.
  static bool ends(std::string_view text, std::size_t at, std::string_view between) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at);
    return (at >= text.size() || between.find(text[at]) != std::string_view::npos) &&
           (next == std::string_view::npos || text[next] != ':');
  }

  std::string document_{};
  std::vector<place> places_{};
};

}  // namespace detail

enum class json_numbers : unsigned char { finite, as_python };

/// The object that `text` is, of the file `path`. `subject` is what errors call the text, as in "the header"; an object
/// in an object in an object is nested 3 levels deep. `json` may have another type for numbers than double.
template <class json = nlohmann::json>
json parse_json_object(std::string_view text, const std::string& path, const std::string& subject, int deepest,
                       json_numbers numbers = json_numbers::finite) {
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
  std::optional<detail::python_numbers> python;
  if (numbers == json_numbers::as_python) python.emplace(text);
  if (python && !python->any()) python.reset();
  const auto take = [&](int depth, event_t event, json& value) {
    if (python && event == event_t::value) python->put_back(value);
    return refuse_early(depth, event, value);
  };
  json parsed;
  try {
    parsed = json::parse(python ? std::string_view(python->document()) : text, take);
  } catch (const nlohmann::json::parse_error& e) {
    const std::size_t byte = python ? python->byte_of(e.byte) : e.byte;
    refuse(" is not JSON (byte " + std::to_string(byte) + detail::json_place(detail::json_token_at(text, byte), last) +
           ")");
  } catch (const nlohmann::json::out_of_range& e) {  // its message ends with the number between quotes
    std::string_view number = e.what();
    number.remove_prefix(std::min(number.find('\'') + 1, number.size()));
    number = number.substr(0, number.find('\''));
    refuse(" has a number that no double holds:" + detail::json_place(number, last));
  }
  if (!parsed.is_object()) refuse(" is no JSON object");
  return parsed;
}

namespace detail {

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

/// A value as a short text of ASCII on one line, for an error.
inline std::string shown_json(const nlohmann::json& value) {
  std::string text;
  detail::append_json(text, value);
  return text.size() > detail::most_json_shown ? text.substr(0, detail::most_json_shown) + "..." : text;
}

}}  // namespace hyperparallel::v0_2
