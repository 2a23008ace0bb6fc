// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp truth found, as text: tables by family, device, precision and axis, order within groups, bounds, memory, what is skipped.

#include <string>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/report/table.hpp>

#include "parts.hpp"
#include "rl_scores.hpp"

namespace truth {

namespace report = hyperparallel::report;

inline std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }
inline std::string signed_text(double share) { return fmt::format("{:+.1f} %", 100 * share); }

namespace detail {

inline std::vector<std::string> error_cells(const std::string& name, const score& s) {
  std::vector<std::string> cells = {name, std::to_string(s.rows), std::to_string(s.used), std::to_string(s.runs),
                                    std::to_string(s.predicted_runs)};
  if (s.errors.count == 0) return cells;
  for (const double share : {s.errors.mean, s.errors.median, s.errors.p90, s.errors.largest})
    cells.push_back(percent_text(share));
  cells.push_back(signed_text(s.errors.signed_mean));
  if (s.null_runs == 0) return cells;
  cells.push_back(percent_text(s.null_error));
  cells.push_back(fmt::format("{:.2f}", s.skill));
  return cells;
}

inline std::string error_table(const std::string& what, const std::vector<scored_part>& parts) {
  report::table t(
      {what, "rows", "used", "runs", "predicted", "mean", "median", "p90", "largest", "signed", "null", "skill"});
  for (const scored_part& p : parts)
    if (p.of.rows > 0) t.row(error_cells(p.name, p.of));
  return t.text() + "\n";
}

inline void add_order(report::table& t, const std::string& name, const group_summary& g) {
  if (g.groups == 0) return;
  t.row({name, std::to_string(g.groups), std::to_string(g.of_three),
         g.of_three == 0 ? "" : fmt::format("{:.2f}", g.tau), std::to_string(g.pairs.all),
         g.pairs.all == 0 ? "" : percent_text(g.pairs.share()), fmt::format("{:.3f}", g.regret)});
}

inline std::string order_table(const score& all, const std::vector<scored_part>& families) {
  report::table t({"order within groups", "groups", "of three", "tau-b", "pairs", "right", "regret"});
  for (const scored_part& p : families) add_order(t, p.name, p.of.groups);
  add_order(t, "all", all.groups);
  add_order(t, "all, by tokens a second at any batch", all.throughput);
  return t.rows() == 0 ? "" : t.text() + "\n";
}

inline std::string class_table(const truth_book& book) {
  constexpr const char* meaning[row_class_count] = {"exact", "time of a step", "peak of memory", "ratio or order", ""};
  int rows[row_class_count] = {}, used[row_class_count] = {};
  for (const judged_row& r : book.rows) {
    ++rows[static_cast<int>(r.cls.cls)];
    used[static_cast<int>(r.cls.cls)] += r.is_used() ? 1 : 0;
  }
  report::table t({"class", "of published rows", "rows", "used"});
  for (int c = 0; c < row_class_count; ++c)
    if (rows[c] > 0) t.row({row_class_names[c], meaning[c], std::to_string(rows[c]), std::to_string(used[c])});
  return t.rows() == 0 ? "" : t.text() + "\n";
}

inline std::string memory_table(const truth_book& book) {
  report::table t({"memory, and time of computing", "rows", "mean", "median", "p90", "largest", "signed", "too low"});
  for (const memory_part& p : measured_parts(book)) {
    const error_summary e = summary_of(p.errors);
    t.row({p.name, std::to_string(e.count), percent_text(e.mean), percent_text(e.median), percent_text(e.p90),
           percent_text(e.largest), signed_text(e.signed_mean), std::to_string(p.too_low())});
  }
  return t.rows() == 0 ? "" : t.text() + "\n";
}

inline std::string reinforcement_table(const truth_book& book) {
  report::table t({"training by reinforcement", "rows", "scored", "mean", "median", "largest", "signed", "null",
                   "faster", "pairs", "bounds above"});
  const auto of = [](int right, int all) { return all == 0 ? std::string() : fmt::format("{} of {}", right, all); };
  for (const rl_score& s : rl_scores(book)) {
    const bool some = s.errors.count > 0;
    t.row({rl_figure_names[static_cast<int>(s.figure)], std::to_string(s.rows), std::to_string(s.errors.count),
           some ? percent_text(s.errors.mean) : "", some ? percent_text(s.errors.median) : "",
           some ? percent_text(s.errors.largest) : "", some ? signed_text(s.errors.signed_mean) : "",
           s.null_errors.count > 0 ? percent_text(s.null_errors.mean) : "", of(s.faster_right, s.faster_of),
           of(s.pairs.right, s.pairs.all), of(s.bounds_above, s.bounds)});
  }
  return t.rows() == 0 ? "" : t.text() + "\n";
}

/// Reasons of all rows that are not used.
inline std::map<std::string, int> reasons_of(const truth_book& book) {
  std::map<std::string, int> reasons;
  for (const judged_row& r : book.rows)
    if (!r.is_used()) ++reasons[std::string(name_of(r.cls.cls)) + ": " + r.said.why_not];
  for (const measured_row& r : book.measured)
    if (!r.said.ok()) ++reasons["measured: " + r.said.why_not];
  if (!book.malformed.empty()) reasons["malformed"] = static_cast<int>(book.malformed.size());
  return reasons;
}

inline std::string reason_table(const truth_book& book) {
  const std::map<std::string, int> reasons = reasons_of(book);
  std::vector<std::pair<std::string, int>> sorted(reasons.begin(), reasons.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  report::table t({"rows", "are not predicted"});
  for (const auto& [why, count] : sorted) t.row({std::to_string(count), why});
  return t.rows() == 0 ? "" : t.text() + "\n";
}

inline std::string failure_lines(const truth_book& book) {
  std::string out;
  for (const judged_row& r : book.rows)
    if (r.differs) out += "differs: " + r.row.id + ": " + r.said.why_not + "\n";
  for (const timed_run& r : book.runs)
    if (bound_is_above(r))
      out += fmt::format("bound above the measurement: {}: {:.4g} s, measured {:.4g} s, {:.3f} of it\n", book.of(r).id,
                         r.said.bound_seconds, r.seconds.value, r.said.bound_seconds / r.seconds.value);
  for (const rl_comparison& c : book.reinforcement)
    if (bound_is_above(book, c)) {
      const published_row& r = book.rows[static_cast<std::size_t>(c.row)].row;
      out += fmt::format("bound above the measurement: {}: {:.4g} s, measured {:.4g} s\n", r.id, c.bound, r.value);
    }
  return out.empty() ? out : out + "\n";
}

inline std::string row_lines(const truth_book& book) {
  report::table t({"row", "class", "split", "predicted", "measured", "error", "bound", "plan, or why there is none"});
  const auto amount = [](double v) { return v > 0 ? fmt::format("{:.5g}", v) : std::string(); };
  for (const judged_row& r : book.rows) {
    const bool told = r.is_used() && r.predicted > 0 && r.measured > 0;
    const double bound = r.run >= 0 && r.is_used() ? r.said.bound_seconds : 0.0;
    t.row({r.row.id, name_of(r.cls.cls), r.row.split, told ? amount(r.predicted) : "", amount(r.measured),
           told ? signed_text(r.error()) : "", amount(bound), r.is_used() ? r.said.fix : r.said.why_not});
  }
  for (const measured_row& r : book.measured) {
    if (r.amounts.empty()) t.row({r.id, r.kind, "", "", "", "", "", r.said.why_not});
    for (const measured_amount& a : r.amounts)
      t.row({r.id, a.name, "", amount(a.predicted), amount(a.measured),
             signed_text(hp::relative_error(a.predicted, a.measured)), "", r.said.fix});
  }
  return t.rows() == 0 ? "" : t.text() + "\n";
}

}  // namespace detail

inline std::string to_text(const truth_book& book, bool with_rows) {
  const score all = score_of(book, [](const published_row&) { return true; });
  const std::vector<scored_part> families = parts_by_family(book);
  std::string out;
  if (with_rows) out += detail::row_lines(book);
  if (!book.rows.empty()) {
    out += detail::class_table(book);
    std::vector<scored_part> with_all = families;
    with_all.push_back({"all", all});
    out += detail::error_table("family", with_all);
    out += detail::error_table("device", parts_by_device(book));
    out += detail::error_table("precision", parts_by_precision(book));
    out += detail::error_table("axis", parts_by_axis(book));
    out += detail::order_table(all, families);
  }
  out += detail::memory_table(book) + detail::reinforcement_table(book) + detail::reason_table(book) +
         detail::failure_lines(book);
  const row_counts n = counts_of(book);
  out += "rows used " + percent_text(n.used_share());
  if (all.predicted_runs > 0)
    out +=
        fmt::format(", mean error {}, over families {}, skill {:.2f}, bounds above {} of {} runs, bound {} of the time",
                    percent_text(all.errors.mean), percent_text(mean_over_families(families)), all.skill,
                    all.bounds_above, all.predicted_runs, percent_text(all.bound_share));
  if (all.groups.groups > 0)
    out += fmt::format(", pairs right {}, regret {:.3f}", percent_text(all.groups.pairs.share()), all.groups.regret);
  out += "\n";
  return out + fmt::format("{} predicted, {} skipped\n", n.predicted, n.skipped());
}

}  // namespace truth
