// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the planner says of the plan of a row, as `hp plan --fix` prints it: by the clock where the plan is simulated, else
// estimated.
//
// Law: no measured value enters.

#include <string>
#include <vector>

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/known_hardware.hpp>

#include "architectures.hpp"

namespace truth {

inline double seconds_of(hp::extent_t picoseconds) { return static_cast<double>(picoseconds) / 1e12; }

struct prediction {
  std::string why_not{};  ///< empty: it is predicted
  std::string fix{};      ///< the plan, as --fix reads it
  std::vector<std::string> open{};
  double step_seconds = 0, bound_seconds = 0, compute_seconds = 0;
  hp::extent_t exposed = 0;  ///< picoseconds of moves that nothing hides
  double skew_seconds = 0;   ///< what a step saves that need not begin on all ranks at once
  double peak_bytes = 0, needed_bytes = 0, after_forward_bytes = 0, reserved_bytes = 0;
  hp::fit_verdict verdict = hp::fit_verdict::does_not_fit;
  bool ok() const { return why_not.empty(); }
};

/// Throws not_predicted. `for_time`: moves run ahead as if memory did not bind. Precondition: check_plan says ok.
prediction predict(const hp::decoder& d, const hp::decoder_plan& p, const hp::known_hardware& h,
                   const hp::stack_rules& stack = hp::known_stacks[0], bool for_time = false);

/// Of a row of class B or C. A row that is not predicted says why. `share`, where it is stated, is that of the peak which products reach, in place of the
/// preset's.
prediction predict(const published_row& r, hp::efficiency share = {});

}  // namespace truth
