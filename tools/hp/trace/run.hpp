// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run as a trace says (report/trace.hpp writes them): spans on the rows of processes. Law: starts are told from the first
// one, times are exact to the picosecond; everything that is no such trace is an io_error that names file, event and field.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/support/integer.hpp>

namespace run_trace {

namespace hp = hyperparallel;

/// Larger files and traces nested deeper are refused.
inline constexpr std::int64_t largest_trace = std::int64_t{64} << 20;
inline constexpr int deepest_trace = 32;
inline constexpr std::size_t most_categories = 64;
/// Times are at most so many microseconds, 11 days.
inline constexpr long double most_microseconds = 1e12L;

/// Numbers of 64 bits: 10^12 microseconds with six decimals are fewer than 2^60 picoseconds, so the nearest such number is less than
/// half a picosecond away. A double has 53 bits, 2.5 hours.
using document =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, long double>;
static_assert(std::numeric_limits<long double>::digits >= 64, "times are exact to the picosecond");

struct span {
  std::size_t row = 0, category = 0, event = 0;  ///< its place among the events of the file
  std::string name;
  std::int64_t start = 0, duration = 0;  ///< picoseconds
  std::int64_t end() const { return start + duration; }
};

struct run {
  std::vector<std::string> row;       ///< of each that has spans, by process and number: "rank 3, AIC 0"
  std::vector<std::string> category;  ///< in the order in which they come first; may be empty texts
  std::vector<span> spans;            ///< by row, start and place in the file
  std::int64_t total = 0;             ///< from the first start to the last end
  std::size_t others = 0;             ///< events that are no spans and name nothing: instants, counters
};

/// Reads one trace, which errors call the file `path`.
class reader {
 public:
  explicit reader(const std::string& path) : path_(path) {}

