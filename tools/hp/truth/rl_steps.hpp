// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of a controller that are printed by phase: asynchronous ones from the phases of synchronous runs, by planner/rl_step.hpp.
//
// A phase is fitted over the synchronous `fit` runs of the model and settings; what they print beyond phases is the rest. A run that
// names no split of its devices has that of the other runs on as many, where they have one, else the one that takes least; of a
// staleness that it does not name the middle of those that runs of the model have is taken, and `open` has the range.
// Law: no value of an asynchronous run enters.

#include <string>

#include "rl_rows.hpp"

namespace truth {

/// A step of a controller, or a phase of one.
inline bool is_of_a_step(const std::string& quantity) {
  return quantity.starts_with("rl_") && quantity.ends_with("_s");
}

/// Judges the rows of class D of such quantities. O(rows²).
void judge_steps(truth_book& book);

}  // namespace truth
