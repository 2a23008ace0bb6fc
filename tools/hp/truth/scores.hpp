// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the predictions of a part of the rows come to: shares, errors, skill, order within groups, bounds.
//
// Means are over runs of `develop` that are predicted; `fit` runs count as used, and in groups. A group is of runs with equal
// family, model, devices, device, precision, task, sequence and batch, which differ in their plans; a throughput group of any batch, by tokens a second.
// Runs of a group with one plan, as of two recipes of a format, count as one that took their median.
// Laws: skill is 1 - error / error of the null model on the same runs, of those that both say something of; rows used and rows not
// used are all rows of the part.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "book.hpp"

namespace truth {

struct error_summary {
  int count = 0;
  double mean = 0, median = 0, p90 = 0, largest = 0, signed_mean = 0;
};

inline error_summary summary_of(const std::vector<double>& errors) {
  std::vector<double> sizes;
  for (const double e : errors) sizes.push_back(std::abs(e));
  return {static_cast<int>(errors.size()), hp::mean_of(sizes),          hp::median_of(sizes),
          hp::quantile_of(sizes, 0.9),     hp::quantile_of(sizes, 1.0), hp::mean_of(errors)};
}

/// How runs of a group are ordered.
struct group_summary {
  int groups = 0, of_three = 0;  ///< of two runs or more, and of three
  double tau = 0;                ///< mean over those of three
  hp::ordered_pairs pairs{};
  double regret = 0;  ///< mean over all; 0 without a group
};

struct score {
  int rows = 0, used = 0;
  std::map<std::string, int> not_used{};  ///< rows by reason
  int runs = 0, predicted_runs = 0, fit_runs = 0;
  error_summary errors{};
  int null_runs = 0;
  double null_error = 0, skill = 0;  ///< skill counts where null_runs > 0
  error_summary all_null{};          ///< of the null model on every run of `develop`, predicted or not
  group_summary groups{}, throughput{};
  int bounds_above = 0;
  double bound_share = 0;  ///< mean of bound / measured
  double used_share() const { return rows == 0 ? 0.0 : static_cast<double>(used) / rows; }
};

namespace detail {

inline std::string group_key(const published_row& r, bool of_any_batch) {
  return r.family + '\n' + r.model.name + '\n' + std::to_string(r.model.layers) + '\n' + std::to_string(r.run.devices) +
         '\n' + r.device + '\n' + name_of(r.run.format) + '\n' + text_in(r.config(), "task") + '\n' +
         std::to_string(r.run.sequence) + '\n' + (of_any_batch ? "" : std::to_string(r.run.batch.sequences));
}

/// A plan of a group, and what its runs took.
struct planned_time {
  double predicted = 0;
  std::vector<double> least{}, value{}, most{};
  hp::measured_interval measured() const { return {hp::median_of(least), hp::median_of(value), hp::median_of(most)}; }
};

template <class Keep>
group_summary groups_of(const truth_book& book, const Keep& keep, bool of_any_batch) {
  std::map<std::string, std::map<std::string, planned_time>> by_key;
  for (const timed_run& r : book.runs) {
    if (!r.said.ok() || r.seconds.value <= 0 || !keep(book.of(r))) continue;
    const std::string sequences = std::to_string(book.of(r).run.batch.sequences);
    const double unit = of_any_batch ? 1 / static_cast<double>(book.of(r).run.batch.sequences) : 1.0;
    planned_time& t = by_key[group_key(book.of(r), of_any_batch)][r.said.fix + '\n' + sequences];
    t.predicted = r.said.step_seconds * unit;
    t.least.push_back(r.seconds.least * unit);
    t.value.push_back(r.seconds.value * unit);
    t.most.push_back(r.seconds.most * unit);
  }
  group_summary out;
  std::vector<double> taus, regrets;
  for (const auto& [key, plans] : by_key) {
    if (plans.size() < 2) continue;
    std::vector<double> predicted, measured;
    std::vector<hp::measured_interval> intervals;
    for (const auto& [plan, time] : plans) {
      predicted.push_back(time.predicted);
      intervals.push_back(time.measured());
      measured.push_back(intervals.back().value);
    }
    ++out.groups;
    out.pairs += hp::pairs_of(predicted, intervals, 0.05);
    regrets.push_back(hp::regret_of(predicted, measured));
    if (plans.size() >= 3) taus.push_back(hp::rank_agreement_of(predicted, measured).tau_b());
  }
  out.of_three = static_cast<int>(taus.size());
  out.tau = hp::mean_of(taus);
  out.regret = hp::mean_of(regrets);
  return out;
}

}  // namespace detail

/// Of the rows that `keep(published_row)` keeps. O(runs² log runs).
template <class Keep>
score score_of(const truth_book& book, const Keep& keep) {
  score s;
  for (const judged_row& r : book.rows) {
    if (!keep(r.row)) continue;
    ++s.rows;
    if (r.is_used())
      ++s.used;
    else
      ++s.not_used[r.said.why_not];
  }
  std::vector<double> errors, with_null, null_errors, all_null, bounds;
  for (const timed_run& r : book.runs) {
    if (!keep(book.of(r))) continue;
    ++s.runs;
    s.fit_runs += r.is_fit ? 1 : 0;
    if (!r.is_fit && r.null_seconds > 0 && r.seconds.value > 0) all_null.push_back(r.null_error());
    if (!r.said.ok() || r.seconds.value <= 0) continue;
    ++s.predicted_runs;
    s.bounds_above += bound_is_above(r) ? 1 : 0;
    bounds.push_back(r.said.bound_seconds / r.seconds.value);
    if (r.is_fit) continue;
    errors.push_back(r.error());
    if (r.null_seconds <= 0) continue;
    with_null.push_back(std::abs(r.error()));
    null_errors.push_back(std::abs(r.null_error()));
  }
  s.errors = summary_of(errors);
  s.all_null = summary_of(all_null);
  s.bound_share = hp::mean_of(bounds);
  s.null_runs = static_cast<int>(null_errors.size());
  s.null_error = hp::mean_of(null_errors);
  if (s.null_error > 0) s.skill = 1 - hp::mean_of(with_null) / s.null_error;
  s.groups = detail::groups_of(book, keep, false);
  s.throughput = detail::groups_of(book, keep, true);
  return s;
}

/// Errors of peaks of memory, of those that are published, one vote a run.
inline std::vector<double> memory_errors(const truth_book& book) {
  std::vector<double> errors;
  for (const judged_row& r : book.rows)
    if (r.cls.cls == row_class::memory && r.is_used() && !r.row.is_fit()) errors.push_back(r.error());
  return errors;
}

/// Errors of an amount of the steps that were measured, of a program; of those that are at least `least`.
inline std::vector<double> measured_errors(const truth_book& book, const std::string& amount,
                                           const std::string& program, double least = 0) {
  std::vector<double> errors;
  for (const measured_row& r : book.measured)
    for (const measured_amount& a : r.amounts)
      if (a.name == amount && r.program == program && a.measured >= least)
        errors.push_back(hp::relative_error(a.predicted, a.measured));
  return errors;
}

}  // namespace truth
