// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a search of plans (plan_search.hpp): legal plans by their bounds, those that are priced, candidates that are
// simulated, rows of the answer.
//
// Laws: those of plan_search.hpp. A plan has its turn by its bound, or because the best so far is one change away; it is priced once and
// simulated once at most.

#include <hyperparallel/planner/changes.hpp>
#include <hyperparallel/planner/legal_plans.hpp>
#include <hyperparallel/planner/plan_answer.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>
#include <hyperparallel/planner/simulation.hpp>
#include <hyperparallel/price/simulated_rows.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Listing so many legal plans takes well below a second; walking so many steps of a stack, too.
inline constexpr int listed_between_questions = 1024, walked_between_questions = 16;

/// What is simulated of a search: nothing, or all that could be the best.
enum class search_truth : unsigned char { estimate, simulation };

/// The state of search_plans and of search_simulated_plans.
template <class GoOn>
class plan_searcher {
 public:
  constexpr plan_searcher(const decoder& model, const plan_question& question, plan_prices& of, const GoOn& ask,
                          search_truth by)
      : d(model),
        q(question),
        prices(of),
        go_on(ask),
        truth(by),
        most(question.reserve.most_peak(of.device().tier[0].bytes)) {
    a.listed = visit_legal_plans(d, q, [&](const decoder_plan& p) {
      stopped = (a.legal + 1) % (q.stack.walked ? walked_between_questions : listed_between_questions) == 0 &&
                !go_on(static_cast<const plan_progress&>(progress));
      if (stopped) return false;
      ++a.legal;
      const extent_t held = q.stack.walked ? shard_bytes(p) : bytes_bound(p);
      if (!q.stack.walked) note_smallest(p, held);
      const extent_t time = least_time(p);
      if (held > most)
        ++a.too_large;
      else
        plans.push({p, truth == search_truth::estimate ? time : simulated_time_bound(d, p, time)});
      return true;
    });
    progress.plans = plans.left();
  }

  constexpr plan_answer run() {
    price_all();
    return finished();
  }

  /// `may_simulate(bool)`: whether to simulate one more, without which there is no first row, or which could beat it.
  template <class MaySimulate>
  constexpr plan_answer run_simulated(const MaySimulate& may_simulate) {
    for (;;) {
      price_all();
      const int next = next_simulated();
      if (next < 0 || !may_simulate(is_needed())) break;
      simulate(next);
    }
    return finished();
  }

 private:
  /// A plan that may fit, and what its simulated time is not below.
  struct candidate {
    plan_estimate estimate{};
    extent_t bound = 0;
    constexpr bool is_asked() const { return estimate.simulated.code != simulated_plan_code::not_asked; }
  };

  /// Time that the plan takes at least; on a stack that is walked what it computes, beside which moves are exposed or not.
  constexpr extent_t least_time(const decoder_plan& p) const {
    return q.stack.walked ? stack_time_of(d, p, q.stack, prices.device()).total()
                          : time_bound(d, p, prices, q.stack.overlapped);
  }
  constexpr void note_smallest(const decoder_plan& p, extent_t held) {
    if (held >= smallest_held) return;
    smallest = p;
    smallest_held = held;
  }
  /// What a rank of a walked stack has of parameters and moments at least: 4 bytes a parameter, 12 where FSDP shards them.
  constexpr extent_t shard_bytes(const decoder_plan& p) const {
    if (!plan_is_countable(d, p)) return 0;
    const stack_sizes s(d, p, q.stack);
    extent_t block = 0, root = 0;
    for (const stack_parameter& one : s.block()) block += one.shard(s.ranks);
    for (const stack_parameter& one : s.root()) root += one.shard(s.ranks);
    return (s.sharded ? 12 : 4) * (s.layers * block + root);
  }
  /// Bytes that it takes at least; on such a stack, what it takes.
  constexpr extent_t bytes_bound(const decoder_plan& p) const {
    if (!q.stack.walked) return memory_bound(d, p);
    return plan_is_countable(d, p) ? stack_memory_of(d, p, q.stack).reserved : 0;
  }

