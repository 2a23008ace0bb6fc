// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp plan without --fix: the search for the fastest plan that fits, within --effort or until Ctrl-C, with progress on the
// error stream; then the best plans are simulated. Where a complete search finds that none fits, those that are tight are
// searched in the same way: `verdict_of` with the reserve `without_waste` says fits of these, and of no other plan here.

#include <hyperparallel/planner/plan_search.hpp>

#include "answer.hpp"

namespace decoder_plans {

inline constexpr int search_rows = hp::plan_question{}.rows;

/// Why a search ended.
enum class ending : unsigned char { complete, effort, interrupted };

struct search_answer {
  answer best;  ///< of the winner; where there is none, the estimate is not ok
  hp::plan_question question{};
  hp::plan_answer found{};
  bool is_tight = false;  ///< none fits: the rows are tight
  ending end = ending::complete;
  double seconds = 0;
  int why = 0;  ///< the row that the first one is compared with; 0: none

  /// How much less than the best the bound is, as a share of the bound.
  double gap() const {
    if (!found.ok()) return 0;
    return static_cast<double>(found.best[0].time() - found.bound) / static_cast<double>(found.bound);
  }
};

/// Searches. Throws bad_input.
search_answer search_answer_of(choice c);

}  // namespace decoder_plans
