// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random plans and orders for random periods.

#include <hyperparallel/offload/offload_plan.hpp>

#include "../../bench/run/random_periods.hpp"

#include <algorithm>

namespace offload_testing {

namespace hp = hyperparallel;
using namespace random_periods;

/// Any kind of links, operators and storages.
inline program_shape any_shape(draw& d, int most_operators, int most_gaps, int fewest_tiers) {
  program_shape s;
  s.operators = d.between(4, most_operators);
  s.most_gaps = most_gaps;
  s.tiers = d.between(fewest_tiers, 3);
  s.collectives = d.one_in(2);
  s.half_duplex = d.one_in(3);
  s.accesses = d.between(2, 5);
  return s;
}

/// Some operators may change their turn, and some are collectives.
inline program_shape movable_shape(draw& d, int most_gaps, int tiers) {
  program_shape s;
  s.operators = d.between(4, 12);
  s.most_gaps = most_gaps;
  s.tiers = tiers;
  s.movable = s.collectives = true;
  return s;
}

/// A random legal decision of each gap.
inline hp::offload_plan random_plan(draw& d, const hp::offload_program& p) {
  const hp::use_chains c = hp::chains_of(p);
  const auto rights = hp::rights_of(p, c);
  hp::offload_plan plan = hp::keep_all(c.gap.size);
  for (int g = 0; g < c.gap.size; ++g) {
    const hp::storage_gap& gap = c.gap[g];
    for (;;) {
      const int choice = d.below(4);
      if (choice == 0 && rights[g].keep) break;
      if (choice == 1 && rights[g].recompute) {
        plan.gap[g].choice = hp::gap_choice::recompute;
        break;
      }
      if (choice > 1 && rights[g].offload) {
        plan.gap[g] = {hp::gap_choice::offload, rights[g].tier > 0 ? rights[g].tier : d.between(1, p.tier.size - 1),
                       d.between(gap.last_write, gap.from), d.between(gap.wraps ? -1 : gap.from, gap.to - 1)};
        break;
      }
    }
  }
  return plan;
}

/// A random legal order: operators swap places with neighbours.
inline hp::growing_array<int> random_order(draw& d, const hp::offload_program& p) {
  hp::growing_array<int> order;
  for (int q = 0; q < p.op.size; ++q) order.push(q);
  for (int i = 4 * p.op.size; i > 0; --i) {
    const int at = d.below(p.op.size - 1);
    std::swap(order[at], order[at + 1]);
    if (hp::detail::check_order(p, order).code != hp::offload_plan_code::ok) std::swap(order[at], order[at + 1]);
  }
  return order;
}

}  // namespace offload_testing
