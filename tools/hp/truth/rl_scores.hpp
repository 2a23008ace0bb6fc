// SPDX-License-Identifier: Apache-2.0
#pragma once
// What predictions of training by reinforcement come to, by what was compared.
//
// Errors are over rows that are not `fit`, as one row is one run; the null model says that the other way, all in turn on the same
// devices, takes as long. `faster` of those of which the other way is known: whether the prediction says rightly which is the faster one.
// Pairs are of asynchronous runs of one model on as many devices.

#include <map>
#include <vector>

#include "scores.hpp"

namespace truth {

struct rl_score {
  rl_figure figure = rl_figure::step;
  int rows = 0;  ///< compared, or held by a bound alone
  error_summary errors{}, null_errors{};
  int faster_right = 0, faster_of = 0;
  hp::ordered_pairs pairs{};
  int bounds = 0, bounds_above = 0;
};

inline bool bound_is_above(const truth_book& book, const rl_comparison& c) {
  return c.bound > book.rows[static_cast<std::size_t>(c.row)].row.value * bound_tolerance;
}

inline rl_score rl_score_of(const truth_book& book, rl_figure figure) {
  rl_score s;
  s.figure = figure;
  std::vector<double> errors, null_errors;
  std::map<int, std::vector<const rl_comparison*>> alternatives;
  for (const rl_comparison& c : book.reinforcement) {
    if (c.figure != figure) continue;
    ++s.rows;
    s.bounds += c.bound > 0 ? 1 : 0;
    s.bounds_above += bound_is_above(book, c) ? 1 : 0;
    if (c.predicted <= 0 || book.rows[static_cast<std::size_t>(c.row)].row.is_fit()) continue;
    errors.push_back(hp::relative_error(c.predicted, c.measured));
    if (c.group >= 0) alternatives[c.group].push_back(&c);
    if (c.synchronous <= 0) continue;
    null_errors.push_back(hp::relative_error(c.synchronous, c.measured));
    ++s.faster_of;
    s.faster_right += (c.predicted < c.synchronous) == (c.measured < c.synchronous) ? 1 : 0;
  }
  for (const auto& [group, of_group] : alternatives) {
    std::vector<double> predicted;
    std::vector<hp::measured_interval> measured;
    for (const rl_comparison* c : of_group) {
      predicted.push_back(c->predicted);
      measured.push_back({c->measured, c->measured, c->measured});
    }
    s.pairs += hp::pairs_of(predicted, measured, 0.05);
  }
  s.errors = summary_of(errors);
  s.null_errors = summary_of(null_errors);
  return s;
}

/// Of all that the files have rows of.
inline std::vector<rl_score> rl_scores(const truth_book& book) {
  std::vector<rl_score> out;
  for (int f = 0; f < rl_figure_count; ++f)
    if (rl_score s = rl_score_of(book, static_cast<rl_figure>(f)); s.rows > 0) out.push_back(s);
  return out;
}

}  // namespace truth
