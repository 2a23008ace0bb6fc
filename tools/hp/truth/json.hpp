// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp truth found, as JSON: the figures of its text. A figure of which there is no value is null.

#include <string>
#include <vector>

#include "parts.hpp"
#include "text.hpp"

namespace truth {

namespace detail {

inline json number_if(bool there, double n) { return there ? json(n) : json(); }

inline json json_of(const group_summary& g) {
  return {{"groups", g.groups},
          {"groups_of_three", g.of_three},
          {"kendall_tau", number_if(g.of_three > 0, g.tau)},
          {"pairs", g.pairs.all},
          {"pairs_right_share", number_if(g.pairs.all > 0, g.pairs.share())},
          {"mean_regret", number_if(g.groups > 0, g.regret)}};
}

inline void put_errors(json& out, const error_summary& e) {
  const bool some = e.count > 0;
  out["mean_error"] = number_if(some, e.mean);
  out["median_error"] = number_if(some, e.median);
  out["p90_error"] = number_if(some, e.p90);
  out["largest_error"] = number_if(some, e.largest);
  out["signed_error"] = number_if(some, e.signed_mean);
}

inline json json_of(const score& s) {
  json out = {{"rows", s.rows},
              {"rows_used", s.used},
              {"rows_used_share", s.used_share()},
              {"runs", s.runs},
              {"runs_predicted", s.predicted_runs},
              {"runs_fit", s.fit_runs}};
  put_errors(out, s.errors);
  out["null_error"] = number_if(s.null_runs > 0, s.null_error);
  out["null_error_of_all_runs"] = number_if(s.all_null.count > 0, s.all_null.mean);
  out["skill"] = number_if(s.null_runs > 0, s.skill);
  out.update(json_of(s.groups));
  out["bounds_above_exact_rows"] = s.bounds_above;
  out["mean_bound_share"] = number_if(s.predicted_runs > 0, s.bound_share);
  json reasons = json::object();
  for (const auto& [why, count] : s.not_used) reasons[why] = count;
  out["not_predicted"] = std::move(reasons);
  return out;
}

inline json json_of(const std::vector<scored_part>& parts) {
  json out = json::object();
  for (const scored_part& p : parts) out[p.name] = json_of(p.of);
  return out;
}

inline json memory_json(const truth_book& book) {
  json out = json::object();
  for (const memory_part& p : measured_parts(book)) {
    const error_summary e = summary_of(p.errors);
    json& one = out[p.name] = {{"rows", e.count}};
    put_errors(one, e);
    one["too_low"] = p.too_low();
  }
  return out;
}

inline json reinforcement_json(const truth_book& book) {
  json out = json::object();
  for (const rl_score& s : rl_scores(book)) {
    json& one = out[rl_figure_keys[static_cast<int>(s.figure)]] = {{"rows", s.rows}, {"scored", s.errors.count}};
    put_errors(one, s.errors);
    one["null_error"] = number_if(s.null_errors.count > 0, s.null_errors.mean);
    one["faster_right"] = s.faster_right;
    one["faster_of"] = s.faster_of;
    one["pairs"] = s.pairs.all;
    one["pairs_right_share"] = number_if(s.pairs.all > 0, s.pairs.share());
    one["bounds"] = s.bounds;
    one["bounds_above"] = s.bounds_above;
  }
  return out;
}

inline json json_of(const judged_row& r) {
  json out = {{"id", r.row.id}, {"class", name_of(r.cls.cls)}, {"split", r.row.split}, {"used", r.is_used()}};
  if (!r.is_used()) out["why_not"] = r.said.why_not;
  if (r.measured > 0) out["measured"] = r.measured;
  if (!r.is_used() || r.predicted == 0) return out;
  out["predicted"] = r.predicted;
  out["error"] = r.error();
  out["fix"] = r.said.fix;
  out["open"] = r.said.open;
  if (r.run >= 0) out["bound"] = r.said.bound_seconds;
  if (r.cls.cls == row_class::memory || r.run >= 0) out["verdict"] = name_of(r.said.verdict);
  return out;
}

inline json json_of(const measured_row& r) {
  json out = {{"id", r.id}, {"class", r.kind}, {"used", r.said.ok()}};
  if (!r.said.ok()) {
    out["why_not"] = r.said.why_not;
    return out;
  }
  out["program"] = r.program;
  if (!r.said.fix.empty()) {
    out["fix"] = r.said.fix;
    out["verdict"] = name_of(r.said.verdict);
  }
  for (const measured_amount& a : r.amounts)
    out[a.name] = {
        {"measured", a.measured}, {"predicted", a.predicted}, {"error", hp::relative_error(a.predicted, a.measured)}};
  return out;
}

inline json bounds_json(const truth_book& book) {
  json out = json::array();
  for (const timed_run& r : book.runs)
    if (bound_is_above(r))
      out.push_back(
          {{"id", book.of(r).id}, {"bound_seconds", r.said.bound_seconds}, {"measured_seconds", r.seconds.value}});
  return out;
}

}  // namespace detail

inline json json_of(const truth_book& book, bool with_rows) {
  const row_counts n = counts_of(book);
  const std::vector<scored_part> families = parts_by_family(book);
  json out = {{"files", book.files}};
  out.update(detail::json_of(score_of(book, [](const published_row&) { return true; })));
  out["rows"] = n.rows;
  out["rows_used"] = out["predicted"] = n.predicted;
  out["skipped"] = n.skipped();
  out["rows_used_share"] = n.used_share();
  out["mean_error_over_families"] = mean_over_families(families);
  out["throughput_groups"] = detail::json_of(score_of(book, [](const published_row&) { return true; }).throughput);
  json reasons = json::object();
  for (const auto& [why, count] : detail::reasons_of(book)) reasons[why] = count;
  out["not_predicted"] = std::move(reasons);
  out["by_family"] = detail::json_of(families);
  out["by_device"] = detail::json_of(parts_by_device(book));
  out["by_precision"] = detail::json_of(parts_by_precision(book));
  out["by_axis"] = detail::json_of(parts_by_axis(book));
  out["memory"] = detail::memory_json(book);
  out["reinforcement"] = detail::reinforcement_json(book);
  out["bounds_above"] = detail::bounds_json(book);
  json differing = json::array();
  for (const judged_row& r : book.rows)
    if (r.differs) differing.push_back({{"id", r.row.id}, {"why", r.said.why_not}});
  out["differing"] = std::move(differing);
  out["malformed"] = book.malformed;
  if (!with_rows) return out;
  json& listed = out["row_list"] = json::array();
  for (const judged_row& r : book.rows) listed.push_back(detail::json_of(r));
  for (const measured_row& r : book.measured) listed.push_back(detail::json_of(r));
  return out;
}

}  // namespace truth