  constexpr void price_all() {
    for (int next = plans.first(); !stopped && is_open(next); next = plans.first()) {
      const extent_t before = best_time();
      if (!price(next)) return;
      if (best_time() != before)
        descend();
      else if (const extent_t unfit = a.priced_unfit + walked_unfit; !a.ok() && (unfit & (unfit - 1)) == 0)
        slim(next);
    }
  }

  constexpr plan_answer finished() {
    const int next = plans.first();
    const extent_t uncounted = note_uncounted();
    extent_t unsimulated = not_counted;
    for (const candidate& c : candidates) {
      if (c.is_asked() || c.bound >= best_time() || is_first(c)) continue;
      ++a.unsimulated;
      unsimulated = smaller(unsimulated, c.bound);
    }
    a.complete = a.listed && !is_open(next) && a.uncounted == 0 && a.unsimulated == 0;
    if (is_open(next)) a.left = plans.left();
    if (a.complete && !a.ok() && a.least_unfit.evaluation.memory == not_counted) {
      if (q.stack.walked) visit_legal_plans(d, q, [&](const decoder_plan& p) { note_smallest(p, bytes_bound(p)); });
      if (smallest_held != not_counted) a.least_unfit = estimate_plan(d, smallest, prices, q.stack);
    }
    a.bound = !a.listed ? 0 : smaller(smaller(is_open(next) ? plans[next].time : best_time(), uncounted), unsimulated);
    return static_cast<plan_answer&&>(a);
  }

  /// Whether the plan with the least bound could be faster than the best.
  constexpr bool is_open(int next) const { return next >= 0 && (!a.ok() || plans[next].time < best_time()); }
  constexpr extent_t best_time() const { return a.ok() ? a.best[0].time() : not_counted; }

  /// Whether the first row is merely estimated, or there is none.
  constexpr bool is_needed() const { return !a.ok() || a.best[0].simulated.code == simulated_plan_code::not_asked; }
  constexpr bool is_first(const candidate& c) const { return a.ok() && a.best[0].plan == c.estimate.plan; }

  /// The candidate that is simulated next: the first row, then those that fit by the account, the fastest first, then others; -1:
  /// none could be faster than the first row.
  constexpr int next_simulated() const {
    int best = -1;
    const auto precedes = [&](const candidate& x, const candidate& y) {
      const bool x_fits = x.estimate.counted_memory() <= most, y_fits = y.estimate.counted_memory() <= most;
      return x_fits != y_fits ? x_fits : x.estimate.time() < y.estimate.time();
    };
    for (int i = 0; i < candidates.size; ++i) {
      const candidate& c = candidates[i];
      if (c.is_asked()) continue;
      if (is_first(c)) return i;
      if (c.bound < best_time() && (best < 0 || precedes(c, candidates[best]))) best = i;
    }
    return best;
  }

  constexpr void simulate(int number) {
    candidate& c = candidates[number];
    plan_estimate& e = c.estimate;
    e.simulated = simulate_plan(d, e.plan, prices, q.stack.walked ? largest_simulated_memory : most);
    a.simulations.add(e.simulated, e.plan.pp > 1);
    if (e.memory() > most) note_unfit(e);
    a.best.clear();
    for (const candidate& other : candidates)
      if (other.estimate.memory() <= most) enter_row(a.best, other.estimate, q.rows);
  }

  /// What the plan's simulated time is not below, by its bounds and by how far estimates are from clocks.
  constexpr extent_t simulated_bound(const plan_estimate& e, extent_t by_sizes) const {
    if (e.is_walked()) return larger(by_sizes, e.stack_computing + e.own_exposed() - e.own_time() / 10);
    const extent_t near = simulated_time_bound(d, e.plan, e.time()) / 10 * 9;
    return larger(larger(by_sizes, near), e.plan.pp > 1 ? 0 : e.bound);
  }

