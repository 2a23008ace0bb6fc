// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plan of memory tiers decides: of each gap whether its storage stays, leaves for another tier and comes back,
// or is computed again; when both copies enter their links; in which order movable operators run.
//
// A plan speaks of `reordered(program, plan.order)`: its gaps, its operators by their place in the order of issue.
// Laws of a legal plan, which `check` verifies: last write ≤ store_after ≤ from ≤ fetch_after < to, where a gap wraps
// -1 ≤ fetch_after < to; no choice against control; an order is a permutation in which operators that conflict (one
// writes what the other touches) and those that are not movable keep their turns. O(program).

#include <hyperparallel/offload/use_chains.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A copy enters its link's queue after the end of operator `store_after` or `fetch_after`, -1: at the begin of the
/// period. keep and recompute leave all but `choice` unread; store_after is not read where the copy in the tier is
/// clean.
struct gap_decision {
  gap_choice choice = gap_choice::keep;
  int tier = 1;
  int store_after = -1;
  int fetch_after = -1;
  friend constexpr bool operator==(const gap_decision&, const gap_decision&) = default;
};

/// Of each gap of gaps_of(reordered(program, order)), in that order. `order`: operators as they run, empty: as listed.
struct offload_plan {
  growing_array<gap_decision> gap;
  growing_array<int> order;
  friend constexpr bool operator==(const offload_plan&, const offload_plan&) = default;
};

enum class offload_plan_code : unsigned char {
  ok,
  order_is_no_permutation,
  order_moves_what_is_fixed,
  order_breaks_a_dependency,
  decisions_do_not_match_the_gaps,
  keeps_against_control,
  offloads_against_control,
  recomputes_what_cannot_be,
  tier_is_unknown,
  store_is_outside_its_window,
  fetch_is_outside_its_window,
};

struct offload_plan_status {
  offload_plan_code code = offload_plan_code::ok;
  int gap = -1, op = -1, storage = -1;
  friend constexpr bool operator==(const offload_plan_status&, const offload_plan_status&) = default;
};

constexpr const char* to_text(offload_plan_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the order does not list each operator once",
                                   "the order moves an operator that is not movable past another",
                                   "the order runs an operator before one that it depends on",
                                   "the plan does not decide each gap once",
                                   "control says that the storage leaves in this gap, and it is kept",
                                   "control says that the storage stays, and it is offloaded",
                                   "the storage cannot be recomputed here",
                                   "the storage goes to a tier that does not exist or that control excludes",
                                   "the store is not between the last write and the begin of the gap",
                                   "the fetch is not between the begin and the end of the gap"};
  return texts[static_cast<int>(c)];
}

/// The program with its operators in another order, accesses sorted anew. Domain: empty, or a permutation.
/// O(program + Σ (accesses of a storage)²) in the worst case, linear where turns hardly change.
constexpr offload_program reordered(const offload_program& p, const growing_array<int>& order) {
  offload_program r = p;
  if (order.empty()) return r;
  growing_array<int> place(p.op.size);
  for (int i = 0; i < p.op.size; ++i) {
    r.op[i] = p.op[order[i]];
    place[order[i]] = i;
  }
  for (const offload_storage& s : p.storage)
    for (int a = s.first_access; a < s.first_access + s.access_count; ++a) {
      storage_access one = p.access[a];
      one.op = place[one.op];
      int at = a;
      for (; at > s.first_access && r.access[at - 1].op > one.op; --at) r.access[at] = r.access[at - 1];
      r.access[at] = one;
    }
  return r;
}

namespace detail {

/// Domain: a checked program.
constexpr offload_plan_status check_order(const offload_program& p, const growing_array<int>& order) {
  if (order.empty()) return {};
  if (order.size != p.op.size) return {.code = offload_plan_code::order_is_no_permutation};
  growing_array<int> place(p.op.size, -1);
  int fixed = -1;
  for (int i = 0; i < order.size; ++i) {
    if (order[i] < 0 || order[i] >= p.op.size || place[order[i]] >= 0)
      return {.code = offload_plan_code::order_is_no_permutation, .op = order[i]};
    place[order[i]] = i;
    if (p.op[order[i]].movable) continue;
    if (order[i] < fixed) return {.code = offload_plan_code::order_moves_what_is_fixed, .op = order[i]};
    fixed = order[i];
  }
  for (int s = 0; s < p.storage.size; ++s) {
    int write = -1, latest = -1;  // places of the last write and of the latest access so far
    for (int a = 0; a < p.storage[s].access_count; ++a) {
      const storage_access& one = detail::access_of(p, s, a);
      if (place[one.op] < (one.writes ? latest : write))
        return {.code = offload_plan_code::order_breaks_a_dependency, .op = one.op, .storage = s};
      latest = latest < place[one.op] ? place[one.op] : latest;
      if (one.writes) write = place[one.op];
    }
  }
  return {};
}

}  // namespace detail

/// The first fault of a plan. Domain: a checked program.
constexpr offload_plan_status check(const offload_program& p, const offload_plan& plan) {
  using enum offload_plan_code;
  const offload_plan_status order = detail::check_order(p, plan.order);
  if (order.code != ok) return order;
  const offload_program run = reordered(p, plan.order);
  const use_chains c = chains_of(run);
  if (plan.gap.size != c.gap.size) return {.code = decisions_do_not_match_the_gaps};
  const growing_array<gap_rights> rights = rights_of(run, c);
  for (int g = 0; g < c.gap.size; ++g) {
    const gap_decision& d = plan.gap[g];
    const storage_gap& gap = c.gap[g];
    offload_plan_status status{.gap = g, .storage = gap.storage};
    if (d.choice == gap_choice::keep) {
      if (!rights[g].keep) status.code = keeps_against_control;
    } else if (d.choice == gap_choice::recompute) {
      if (!rights[g].recompute) status.code = recomputes_what_cannot_be;
    } else if (!rights[g].offload) {
      status.code = offloads_against_control;
    } else if (d.tier < 1 || d.tier >= p.tier.size || (rights[g].tier > 0 && d.tier != rights[g].tier)) {
      status.code = tier_is_unknown;
    } else if (d.store_after < gap.last_write || d.store_after > gap.from) {
      status.code = store_is_outside_its_window;
    } else if (d.fetch_after < (gap.wraps ? -1 : gap.from) || d.fetch_after >= gap.to) {
      status.code = fetch_is_outside_its_window;
    }
    if (status.code != ok) return status;
  }
  return {};
}

/// A plan that keeps everything.
constexpr offload_plan keep_all(int gaps) {
  offload_plan plan;
  plan.gap.resize(gaps);
  return plan;
}

/// What the plan takes, and what every plan takes at least. Where there is no plan it takes `not_counted` of everything.
struct offload_certificate {
  bool feasible = false;
  extent_t time = not_counted, time_bound = 0;
  extent_t exposed = not_counted;  ///< time less that of operators and recomputations alone
  extent_t bytes_in = not_counted, bytes_in_bound = 0;
  extent_t bytes_out = not_counted, bytes_out_bound = 0;
  extent_t peak[most_tiers] = {not_counted, not_counted, not_counted, not_counted};
  extent_t least_budget = not_counted;
  int least_budget_op = -1;  ///< the operator that needs it
  friend constexpr bool operator==(const offload_certificate&, const offload_certificate&) = default;
};

}}  // namespace hyperparallel::v0_2
