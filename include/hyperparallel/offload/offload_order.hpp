// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns of movable operators: each is tried earlier and later, past operators that it does not conflict with, and the
// plan goes with it.
//
// Laws: every order tried is legal; what is kept is better by the clock; gaps that two orders have in common (the same
// storage between the same operators) keep their decision, issue points stay behind their operators where their windows
// allow. Source: hill climbing by insertion moves, restarted. O(movable operators · distance · one search) a round.

#include <hyperparallel/offload/offload_search.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Whether operators at places a and b touch a storage that one of them writes.
constexpr bool conflict(const use_chains& c, int a, int b) {
  for (int i = c.first_use[a]; i < c.first_use[a + 1]; ++i)
    for (int k = c.first_use[b]; k < c.first_use[b + 1]; ++k)
      if (c.use[i].storage == c.use[k].storage && (c.use[i].writes || c.use[k].writes)) return true;
  return false;
}

/// A decision that control allows.
constexpr gap_decision default_decision(const storage_gap& g, const gap_rights& right) {
  if (right.keep) return {};
  if (!right.offload) return {gap_choice::recompute};
  return {gap_choice::offload, right.tier > 0 ? right.tier : 1, g.last_write, g.to - 1};
}

/// The decisions `plan` of one order for another. Orders list operators of one program, neither is empty.
constexpr growing_array<gap_decision> carried_over(const use_chains& from, const growing_array<int>& from_order,
                                                   const growing_array<gap_decision>& plan, const use_chains& to,
                                                   const growing_array<int>& to_order,
                                                   const growing_array<gap_rights>& rights) {
  growing_array<gap_decision> carried;
  growing_array<int> place(to_order.size);
  for (int i = 0; i < to_order.size; ++i) place[to_order[i]] = i;
  const auto moved = [&](int point, int earliest, int latest) {
    const int now = point < 0 ? -1 : place[from_order[point]];
    return now < earliest ? earliest : now > latest ? latest : now;
  };
  for (int g = 0; g < to.gap.size; ++g) {
    const storage_gap& gap = to.gap[g];
    carried.push(detail::default_decision(gap, rights[g]));
    for (int k = from.first_gap[gap.storage]; k < from.first_gap[gap.storage + 1]; ++k) {
      const storage_gap& known = from.gap[k];
      if (known.wraps != gap.wraps || from_order[known.from] != to_order[gap.from] ||
          from_order[known.to] != to_order[gap.to])
        continue;
      gap_decision d = plan[k];
      if ((d.choice == gap_choice::keep && !rights[g].keep) ||
          (d.choice == gap_choice::recompute && !rights[g].recompute))
        break;
      if (d.choice == gap_choice::offload) {
        d.store_after = moved(d.store_after, gap.last_write, gap.from);
        d.fetch_after = moved(d.fetch_after, gap.wraps ? -1 : gap.from, gap.to - 1);
      }
      carried.last() = d;
      break;
    }
  }
  return carried;
}

}  // namespace detail

/// Where refinement stands.
struct refined_order {
  offload_plan plan;  ///< its order is not empty
  plan_score score;
  plan_score bound{0, 0, 0};  ///< as plan_search has it
  extent_t effort = 0;        ///< likewise
  int few_gaps = 0;           ///< programs of at most so many gaps are planned anew in each order
  unsigned number = 12345;

  constexpr bool finished() const { return effort <= 0 || !better(bound, score); }
  constexpr int below(int n) {
    number = number * 1664525u + 1013904223u;
    return static_cast<int>((number >> 8) % static_cast<unsigned>(n));
  }
};

namespace detail {

/// The best plan found in `order`, which starts from `known`; its score is not better than `score` where it is not.
template <class Search>
constexpr plan_score plan_in_order(const offload_program& program, const use_chains& chains, const offload_plan& known,
                                   const plan_score& than, offload_plan& plan, refined_order& r, const Search& search) {
  r.effort -= program.op.size + program.access.size;
  offload_clock clock(reordered(program, plan.order));
  plan_search one(clock, r.bound, r.effort);
  plan.gap = carried_over(chains, known.order, known.gap, clock.chains, plan.order, one.rights);
  if (one.candidate.size > r.few_gaps) {
    const plan_score now = one.evaluate(plan.gap, than);
    r.effort = one.effort;
    return now;
  }
  one.offer(plan.gap);
  if (one.score.time == endless) one.best = plan.gap;
  search(one);
  r.effort = one.effort;
  plan.gap = one.best;
  return one.score;
}

/// Shifts single operators of `plan` for as long as that helps.
template <class Search>
constexpr void climb_orders(const offload_program& program, offload_plan& plan, plan_score& score, refined_order& r,
                            const Search& search) {
  for (bool again = true; again;) {
    again = false;
    const use_chains chains = chains_of(reordered(program, plan.order));
    for (int i = 0; i < program.op.size && !again; ++i) {
      if (!program.op[plan.order[i]].movable) continue;
      for (int direction = -1; direction <= 1 && !again; direction += 2) {
        offload_plan tried;
        tried.order = plan.order;
        for (int at = i; at + direction >= 0 && at + direction < program.op.size && !again; at += direction) {
          if (r.finished()) return;
          if (conflict(chains, i, at + direction)) break;
          const int passed = tried.order[at + direction];
          tried.order[at + direction] = tried.order[at];
          tried.order[at] = passed;
          const plan_score now = plan_in_order(program, chains, plan, score, tried, r, search);
          if (!better(now, score)) continue;
          score = now;
          plan = tried;
          again = true;
        }
      }
    }
  }
}

}  // namespace detail

/// Improves order and decisions of `program` from where `r` stands, with so many restarts from other orders.
/// `search(plan_search&)` improves the plan of one order where gaps are few.
template <class Search>
constexpr void refine_order(const offload_program& program, refined_order& r, int restarts, const Search& search) {
  growing_array<int> movable;
  for (int q = 0; q < program.op.size; ++q)
    if (program.op[q].movable) movable.push(q);
  detail::climb_orders(program, r.plan, r.score, r, search);
  for (int round = 0; round < restarts && !r.finished(); ++round) {
    offload_plan tried;
    tried.order = r.plan.order;
    const use_chains chains = chains_of(reordered(program, r.plan.order));
    for (int shift = 1 + round % 3; shift > 0; --shift) {
      const use_chains now = chains_of(reordered(program, tried.order));
      const int q = movable[r.below(movable.size)], direction = r.below(2) == 0 ? -1 : 1;
      int at = 0;
      while (tried.order[at] != q) ++at;
      const int place = at;
      for (int far = 1 + r.below(program.op.size); far > 0; --far, at += direction) {
        if (at + direction < 0 || at + direction >= program.op.size) break;
        if (detail::conflict(now, place, at + direction)) break;
        tried.order[at] = tried.order[at + direction];
        tried.order[at + direction] = q;
      }
    }
    if (tried.order == r.plan.order) continue;
    const plan_score any{endless, INT32_MAX, longest_time};
    plan_score score = detail::plan_in_order(program, chains, r.plan, any, tried, r, search);
    detail::climb_orders(program, tried, score, r, search);
    if (better(r.score, score)) continue;
    r.score = score;
    r.plan = static_cast<offload_plan&&>(tried);
  }
}

}}  // namespace hyperparallel::v0_2