  run read() {
    const std::vector<unsigned char> bytes = hp::read_bytes(path_, {hp::empty_file::refused, largest_trace});
    return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  run parse(std::string_view text) {
    const document object = hp::parse_json_object<document>(text, path_, "the file", deepest_trace);
    const auto events = object.find("traceEvents");
    if (events == object.end() || !events->is_array()) refuse("traceEvents is no list of events");
    for (const document& event : *events) {
      if (!event.is_object()) refuse(place() + " is no object");
      note(event);
      ++at_;
    }
    if (run_.spans.empty()) refuse("no event is a span (\"ph\": \"X\")");
    finish();
    return std::move(run_);
  }

 private:
  using row_key = std::pair<std::int64_t, std::int64_t>;  ///< process, row

  [[noreturn]] void refuse(const std::string& why) const { throw hp::io_error("read", path_, why); }
  std::string place() const { return "traceEvents[" + std::to_string(at_) + "]"; }

  const document& field(const document& event, const char* name) const {
    static const document none;
    const auto found = event.find(name);
    return found == event.end() ? none : *found;
  }
  [[noreturn]] void refuse_field(const document& event, const char* name, const char* expected) const {
    const document& value = field(event, name);
    const bool has_fraction = value.is_number_float();  // which nlohmann-json writes of a double alone
    const std::string shown =
        has_fraction ? fmt::format("{}", value.get<long double>()) : hp::shown_json(nlohmann::json(value));
    refuse(place() + "." + name + (value.is_null() ? " is missing" : " is " + shown) + "; expected " + expected);
  }
  std::string text(const document& event, const char* name) const {
    const document& value = field(event, name);
    if (!value.is_string()) refuse_field(event, name, "a text");
    return value.get<std::string>();
  }
  std::int64_t number(const document& event, const char* name) const {
    const document& value = field(event, name);
    if (!value.is_number_integer()) refuse_field(event, name, "a whole number");
    return value.get<std::int64_t>();
  }
  std::int64_t time(const document& event, const char* name, long double least) const {
    const document& value = field(event, name);
    const long double t = value.is_number() ? value.get<long double>() : std::nanl("");
    if (!(t >= least && t <= most_microseconds))
      refuse_field(event, name, least < 0 ? "microseconds" : "microseconds from 0");
    return std::llroundl(t * 1e6L);
  }

  void note(const document& event) {
    const std::string phase = text(event, "ph");
    if (phase == "M") return note_name(event);
    if (phase != "X") {
      ++run_.others;
      return;
    }
    key_.emplace_back(number(event, "pid"), number(event, "tid"));
    run_.spans.push_back({.category = category_of(event),
                          .event = at_,
                          .name = text(event, "name"),
                          .start = time(event, "ts", -most_microseconds),
                          .duration = time(event, "dur", 0)});
    const hp::checked_extent sum = hp::checked_add(all_durations_, run_.spans.back().duration);
    if (sum.overflow) refuse(place() + ".dur: the spans together take more than 64 bits of picoseconds, 106 days");
    all_durations_ = sum.value;
  }

  std::size_t category_of(const document& event) {
    const std::string name = field(event, "cat").is_null() ? "" : text(event, "cat");
    const auto at = std::find(run_.category.begin(), run_.category.end(), name);
    if (at != run_.category.end()) return static_cast<std::size_t>(at - run_.category.begin());
    if (run_.category.size() == most_categories)
      refuse(place() + ".cat is another category; expected at most " + std::to_string(most_categories));
    run_.category.push_back(name);
    return run_.category.size() - 1;
  }

  void note_name(const document& event) {
    const std::string what = text(event, "name");
    const bool is_process = what == "process_name";
    if (!is_process && what != "thread_name") return;
    const document& arguments = field(event, "args");
    if (!arguments.is_object()) refuse_field(event, "args", "an object");
    const std::string name = text(arguments, "name");
    if (is_process)
      process_[number(event, "pid")] = name;
    else
      row_[{number(event, "pid"), number(event, "tid")}] = name;
  }

  void finish() {
    std::map<row_key, std::size_t> place_of;
    for (const row_key& k : key_) place_of.emplace(k, 0);
    for (auto& [k, place] : place_of) {
      place = run_.row.size();
      run_.row.push_back(name_or(process_, k.first, "process " + std::to_string(k.first)) + ", " +
                         name_or(row_, k, "row " + std::to_string(k.second)));
    }
    std::int64_t first = run_.spans.front().start;
    for (const span& s : run_.spans) first = std::min(first, s.start);
    for (std::size_t i = 0; i < run_.spans.size(); ++i) {
      span& s = run_.spans[i];
      s.row = place_of[key_[i]];
      s.start -= first;
      run_.total = std::max(run_.total, s.end());
    }
    std::sort(run_.spans.begin(), run_.spans.end(), [](const span& a, const span& b) {
      return std::tie(a.row, a.start, a.event) < std::tie(b.row, b.start, b.event);
    });
  }
  template <class Key>
  static std::string name_or(const std::map<Key, std::string>& names, const Key& key, const std::string& other) {
    const auto found = names.find(key);
    return found == names.end() ? other : found->second;
  }

  std::string path_;
  std::size_t at_ = 0;
  std::int64_t all_durations_ = 0;
  run run_{};
  std::vector<row_key> key_{};  ///< of each span, in the order of the file
  std::map<std::int64_t, std::string> process_{};
  std::map<row_key, std::string> row_{};
};

/// What each row does by category, the time of none of them last; the parts of a row add up to the run's time. Where spans
/// overlap, time is that of the one that starts first. O(spans + rows · categories).
inline std::vector<std::vector<std::int64_t>> parts_by_row(const run& r) {
  std::vector<std::vector<std::int64_t>> parts(r.row.size(), std::vector<std::int64_t>(r.category.size() + 1, 0));
  std::vector<std::int64_t> reached(r.row.size(), 0), busy(r.row.size(), 0);
  for (const span& s : r.spans) {
    if (s.end() <= reached[s.row]) continue;
    const std::int64_t time = s.end() - std::max(s.start, reached[s.row]);
    parts[s.row][s.category] += time;
    busy[s.row] += time;
    reached[s.row] = s.end();
  }
  for (std::size_t row = 0; row < parts.size(); ++row) parts[row].back() = r.total - busy[row];
  return parts;
}

}  // namespace run_trace
