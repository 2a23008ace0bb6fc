// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search of plans tells: how far it is, and the rows of its answer.

#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/price/simulated_rows.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct plan_progress {
  extent_t plans = 0;   ///< that may fit
  extent_t priced = 0;  ///< of these
  extent_t best = not_counted;
};

struct plan_answer {
  growing_array<plan_estimate> best;  ///< that fit, the fastest first: different degrees, or less memory
  plan_estimate fastest_unfit{};      ///< of those priced that do not fit; without a time where there is none
  plan_estimate least_unfit{};  ///< of these the one that needs least; where none was priced, that of the least bound
  extent_t legal = 0;           ///< plans
  extent_t too_large = 0;       ///< of these, by the bound on memory, or on a walked stack by what it takes
  extent_t priced = 0, priced_unfit = 0;
  simulation_counts simulations{};  ///< of the best; those that do not fit are no rows
  extent_t left = 0;                ///< neither priced nor known to be slower or too large
  extent_t uncounted =
      0;  ///< whose counts leave 64 bits, and whose bounds exclude nothing: while there are some, no search is complete
  extent_t unsimulated = 0;  ///< priced, and by their bounds faster than the best if they fit
  extent_t bound = 0;        ///< no legal plan that fits takes less; `not_counted` where none fits
  bool complete = false;
  bool listed = true;  ///< false: ended while the legal plans were listed, and no bound is known
  constexpr bool ok() const { return !best.empty(); }
  /// Legal plans that were not priced because their bound is no less than the best time.
  constexpr extent_t slower() const { return legal - too_large - priced - left - uncounted; }
};

namespace detail {

constexpr bool same_degrees(const decoder_plan& a, const decoder_plan& b) {
  for (const plan_degree& d : plan_degrees)
    if (a.*d.of != b.*d.of) return false;
  return true;
}

/// Of plans with the same degrees, a slower one has a row only where it needs a tenth less memory than each faster one.
constexpr void enter_row(growing_array<plan_estimate>& rows, const plan_estimate& e, int most) {
  const auto displaces = [](const plan_estimate& a, const plan_estimate& b) {
    return same_degrees(a.plan, b.plan) && a.memory() / 10 * 9 <= b.memory();
  };
  int at = 0;
  for (; at < rows.size && rows[at].time() <= e.time(); ++at)
    if (displaces(rows[at], e)) return;
  enter_at(rows, at, e);
  int kept = at + 1;
  for (int i = at + 1; i < rows.size; ++i)
    if (!displaces(e, rows[i])) rows[kept++] = rows[i];
  rows.size = kept < most ? kept : most;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