  constexpr void note_unfit(const plan_estimate& e) {
    if (e.time() < a.fastest_unfit.time()) a.fastest_unfit = e;
    if (e.memory() < a.least_unfit.memory()) a.least_unfit = e;
  }

  /// Counts the plans without a price that could be faster than the best. Returns the least of their bounds.
  constexpr extent_t note_uncounted() {
    extent_t least = not_counted;
    a.uncounted = 0;
    for (const int number : not_priced) {
      if (a.ok() && plans[number].time >= best_time()) continue;
      ++a.uncounted;
      least = smaller(least, plans[number].time);
    }
    return least;
  }

  /// False where the search is to end; then nothing is priced.
  constexpr bool price(int number) {
    progress.priced = a.priced;
    progress.best = best_time();
    stopped = !go_on(static_cast<const plan_progress&>(progress));
    if (stopped) return false;
    if (q.stack.walked) {  // memory is walked where a plan has its turn
      if (bytes_bound(plans[number].plan) > most) {
        plans.note_priced(number);
        ++a.too_large;
        ++walked_unfit;
        return true;
      }
    }
    const plan_estimate e = estimate_plan(d, plans[number].plan, prices, q.stack);
    plans.note_priced(number);
    if (e.evaluation.code == cost_code::overflow) {
      not_priced.push(number);
      return true;
    }
    ++a.priced;
    // However little a measured run held, parameters and states are there.
    const bool holds =
        q.reserve.measured_beside >= 0 || held_throughout(e) <= prices.device().tier[0].bytes - q.reserve.library_bytes;
    const bool fits = e.ok() && holds && e.counted_memory() <= most;
    // The account has a stage that is as full as all together: by address a pipeline may take less.
    const bool may_fit = truth == search_truth::simulation && e.ok() && holds && (fits || e.plan.pp > 1);
    if (may_fit) candidates.push({e, simulated_bound(e, plans[number].time)});
    if (fits) enter_row(a.best, e, q.rows);
    if (fits) return true;
    ++a.priced_unfit;
    if (e.ok() && !may_fit) note_unfit(e);
    return true;
  }

  /// While no plan is known that fits: from one that does not, change by change to what holds least by its bound.
  constexpr void slim(int from) {
    for (extent_t held = not_counted; from >= 0 && !a.ok() && !stopped;) {
      int next = -1;
      visit_plan_changes(plans[from].plan, [&](const decoder_plan& p) {
        const int number = plans.number_of(p);
        const extent_t bytes = number < 0 ? held : bytes_bound(p);
        if (bytes >= held) return;
        held = bytes;
        next = number;
      });
      if (next >= 0 && !plans[next].priced) price(next);
      from = next;
    }
    if (a.ok()) descend();
  }

  /// From the best plan to a better one that is one change away, as long as there is one.
  constexpr void descend() {
    for (extent_t before = not_counted; best_time() != before && !stopped;) {
      before = best_time();
      const decoder_plan from = a.best[0].plan;
      visit_plan_changes(from, [&](const decoder_plan& p) {
        const int number = stopped ? -1 : plans.number_of(p);
        if (number >= 0 && !plans[number].priced && plans[number].time < best_time()) price(number);
      });
    }
  }

  const decoder& d;
  const plan_question& q;
  plan_prices& prices;
  const GoOn& go_on;
  const search_truth truth;
  const extent_t most;  ///< bytes alive that fit
  bounded_plans plans{};
  growing_array<candidate> candidates{};
  growing_array<int> not_priced{};  ///< plans whose counts leave 64 bits
  plan_progress progress{};
  plan_answer a{};
  decoder_plan
      smallest{};  ///< of all legal ones, by the bound on memory; on a walked stack, where none fits, by what it takes
  extent_t smallest_held = not_counted;
  extent_t walked_unfit = 0;  ///< of `too_large`, those that were walked
  bool stopped = false;
};

}}}  // namespace hyperparallel::v0_2::detail
