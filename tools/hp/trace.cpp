// SPDX-License-Identifier: Apache-2.0
// hp trace trace.json [--html trace.html]
//
// A trace of a run, as the library and hp sched draw write it: how long each row is busy with what, and which names take most
// time. With --html all spans on a page with zoom and search.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>

#include "page_output.hpp"
#include "pictures.hpp"
#include "subcommand.hpp"
#include "trace/run.hpp"

namespace {

namespace hp = hyperparallel;
using hp_tool::json;

struct request {
  std::string file;
  bool as_json = false;
  hp_tool::page_request page{};
};

/// Of more names the text and the document have the first.
constexpr std::size_t most_names = 20;

struct row_times {
  std::string name;
  std::size_t spans = 0;
  std::vector<std::int64_t> parts;  ///< picoseconds, by category, idle last
};

struct name_time {
  std::string name;
  std::size_t spans = 0;
  std::int64_t time = 0;  ///< on all rows, picoseconds
};

struct summary {
  std::vector<row_times> rows;
  std::vector<name_time> names;  ///< those that take most time first
};

/// "GMM1 12" is one of the name GMM1.
std::string without_number(const std::string& name) {
  const std::size_t space = name.find_last_of(' ');
  const bool numbered = space != std::string::npos && space + 1 < name.size() &&
                        name.find_first_not_of("0123456789", space + 1) == std::string::npos;
  return numbered ? name.substr(0, space) : name;
}

summary summary_of(const run_trace::run& r) {
  summary s;
  std::vector<std::vector<std::int64_t>> parts = run_trace::parts_by_row(r);
  for (std::size_t row = 0; row < r.row.size(); ++row) s.rows.push_back({r.row[row], 0, std::move(parts[row])});
  std::map<std::string, name_time> names;
  for (const run_trace::span& one : r.spans) {
    ++s.rows[one.row].spans;
    name_time& n = names[without_number(one.name)];
    ++n.spans;
    n.time += one.duration;
  }
  for (auto& [name, n] : names) s.names.push_back({name, n.spans, n.time});
  std::sort(s.names.begin(), s.names.end(), [](const name_time& a, const name_time& b) {
    return a.time != b.time ? a.time > b.time : a.name < b.name;
  });
  if (s.names.size() > most_names) s.names.resize(most_names);
  return s;
}

std::string told(const std::string& category) { return category.empty() ? "no category" : category; }

std::string time_text(std::int64_t picoseconds) { return to_text(hp::report::duration{picoseconds}); }

double seconds_of(std::int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e12; }

std::string to_text(const run_trace::run& r, const summary& s) {
  std::string out = fmt::format("{} spans on {} rows in {}\n\n", r.spans.size(), r.row.size(), time_text(r.total));
  std::vector<std::string> heads = {"row", "spans"};
  for (const std::string& c : r.category) heads.push_back(told(c));
  heads.push_back("idle");
  hp::report::table rows(heads);
  for (const row_times& row : s.rows) {
    std::vector<std::string> cells = {row.name, std::to_string(row.spans)};
    for (const std::int64_t part : row.parts) cells.push_back(time_text(part));
    rows.row(std::move(cells));
  }
  hp::report::table names({"name", "spans", "time on all rows"});
  for (const name_time& n : s.names) names.row({n.name, std::to_string(n.spans), time_text(n.time)});
  return out + rows.text() + "\n" + names.text();
}

json json_of(const run_trace::run& r, const summary& s) {
  json rows = json::array(), names = json::array();
  for (const row_times& row : s.rows) {
    json parts = json::object(), exact = json::object();
    for (std::size_t c = 0; c < r.category.size(); ++c) {
      parts[told(r.category[c])] = seconds_of(row.parts[c]);
      exact[told(r.category[c])] = row.parts[c];
    }
    rows.push_back({{"row", row.name},
                    {"spans", row.spans},
                    {"busy_seconds", std::move(parts)},
                    {"idle_seconds", seconds_of(row.parts.back())},
                    {"busy_picoseconds", std::move(exact)},
                    {"idle_picoseconds", row.parts.back()}});
  }
  for (const name_time& n : s.names)
    names.push_back({{"name", n.name},
                     {"spans", n.spans},
                     {"on_all_rows_seconds", seconds_of(n.time)},
                     {"on_all_rows_picoseconds", n.time}});
  return {{"spans", r.spans.size()},      {"other_events", r.others}, {"total_seconds", seconds_of(r.total)},
          {"total_picoseconds", r.total}, {"rows", std::move(rows)},  {"names", std::move(names)}};
}

json pictures_of(const run_trace::run& r, const summary& s) {
  hp_tool::numbered_texts names, groups;
  json spans = json::array(), bars = json::array(), parts = json::array();
  for (const run_trace::span& one : r.spans)
    spans.push_back({one.row, groups.number_of(told(r.category[one.category])), names.number_of(one.name),
                     seconds_of(one.start), seconds_of(one.duration)});
  for (const row_times& row : s.rows) {
    json values = json::array();
    for (const std::int64_t part : row.parts) values.push_back(seconds_of(part));
    bars.push_back({{"name", row.name}, {"values", std::move(values)}});
  }
  for (const std::string& c : r.category) parts.push_back(told(c));
  parts.push_back("idle");
  return {{{"kind", "timeline"},
           {"title", "The run in time"},
           {"about", "Every span of the trace."},
           {"unit", "seconds"},
           {"total", seconds_of(r.total)},
           {"rows", r.row},
           {"groups", groups.take()},
           {"names", names.take()},
           {"details", json::array()},
           {"spans", std::move(spans)}},
          {{"kind", "bars"},
           {"title", "Time of each row"},
           {"about", "Where spans overlap, time is that of the one that starts first."},
           {"unit", "seconds"},
           {"parts", std::move(parts)},
           {"rows", std::move(bars)}}};
}

int show(const request& given) {
  if (given.file.empty()) throw hp_tool::bad_input("no file is named; usage: hp trace FILE.json");
  hp_tool::page_output page(given.page, {given.file});
  run_trace::run r;
  try {
    r = run_trace::reader(given.file).read();
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  const summary s = summary_of(r);
  json document = given.as_json || page.is_asked() ? json_of(r, s) : json();
  if (page.is_asked()) {
    document["pictures"] = pictures_of(r, s);
    page.write("hp trace: " + given.file, document);
  }
  if (given.as_json)
    hp_tool::print(document);
  else
    std::fputs(to_text(r, s).c_str(), stdout);
  return 0;
}

}  // namespace

hp_tool::work hp_tool::add_trace(command_line::command app) {
  const auto given = std::make_shared<request>();
  app.add_option("FILE", given->file, "a trace in the Trace Event Format");
  add_json(app, given->as_json);
  add_page(app, given->page);
  app.footer(
      "Reads a trace as the library writes it of runs and plans, and hp sched draw --trace of schedules (Trace Event\n"
      "Format, the form with \"traceEvents\"; spans are its complete events). Prints how long each row is busy with "
      "what,\nand the names that take most time.\n\n"
      "scripts/demo && hp trace trace.json --html trace.html\n"
      "hp sched draw ZB-V --ranks 4 --micro-batches 8 --trace zbv.json && hp trace zbv.json\n\n"
      "Exit status: 0 good, 1 the output is full, 2 bad input.");
  return [given] { return show(*given); };
}
