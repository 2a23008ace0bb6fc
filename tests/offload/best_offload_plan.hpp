// SPDX-License-Identifier: Apache-2.0
#pragma once
// The optimum by enumeration: every legal order, every decision and every issue point of every gap.

#include <offload/random_offload_program.hpp>

#include <hyperparallel/offload/offload_clock.hpp>

namespace offload_testing {

struct best_plan {
  hp::extent_t time = hp::endless;
  bool complete = true;  ///< there were not more plans than allowed
  long plans = 0;
};

/// All decisions of a gap; stores at all points, or only at the two ends of their window.
inline std::vector<hp::gap_decision> all_decisions(const hp::offload_program& p, const hp::storage_gap& g,
                                                   const hp::gap_rights& right, bool all_stores) {
  std::vector<hp::gap_decision> all;
  if (right.keep) all.push_back({hp::gap_choice::keep});
  if (right.recompute) all.push_back({hp::gap_choice::recompute});
  for (int t = 1; t < p.tier.size && right.offload; ++t) {
    if (right.tier > 0 && right.tier != t) continue;
    for (int fetch = g.wraps ? -1 : g.from; fetch < g.to; ++fetch)
      for (int store = g.last_write; store <= g.from; ++store)
        if (all_stores || store == g.last_write) all.push_back({hp::gap_choice::offload, t, store, fetch});
  }
  return all;
}

/// The best plan in the program's own order, of at most `most` plans.
inline void search_all(const hp::offload_program& p, bool all_stores, long most, best_plan& best) {
  hp::offload_clock clock(p);
  const auto rights = hp::rights_of(p, clock.chains);
  std::vector<std::vector<hp::gap_decision>> options;
  double plans = 1;
  for (int g = 0; g < clock.chains.gap.size; ++g) {
    options.push_back(all_decisions(p, clock.chains.gap[g], rights[g], all_stores));
    plans *= static_cast<double>(options.back().size());
  }
  if (plans + static_cast<double>(best.plans) > static_cast<double>(most)) {
    best.complete = false;
    return;
  }
  std::vector<hp::gap_decision> plan(options.size() + 1);
  const hp::extent_t least = hp::times_without_copies(p, clock.chains).total;
  const auto descend = [&](const auto& self, std::size_t g) -> void {
    if (best.time <= least) return;
    if (g == options.size()) {
      ++best.plans;
      best.time = std::min(best.time, clock.run(plan.data(), best.time));
      return;
    }
    for (const hp::gap_decision& d : options[g]) {
      plan[g] = d;
      self(self, g + 1);
    }
  };
  descend(descend, 0);
}

/// Calls `visit(order)` for every legal order.
template <class Visit>
void for_each_order(const hp::offload_program& p, const Visit& visit) {
  std::vector<int> order(static_cast<std::size_t>(p.op.size));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  do {
    hp::growing_array<int> one;
    for (const int q : order) one.push(q);
    if (hp::detail::check_order(p, one).code == hp::offload_plan_code::ok) visit(one);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace offload_testing
