// SPDX-License-Identifier: Apache-2.0
#pragma once
// All rows of the files that are named, each with its class and what was predicted of it; and the runs that rows of time are of.
//
// One run has one vote: rows of one family with the same model, settings and device are one run, and the first of `time_quantities`
// that it has is its time; where several rows print that, as of several releases, their median.
// Law: each row is in `rows` or in `measured` or is malformed; each row of class B is of one run; every row is predicted or
// skipped.

#include <optional>
#include <string>
#include <vector>

#include <hyperparallel/planner/error_statistics.hpp>

#include "measured_row.hpp"
#include "rl_rows.hpp"
#include "row_class.hpp"

namespace truth {

struct judged_row {
  published_row row{};
  classified cls{};
  prediction said{};                   ///< of classes B and C; `why_not` of every row that is not used
  int run = -1;                        ///< of class B
  bool differs = false;                ///< class A: it is not what was published
  double measured = 0, predicted = 0;  ///< seconds or bytes; 0 where there are none
  bool is_used() const { return said.ok(); }
  double error() const { return hp::relative_error(predicted, measured); }
};

struct timed_run {
  std::vector<int> rows{};
  bool is_fit = false;
  hp::measured_interval seconds{};
  prediction said{};
  double operations = 0;    ///< of a step, by the convention; 0: its model is not known
  double peak = 0;          ///< flop/s of a device; 0: not known
  double null_seconds = 0;  ///< what a constant share of the peak says; 0: nothing
  double error() const { return hp::relative_error(said.step_seconds, seconds.value); }
  double null_error() const { return hp::relative_error(null_seconds, seconds.value); }
};

struct truth_book {
  std::vector<std::string> files{};
  std::vector<judged_row> rows{};
  std::vector<measured_row> measured{};
  std::vector<timed_run> runs{};
  std::vector<rl_comparison> reinforcement{};
  std::vector<std::string> malformed{};  ///< a line each, with file and line
  const published_row& of(const timed_run& r) const { return rows[static_cast<std::size_t>(r.rows[0])].row; }
};

/// Reads and judges the files. Throws bad_input where a file cannot be read or a line is no JSON object.
truth_book read_book(const std::vector<std::string>& files);

/// How far a bound may be above a measurement: what runs vary by.
inline constexpr double bound_tolerance = 1.036;

inline bool bound_is_above(const timed_run& r) {
  return r.said.ok() && r.said.bound_seconds > r.seconds.value * bound_tolerance;
}

}  // namespace truth
