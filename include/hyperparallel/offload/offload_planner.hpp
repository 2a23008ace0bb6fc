// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans where every storage of a period is when: greedy covers of several tastes, local search on the best of them,
// restarts, and turns of movable operators; with a certificate of how far from the bounds the plan is.
//
// Laws: the plan is legal and runs where `feasible`; a budget below least_budget is infeasible, and any other is met
// where slower tiers hold all that may leave and control recomputes nothing; no bound is violated; the same program and
// options give the same plan in a constant expression and at run time. Effort is counted in operators and gaps run.

#include <hyperparallel/offload/offload_bounds.hpp>
#include <hyperparallel/offload/offload_greedy.hpp>
#include <hyperparallel/offload/offload_order.hpp>
#include <hyperparallel/offload/offload_timeline.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct offload_options {
  extent_t effort = 20'000'000;  ///< operators and gaps run in all
  int starts = 6;                ///< greedy plans that are improved
  int restarts = 40;             ///< from the best plan
  int few_gaps = 12;             ///< up to so many are improved two at a time
  bool refine_order = false;     ///< movable operators may change their turn
  friend constexpr bool operator==(const offload_options&, const offload_options&) = default;
};

struct planned_offload {
  offload_status status;
  offload_plan plan;
  offload_certificate certificate;
  growing_array<int> alive;  ///< where it is not feasible: storages in tier 0 at the operator that needs most
};

namespace detail {

/// A plan to improve.
struct search_start {
  growing_array<gap_decision> plan;
  plan_score score{endless, INT32_MAX, longest_time};
};

/// The best of all greedy plans, best first; none stands twice. Takes at most about half of the search's effort.
class greedy_starts {
 public:
  growing_array<search_start> starts;

  constexpr greedy_starts(plan_search& within, const offload_options& options)
      : search_(within),
        most_(options.starts),
        greedy_(within.clock),
        operators_(within.clock.program.op.size),
        gaps_(within.clock.chains.gap.size),
        budget_(within.clock.program.tier[0].capacity),
        left_for_search_(within.effort / 2),
        factor_(operators_ > 100 ? 4 : 2) {}

  constexpr void collect() {
    enter_fast();
    enter_covers();
    enter_rules();
  }

 private:
  constexpr void enter() {
    const bool full = starts.size == most_;
    const plan_score worst{endless, INT32_MAX, longest_time};
    const plan_score s = search_.evaluate(plan_, full ? starts.last().score : worst);
    if (full && !better(s, starts.last().score)) return;
    for (const search_start& other : starts)
      if (other.score == s && other.plan == plan_) return;
    int at = full ? starts.size - 1 : starts.push({});
    for (; at > 0 && better(s, starts[at - 1].score); --at) starts[at] = static_cast<search_start&&>(starts[at - 1]);
    starts[at] = {plan_, s};
  }
  constexpr void enter_issued(fetch_issue way, bool early_stores) {
    greedy_.issue(way, early_stores, plan_);
    enter();
  }
  constexpr void enter_ahead() {
    for (int ahead = 1; ahead <= operators_; ahead *= factor_) {
      greedy_.issue_ahead(ahead, plan_);
      enter();
    }
  }
  constexpr bool goes_on() const { return search_.effort > left_for_search_; }
  constexpr void charge(int parts = 4) {
    int chosen = 0;
    for (const gap_decision& d : plan_) chosen += d.choice != gap_choice::keep ? 1 : 0;
    search_.effort -= extent_t{operators_ + gaps_} * (chosen + 4) / parts;
  }

  /// Little effort: the tastes that ask for no costs are fast, and eager copies rarely the worst. The farthest gaps,
  /// fetched at their ends, run where any plan does.
  constexpr void enter_fast() {
    constexpr cover_taste fast[] = {cover_taste::area, cover_taste::farthest};
    for (int slack = 0; slack < 2 && (slack == 0 || goes_on()); ++slack)
      for (const cover_taste taste : fast) {
        greedy_.cover(taste, budget_ - budget_ / 8 * slack, plan_);
        for (int early = 0; early < 2; ++early) enter_issued(fetch_issue::eager, early == 1);
        if (slack == 0 && taste == cover_taste::farthest) enter_issued(fetch_issue::last, false);
        charge(12);
      }
  }
  /// Every taste, and the farthest gaps from other operators on.
  constexpr void enter_covers() {
    for (int slack = 0; slack < 4; ++slack)
      for (int taste = 0; taste < cover_tastes && goes_on(); ++taste) {
        greedy_.cover(static_cast<cover_taste>(taste), budget_ - budget_ / 8 * slack, plan_);
        for (int way = 0; way < fetch_issues; ++way)
          for (int early = 0; early < 2; ++early) enter_issued(static_cast<fetch_issue>(way), early == 1);
        charge();
      }
    for (int turn = 1; turn < 16 && turn < operators_ && goes_on(); ++turn) {
      greedy_.sweep_from = operators_ < 16 ? turn : turn * operators_ / 16;
      greedy_.cover(cover_taste::farthest, budget_, plan_);
      enter_issued(fetch_issue::roomy, true);
      charge();
    }
  }
  /// Plain rules that count no bytes.
  constexpr void enter_rules() {
    for (int rule = 0; rule < 4 && goes_on(); ++rule) {
      greedy_.cover_persistent(rule % 2 == 1, rule / 2 == 1, plan_);
      enter_ahead();
      charge();
    }
    for (int distance = 1; distance <= operators_ && search_.clock.program.tier.size > 1; distance *= factor_)
      for (int most = 1; most / factor_ < gaps_ && goes_on(); most *= factor_) {
        greedy_.cover_longer_than(distance, most, plan_);
        enter_ahead();
        charge();
      }
  }

