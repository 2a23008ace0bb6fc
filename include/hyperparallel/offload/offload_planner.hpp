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

/// Improves the best of all greedy plans; `search` holds the result.
constexpr void search_plans(plan_search& search, const offload_options& options) {
  offload_clock& clock = search.clock;
  struct start {
    growing_array<gap_decision> plan;
    plan_score score{endless, INT32_MAX, longest_time};
  };
  growing_array<start> starts;
  const auto enter = [&](const growing_array<gap_decision>& plan) {
    const bool full = starts.size == options.starts;
    const plan_score worst{endless, INT32_MAX, longest_time};
    const plan_score s = search.evaluate(plan, full ? starts.last().score : worst);
    if (full && !better(s, starts.last().score)) return;
    for (const start& other : starts)
      if (other.score == s && other.plan == plan) return;
    int at = full ? starts.size - 1 : starts.push({});
    for (; at > 0 && better(s, starts[at - 1].score); --at) starts[at] = static_cast<start&&>(starts[at - 1]);
    starts[at] = {plan, s};
  };
  greedy_planner greedy(clock);
  growing_array<gap_decision> plan;
  const int operators = clock.program.op.size, gaps = clock.chains.gap.size;
  const extent_t budget = clock.program.tier[0].capacity, for_search = search.effort / 2;
  const auto charge = [&](int parts = 4) {
    int chosen = 0;
    for (const gap_decision& d : plan) chosen += d.choice != gap_choice::keep ? 1 : 0;
    search.effort -= extent_t{operators + gaps} * (chosen + 4) / parts;
  };
  const auto enter_issued = [&] {
    for (int way = 0; way < fetch_issues; ++way)
      for (int early = 0; early < 2; ++early) {
        greedy.issue(static_cast<fetch_issue>(way), early == 1, plan);
        enter(plan);
      }
  };
  const int factor = operators > 100 ? 4 : 2;
  const auto enter_ahead = [&] {
    for (int ahead = 1; ahead <= operators; ahead *= factor) {
      greedy.issue_ahead(ahead, plan);
      enter(plan);
    }
  };
  // Little effort: the tastes that ask for no costs are fast, and eager copies rarely the worst. The farthest gaps,
  // fetched at their ends, run where any plan does.
  constexpr cover_taste fast[] = {cover_taste::area, cover_taste::farthest};
  for (int slack = 0; slack < 2 && (slack == 0 || search.effort > for_search); ++slack)
    for (const cover_taste taste : fast) {
      greedy.cover(taste, budget - budget / 8 * slack, plan);
      for (int early = 0; early < 2; ++early) {
        greedy.issue(fetch_issue::eager, early == 1, plan);
        enter(plan);
      }
      if (slack == 0 && taste == cover_taste::farthest) {
        greedy.issue(fetch_issue::last, false, plan);
        enter(plan);
      }
      charge(12);
    }
  for (int slack = 0; slack < 4; ++slack)
    for (int taste = 0; taste < cover_tastes && search.effort > for_search; ++taste) {
      greedy.cover(static_cast<cover_taste>(taste), budget - budget / 8 * slack, plan);
      enter_issued();
      charge();
    }
  for (int turn = 1; turn < 16 && turn < operators && search.effort > for_search; ++turn) {
    greedy.sweep_from = operators < 16 ? turn : turn * operators / 16;
    greedy.cover(cover_taste::farthest, budget, plan);
    greedy.issue(fetch_issue::roomy, true, plan);
    enter(plan);
    charge();
  }
  for (int rule = 0; rule < 4 && search.effort > for_search; ++rule) {
    greedy.cover_persistent(rule % 2 == 1, rule / 2 == 1, plan);
    enter_ahead();
    charge();
  }
  for (int distance = 1; distance <= operators && clock.program.tier.size > 1; distance *= factor)
    for (int most = 1; most / factor < gaps && search.effort > for_search; most *= factor) {
      greedy.cover_longer_than(distance, most, plan);
      enter_ahead();
      charge();
    }
  for (const start& one : starts)
    if (better(one.score, search.score)) {
      search.score = one.score;
      search.best = one.plan;
    }
  const bool pairs = search.candidate.size <= options.few_gaps;
  for (start& one : starts) {
    if (search.finished()) break;
    search.improve(one.plan, one.score, search.candidate);
    if (pairs) search.improve_pairs(one.plan, one.score);
    if (!better(one.score, search.score)) continue;
    search.score = one.score;
    search.best = one.plan;
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

}  // namespace detail

/// A plan for `p`, or why there is none.
constexpr planned_offload plan_offload(const offload_program& p, const offload_options& options = {}) {
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

}}  // namespace hyperparallel::v0_2
