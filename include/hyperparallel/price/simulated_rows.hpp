// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a search that are simulated, from the fastest on, until none could be faster than the first.
//
// A row has `simulated` (simulated_plan.hpp) and `time()`: the simulated time, or the estimate while there is none. A list of rows is
// sorted by `time()`. `simulate(row)` fills `simulated`; a row whose addresses exceed the memory is removed from the list.
// Law: after `simulate_rows`, unless `go_on` ended it, the first row is simulated or cannot be, and no row of the list has
// a smaller `time()`. O(rows · (rows + simulate)).

#include <hyperparallel/price/simulated_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How many plans were simulated.
struct simulation_counts {
  extent_t made = 0;
  extent_t unfit = 0;     ///< of these: their addresses exceed the memory
  extent_t replayed = 0;  ///< of these: pipelines, stage by stage
  constexpr void add(const simulated_plan& s, bool is_pipeline) {
    const bool exceeds = s.code == simulated_plan_code::exceeds_memory;
    if (!s.ok() && !exceeds) return;
    ++made;
    unfit += exceeds ? 1 : 0;
    replayed += is_pipeline ? 1 : 0;
  }
  friend constexpr bool operator==(const simulation_counts&, const simulation_counts&) = default;
};

namespace detail {

/// Puts `row` at place `at` of a list, before what stood there.
template <class Rows, class Row>
constexpr void enter_at(Rows& rows, int at, const Row& row) {
  rows.push(row);
  for (int i = rows.size - 1; i > at; --i) rows[i] = rows[i - 1];
  rows[at] = row;
}

}  // namespace detail

/// Simulates row `at`, and puts it where its time belongs. False, without the row, where its addresses exceed the memory.
template <class Rows, class Simulate>
constexpr bool simulate_row(Rows& rows, int at, const Simulate& simulate) {
  auto row = rows[at];
  simulate(row);
  for (int i = at; i + 1 < rows.size; ++i) rows[i] = rows[i + 1];
  --rows.size;
  if (row.simulated.code == simulated_plan_code::exceeds_memory) return false;
  int place = rows.size;
  while (place > 0 && rows[place - 1].time() > row.time()) --place;
  detail::enter_at(rows, place, row);
  return true;
}

/// Simulates rows from the fastest on, until the first one is no longer merely estimated, or `go_on()`, asked before each, says
/// false.
template <class Rows, class Simulate, class GoOn>
constexpr void simulate_rows(Rows& rows, const Simulate& simulate, const GoOn& go_on) {
  while (rows.size > 0 && rows[0].simulated.code == simulated_plan_code::not_asked && go_on())
    simulate_row(rows, 0, simulate);
}

}}  // namespace hyperparallel::v0_2
