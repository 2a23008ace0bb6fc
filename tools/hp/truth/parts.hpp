// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a book that are told apart: all of it, families, devices, precisions, and the axes dense, experts and transferred.

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ratios.hpp"
#include "scores.hpp"

namespace truth {

using row_filter = std::function<bool(const published_row&)>;

struct scored_part {
  std::string name{};
  score of{};
};

/// The parts by what `name_of_row` says of rows, in the order of the names.
template <class NameOfRow>
std::vector<scored_part> parts_by(const truth_book& book, const NameOfRow& name_of_row) {
  std::set<std::string> names;
  for (const judged_row& r : book.rows) names.insert(name_of_row(r.row));
  std::vector<scored_part> parts;
  for (const std::string& name : names)
    parts.push_back({name, score_of(book, [&](const published_row& r) { return name_of_row(r) == name; })});
  return parts;
}

inline std::vector<scored_part> parts_by_family(const truth_book& book) {
  return parts_by(book, [](const published_row& r) { return r.family; });
}
inline std::vector<scored_part> parts_by_device(const truth_book& book) {
  return parts_by(book, [](const published_row& r) { return r.device.empty() ? std::string("not told") : r.device; });
}
inline std::vector<scored_part> parts_by_precision(const truth_book& book) {
  return parts_by(book, [](const published_row& r) { return std::string(name_of(r.run.format)); });
}

/// Dense models and models with experts by format, and runs on a device and in a precision of which there is no fit run.
inline std::vector<scored_part> parts_by_axis(const truth_book& book) {
  std::set<std::pair<std::string, precision>> fitted;
  for (const timed_run& r : book.runs)
    if (r.is_fit) fitted.insert({book.of(r).device, book.of(r).run.format});
  const auto is_half = [](const published_row& r) {
    return r.run.format == precision::bf16 || r.run.format == precision::fp16;
  };
  const auto is_moe = [](const published_row& r) { return r.model.experts > 0; };
  const std::pair<const char*, row_filter> axes[] = {
      {"dense bf16", [&](const published_row& r) { return !is_moe(r) && is_half(r); }},
      {"dense fp8", [&](const published_row& r) { return !is_moe(r) && r.run.format == precision::fp8; }},
      {"dense fp4", [&](const published_row& r) { return !is_moe(r) && r.run.format == precision::fp4; }},
      {"experts bf16", [&](const published_row& r) { return is_moe(r) && is_half(r); }},
      {"experts fp8", [&](const published_row& r) { return is_moe(r) && r.run.format == precision::fp8; }},
      {"experts fp4", [&](const published_row& r) { return is_moe(r) && r.run.format == precision::fp4; }},
      {"transferred", [&](const published_row& r) { return !fitted.contains({r.device, r.run.format}); }}};
  std::vector<scored_part> parts;
  for (const auto& [name, keep] : axes) {
    // Of rows of time alone: an axis is what predictions of time are compared along.
    const auto of_time = [&, &kept = keep](const published_row& r) { return time_rank_of(r.quantity) >= 0 && kept(r); };
    parts.push_back({name, score_of(book, of_time)});
  }
  return parts;
}

/// Rows as they are counted in the end: predicted and skipped are all rows of the files.
struct row_counts {
  int rows = 0, predicted = 0, operators = 0;
  int skipped() const { return rows - predicted; }
  /// Of the rows that say something of a run.
  double used_share() const {
    return rows == operators ? 0.0 : static_cast<double>(predicted) / static_cast<double>(rows - operators);
  }
};

inline row_counts counts_of(const truth_book& book) {
  row_counts n;
  n.rows = static_cast<int>(book.rows.size() + book.measured.size() + book.malformed.size());
  for (const judged_row& r : book.rows) n.predicted += r.is_used() ? 1 : 0;
  for (const measured_row& r : book.measured) {
    n.predicted += r.said.ok() ? 1 : 0;
    n.operators += r.is_operator ? 1 : 0;
  }
  return n;
}

/// The mean over families of their mean errors: one large family does not hide the others.
inline double mean_over_families(const std::vector<scored_part>& families) {
  std::vector<double> means;
  for (const scored_part& p : families)
    if (p.of.errors.count > 0) means.push_back(p.of.errors.mean);
  return hp::mean_of(means);
}

/// Errors of memory, by what was measured.
struct memory_part {
  std::string name{};
  std::vector<double> errors{};
  /// More than 5 percent too low: runs that would have died.
  int too_low() const {
    int n = 0;
    for (const double e : errors) n += e < -0.05 ? 1 : 0;
    return n;
  }
};

inline std::vector<memory_part> measured_parts(const truth_book& book) {
  std::vector<memory_part> parts;
  if (std::vector<double> errors = memory_errors(book); !errors.empty())
    parts.push_back({"published peaks, with the reserve", std::move(errors)});
  for (const bool of_memory : {false, true})
    for (const bool over_1f1b : {true, false})
      if (std::vector<double> errors = ratio_errors(book, of_memory, over_1f1b); !errors.empty())
        parts.push_back(
            {std::string(of_memory ? "peaks" : "times") + " over those of " + (over_1f1b ? "1F1B" : "ZB-H1"),
             std::move(errors)});
  std::set<std::string> programs;
  for (const measured_row& r : book.measured)
    if (!r.amounts.empty()) programs.insert(r.program);
  for (const std::string& program : programs) {
    for (const char* amount : {"peak_bytes", "after_forward_bytes", "reserved_bytes", "compute_seconds", "seconds"})
      if (std::vector<double> errors = measured_errors(book, amount, program); !errors.empty())
        parts.push_back({program + " " + amount, std::move(errors)});
    // Shorter steps are those of the host, which launches.
    if (std::vector<double> errors = measured_errors(book, "compute_seconds", program, 0.2); !errors.empty())
      parts.push_back({program + " compute_seconds from 0.2 s on", std::move(errors)});
  }
  return parts;
}

}  // namespace truth
