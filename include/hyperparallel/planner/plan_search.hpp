// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fastest plan of a decoder on so many devices that fits into their memory, with a bound that says how much faster a
// plan could still be.
//
//   const hp::plan_question q{.devices = 64, .batch = 256, .sequence = 4096};
//   const hp::plan_answer a = hp::search_plans(llama3, q, prices, [](const hp::plan_progress&) { return true; });
//   a.best[0], a.bound, a.complete
//
// Searched are all legal degrees (tp, pp, dp, cp, ep), all numbers of micro-batches that divide the batch, ZeRO stages 0 to
// 3, recomputation of whole layers or none, sequence parallelism on and off; each is priced by `estimate_plan`. A plan whose
// bound on memory (plan_bounds.hpp) is above what a device has is left out; the others have their turn by their bound on
// time, and the search is complete where the next bound is no less than the best time found. Where a plan is the best so far,
// those one change away (changes.hpp) have their turn first, and so on until none of them is better: a search that is ended
// early is at such a plan. While none that fits is known, changes that hold less have their turn now and then. A plan fits if
// `verdict_of` says fits, with the reserve of the question: a tight one is not an answer.
//
// `search_simulated_plans` goes on by clocks: of the plan that would run, of pipelines by the replay of simulated stages
// (simulation.hpp). Every plan priced that may fit is kept; those that could be faster than the best by their bounds, or by nine
// tenths of the estimate, are simulated, and one whose addresses exceed the memory is none. Estimates are no further above clocks: of
// 1 400 plans of random models the least share is 0.935, of pipelines in shares of their own layers 0.946.
// With a stack that is walked (stack.hpp) the plans are those that it has rules for, and memory is what its allocator reserves.
// Laws: a complete search finds the time that pricing, or simulating, all plans finds; the bound is at most the time of every plan
// that fits, however early the search was ended.

#include <hyperparallel/planner/plan_searcher.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Searches until it is complete or `go_on(plan_progress)`, which is asked before each price, says false.
/// Precondition: the hardware can be. O(plans · (layers + log plans) + priced · estimate).
template <class GoOn>
constexpr plan_answer search_plans(const decoder& d, const plan_question& q, plan_prices& prices, const GoOn& go_on) {
  return detail::plan_searcher<GoOn>(d, q, prices, go_on, detail::search_truth::estimate).run();
}

/// Searches likewise, by the clock of plans and the replay of pipelines: every plan whose bound is below the best of these is
/// simulated, as long as `may_simulate(is_needed)` says so; it is needed while the first row is merely estimated, or there is none.
/// What fits is what fits by address. Laws: where it is complete, no legal plan that `simulate_plan` says fits is faster than the
/// first row, and where there is none, none fits. O(search_plans + simulated · (simulate_plan + priced)).
template <class GoOn, class MaySimulate>
constexpr plan_answer search_simulated_plans(const decoder& d, const plan_question& q, plan_prices& prices,
                                             const GoOn& go_on, const MaySimulate& may_simulate) {
  return detail::plan_searcher<GoOn>(d, q, prices, go_on, detail::search_truth::simulation).run_simulated(may_simulate);
}

namespace detail {

/// Fills `simulated` of a row, and counts it.
constexpr auto simulation_of(const decoder& d, const plan_question& q, const plan_prices& prices, plan_answer& a) {
  return [&](plan_estimate& row) {
    row.simulated =
        simulate_plan(d, row.plan, prices,
                      q.stack.walked ? largest_simulated_memory : q.reserve.most_peak(prices.device().tier[0].bytes));
    a.simulations.add(row.simulated, row.plan.pp > 1);
  };
}

}  // namespace detail

/// Simulates a row of an answer, and puts it where its time belongs. False, without the row, where its addresses exceed
/// the memory.
constexpr bool simulate_row(const decoder& d, const plan_question& q, const plan_prices& prices, plan_answer& a,
                            int row) {
  return simulate_row(a.best, row, detail::simulation_of(d, q, prices, a));
}

/// Simulates the rows of an answer from the fastest on, until the first one is no longer merely estimated, or `go_on()`, asked
/// before each, says false. Law: then no row is faster than the first one, by the clock or the replay where it has
/// one and by the estimate where not. The bound is that of estimates, or the first row's clock where that is below: layers one by one put
/// more gradients into one bucket than folded ones do. O(rows · simulate_plan).
template <class GoOn>
constexpr void simulate_best(const decoder& d, const plan_question& q, const plan_prices& prices, plan_answer& a,
                             const GoOn& go_on) {
  simulate_rows(a.best, detail::simulation_of(d, q, prices, a), go_on);
  if (a.ok()) a.bound = smaller(a.bound, a.best[0].time());
}

}}  // namespace hyperparallel::v0_2
