// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON objects from untrusted files. Needs nlohmann-json on the include path; no front header includes this one.
//
// Laws: what is parsed has no object with a name twice and no NUL byte, and is nested at most as deep as is allowed;
// everything else is an io_error of one line that names the file and, where the text is no JSON, the byte, what stands there
// and the name before it. O(bytes · log names of an object).

#include <algorithm>
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
std::string_view json_token_at(std::string_view text, std::size_t at);

/// " 'NaN' behind 'hidden_size'", as far as there are any; a byte beyond ASCII is shown as '?'.
std::string json_place(std::string_view token, std::string_view name);

/// Python's numbers beyond JSON, each as a text of JSON that no other value of the document is.
class python_numbers {
 public:
  explicit python_numbers(std::string_view text);

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

#ifdef HYPERPARALLEL_COMPILED_JSON
extern template nlohmann::json parse_json_object(std::string_view, const std::string&, const std::string&, int,
                                                 json_numbers);
#endif

/// A value as a short text of ASCII on one line, for an error.
std::string shown_json(const nlohmann::json& value);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/json_text.ipp>
#endif
