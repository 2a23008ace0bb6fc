// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters and anchors as text and as JSON.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <hyperparallel/report/table.hpp>

#include "../json_output.hpp"
#include "anchor.hpp"
#include "parameters.hpp"

namespace tables {

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

inline hp_tool::json json_of(const std::vector<parameter_row>& parameters, const anchor_rows& anchors) {
  constexpr const char* measures[] = {"relative", "absolute", "at_most", "at_least", "above", "printed"};
  using hp_tool::json;
  const auto number_or_null = [](std::optional<double> value) { return value ? json(*value) : json(); };
  json p = json::array(), a = json::array();
  for (const parameter_row& r : parameters)
    p.push_back({{"name", r.name}, {"value", r.value}, {"mark", r.from}, {"source", r.source}});
  for (const anchor_row& r : anchors)
    a.push_back({{"id", r.id},
                 {"what", r.what},
                 {"unit", r.unit},
                 {"published", number_or_null(r.published)},
                 {"ours", r.ours},
                 {"error", number_or_null(error_of(r))},
                 {"criterion", measures[static_cast<int>(r.measure)]},
                 {"limit", r.limit},
                 {"standing", to_text(r.kind)},
                 {"holds", holds(r)}});
  return {{"parameters", std::move(p)}, {"anchors", std::move(a)}, {"holds", all_hold(anchors)}};
}

}  // namespace tables