  plan_search& search_;
  int most_;
  greedy_planner greedy_;
  growing_array<gap_decision> plan_;
  int operators_, gaps_;
  extent_t budget_, left_for_search_;
  int factor_;
};

/// Improves the best of all greedy plans; `search` holds the result.
constexpr void search_plans(plan_search& search, const offload_options& options) {
  greedy_starts greedy(search, options);
  greedy.collect();
  const auto keep_better = [&](const search_start& one) {
    if (!better(one.score, search.score)) return;
    search.score = one.score;
    search.best = one.plan;
  };
  for (const search_start& one : greedy.starts) keep_better(one);
  const bool pairs = search.candidate.size <= options.few_gaps;
  for (search_start& one : greedy.starts) {
    if (search.finished()) break;
    search.improve(one.plan, one.score, search.candidate);
    if (pairs) search.improve_pairs(one.plan, one.score);
    keep_better(one);
  }
  search.restart(pairs ? options.restarts : 25 * options.restarts, pairs);
}

/// Adds up the copies of a run.
struct copy_sums {
  extent_t in = 0, out = 0;
  static constexpr bool listens = false;
  constexpr void operator_runs(int, extent_t, extent_t) {}
  constexpr void copy_runs(int, bool leaves, int, extent_t bytes, extent_t, extent_t) { (leaves ? out : in) += bytes; }
};

/// `clock` is of the program in the plan's order.
constexpr void certify(offload_clock& clock, planned_offload& planned) {
  offload_certificate& c = planned.certificate;
  copy_sums copied;
  c.time = clock.run(planned.plan.gap.item, endless, copied);
  c.feasible = c.time != endless;
  if (!c.feasible) return;
  for (int i = 0; i < most_tiers; ++i) c.peak[i] = i < clock.program.tier.size ? clock.peak[i] : 0;
  c.bytes_in = copied.in;
  c.bytes_out = copied.out;
  c.exposed = c.time - time_without_copies(clock.program, clock.chains, planned.plan.gap.item);
}

planned_offload plan_offload_in_library(const offload_program& p, const offload_options& options);
constexpr planned_offload plan_offload_here(const offload_program& p, const offload_options& options) {
  planned_offload r;
  r.status = check(p);
  if (r.status.code != offload_code::ok) return r;
  offload_clock clock(p);
  bool moves = false;
  for (const offload_operator& one : p.op) moves = moves || (options.refine_order && one.movable);
  const offload_bounds bounds = bounds_of(p, clock.chains, moves);
  smallest_budget least = least_budget(p, clock.chains);
  r.certificate.time_bound = bounds.time;
  r.certificate.bytes_in_bound = bounds.bytes_in;
  r.certificate.bytes_out_bound = bounds.bytes_out;
  r.certificate.least_budget = least.bytes;
  r.certificate.least_budget_op = least.op;
  const plan_score best{bounds.time, 0, bounds.bytes_in + bounds.bytes_out};
  plan_search search(clock, best, options.effort);
  if (least.bytes <= p.tier[0].capacity || moves) detail::search_plans(search, options);
  r.plan.gap = search.best;
  if (moves) {
    r.plan.gap.resize(clock.chains.gap.size);
    for (int q = 0; q < p.op.size; ++q) r.plan.order.push(q);
    refined_order refined{r.plan, search.score, best, search.effort, options.few_gaps};
    offload_options quick = options;
    quick.starts = 2;
    quick.restarts = 2;
    refine_order(p, refined, options.restarts, [&](plan_search& one) { detail::search_plans(one, quick); });
    r.plan = refined.plan;
    search.score = refined.score;
  }
  if (search.score.time != endless) {
    if (r.plan.order.empty()) {
      detail::certify(clock, r);
    } else {
      offload_clock in_order(reordered(p, r.plan.order));
      detail::certify(in_order, r);
    }
  }
  if (!r.certificate.feasible) r.alive = static_cast<growing_array<int>&&>(least.alive);
  return r;
}

}  // namespace detail

/// A plan for `p`, or why there is none.
constexpr planned_offload plan_offload(const offload_program& p, const offload_options& options = {}) {
  HYPERPARALLEL_TWIN(detail::plan_offload_in_library(p, options));
  return detail::plan_offload_here(p, options);
}

}}  // namespace hyperparallel::v0_2
