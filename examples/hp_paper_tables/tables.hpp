// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters and anchors as text and as JSON.

#include <string>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/report/json_text.hpp>
#include <hyperparallel/report/table.hpp>

#include "anchor.hpp"
#include "parameters.hpp"

namespace hp_paper_tables {

inline std::string number(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

inline std::string with_unit(double value, const anchor_row& r) {
  return number(value, r.decimals) + (r.unit.empty() ? "" : " " + r.unit);
}

inline std::string error_text(const anchor_row& r) {
  const std::optional<double> error = error_of(r);
  if (!error) return "-";
  if (r.measure == criterion::absolute) return fmt::format("{:+.{}f}", *error, r.decimals + 1);
  return fmt::format("{:+.2f} %", *error * 100);
}

inline std::string limit_text(const anchor_row& r) {
  switch (r.measure) {
    case criterion::relative:
      return fmt::format("+- {:g} %", r.limit * 100);
    case criterion::absolute:
      return fmt::format("+- {:g}", r.limit);
    case criterion::at_most:
      return fmt::format("<= {:g}", r.limit);
    case criterion::at_least:
      return fmt::format(">= {:g}", r.limit);
    case criterion::above:
      return fmt::format("> {:g}", r.limit);
    case criterion::printed:
      return "";
  }
  return "";
}

inline std::string verdict(const anchor_row& r) {
  if (r.measure == criterion::printed) return "printed";
  if (!holds(r)) return "FAILS";
  return r.kind == standing::prediction ? "holds" : fmt::format("holds ({})", to_text(r.kind));
}

inline std::string text_of(const std::vector<parameter_row>& parameters, const anchor_rows& anchors) {
  hp::report::table p({"parameter", "value", "mark", "source"});
  for (const parameter_row& r : parameters) p.row({r.name, r.value, r.from, r.source});
  hp::report::table a({"id", "anchor", "published", "ours", "error", "limit", "verdict"});
  for (const anchor_row& r : anchors)
    a.row({r.id, r.what, r.published ? with_unit(*r.published, r) : "-", with_unit(r.ours, r), error_text(r),
           limit_text(r), verdict(r)});
  return p.text() + "\n" + a.text();
}

/// Numbers with all their digits; `null` where there is none.
inline std::string json_number(std::optional<double> value) { return value ? fmt::format("{}", *value) : "null"; }

inline std::string json_of(const std::vector<parameter_row>& parameters, const anchor_rows& anchors) {
  constexpr const char* measures[] = {"relative", "absolute", "at_most", "at_least", "above", "printed"};
  const auto text = [](const std::string& value) { return hp::report::json_string(value); };
  std::string out = "{\n\"parameters\": [";
  const char* separator = "\n";
  for (const parameter_row& r : parameters) {
    out += fmt::format("{}{{\"name\": {}, \"value\": {}, \"mark\": {}, \"source\": {}}}", separator, text(r.name),
                       text(r.value), text(r.from), text(r.source));
    separator = ",\n";
  }
  out += "],\n\"anchors\": [";
  separator = "\n";
  for (const anchor_row& r : anchors) {
    out += fmt::format(
        "{}{{\"id\": {}, \"what\": {}, \"unit\": {}, \"published\": {}, \"ours\": {}, \"error\": {}, "
        "\"criterion\": \"{}\", \"limit\": {}, \"standing\": \"{}\", \"holds\": {}}}",
        separator, text(r.id), text(r.what), text(r.unit), json_number(r.published), json_number(r.ours),
        json_number(error_of(r)), measures[static_cast<int>(r.measure)], json_number(r.limit), to_text(r.kind),
        holds(r));
    separator = ",\n";
  }
  return out + fmt::format("],\n\"holds\": {}\n}}\n", all_hold(anchors));
}

}  // namespace hp_paper_tables
