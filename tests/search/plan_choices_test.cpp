// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/plan_choices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;

using queues_of_a_plan = std::pair<hp::extent_t, hp::extent_t>;

const hp::plan_space& filled(hp::plan_space& s, const hp::graph& g, const hp::model_parts& parts,
                             const hp::plan_frame& f) {
  hp::detail::fill_space(s, g, parts, f, true);
  return s;
}

struct measured {
  hp::graph g;
  hp::model_parts parts;
  hp::plan_space space;
  hp::plan_prices prices;
  hp::segment_costs costs;

  measured(const searched::small_model& m, const hp::plan_frame& f)
      : g(m.build()),
        parts(hp::detail::find_parts(g)),
        prices(hp::generic_host::device, hp::generic_host::topology),
        costs(g, g, parts, filled(space, g, parts, f), prices) {
    costs.measure_all();
  }

  hp::busy_times busy(const int* chosen) const {
    hp::busy_times sum;
    for (int b = 0; b < costs.size(); ++b) sum += costs.variant[b][chosen[b]].busy;
    return sum;
  }
};

// Every choice of candidates is one row, found by the solver, by the enumeration, and by hand.
TEST(PlanChoices, AreTheChoicesOfCandidates) {
  std::mt19937 random(21);
  for (int i = 0; i < 12; ++i) {
    measured m(searched::random_model(random, false), {.dp = 2, .tp = 2});
    if (!m.costs.alive() || m.costs.size() > 4) continue;
    std::vector<queues_of_a_plan> plans;
    hp::extent_t count = 1;
    for (const hp::plan_block& b : m.costs.block) count *= b.candidates;
    for (hp::extent_t n = 0; n < count; ++n) {
      int choice[hp::max_model_parts] = {};
      hp::extent_t rest = n;
      for (int b = 0; b < m.costs.size(); ++b) {
        m.costs.read_candidate(b, static_cast<int>(rest % m.costs.block[b].candidates), choice);
        rest /= m.costs.block[b].candidates;
      }
      hp::strategy_value s;
      ASSERT_TRUE(hp::detail::compose(m.space, choice, s));
      const hp::sharded_program p = hp::partition(m.g, s);
      if (p.status.code != hp::strategy_code::ok) continue;
      const hp::busy_times busy = hp::detail::busy_of(p, hp::pipeline_form(m.g, 1), hp::priced_program(p, m.prices));
      plans.emplace_back(busy.compute, busy.carried);
    }
    std::sort(plans.begin(), plans.end());
    std::vector<queues_of_a_plan> rows;
    hp::detail::visit_rows(m.costs, hp::longest_time, hp::longest_time, [&](const int* chosen, hp::extent_t&) {
      const hp::busy_times busy = m.busy(chosen);
      rows.emplace_back(busy.compute, busy.carried);
      return true;
    });
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, plans);
    std::vector<hp::extent_t> in_a_row;
    for (const auto& [compute, carried] : plans) in_a_row.push_back(compute + carried);
    std::sort(in_a_row.begin(), in_a_row.end());
    hp::detail::choice_answer best(m.costs.size(), 6);
    hp::detail::find_best_variants(m.costs, INT64_MAX, best);
    ASSERT_EQ(best.code, hp::detail::choice_search_code::ok);
    ASSERT_EQ(best.count, std::min(6, static_cast<int>(plans.size())));
    for (int k = 0; k < best.count; ++k) EXPECT_EQ(best.time[k], in_a_row[static_cast<std::size_t>(k)]);
  }
}

TEST(PlanChoices, RowsWithinLimits) {
  measured m({.layers = 3}, {.dp = 2, .tp = 2});
  std::vector<hp::extent_t> rows;
  const auto all = [&](hp::extent_t budget, hp::extent_t limit) {
    rows.clear();
    hp::detail::visit_rows(m.costs, budget, limit, [&](const int* chosen, hp::extent_t&) {
      rows.push_back(m.busy(chosen).bound());
      return true;
    });
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  const std::vector<hp::extent_t> every = all(hp::longest_time, hp::longest_time);
  ASSERT_GT(every.size(), 8u);
  EXPECT_EQ(all(hp::longest_time, every.back()).size(),
            static_cast<std::size_t>(std::lower_bound(every.begin(), every.end(), every.back()) - every.begin()));
  EXPECT_TRUE(all(0, hp::longest_time).empty());
  hp::detail::choice_answer none(m.costs.size(), 2);
  hp::detail::find_best_variants(m.costs, 0, none);
  EXPECT_EQ(none.code, hp::detail::choice_search_code::over_budget);
  EXPECT_GT(none.least_memory, 0);
  EXPECT_EQ(all(none.least_memory - 1, hp::longest_time).size(), 0u);
  EXPECT_GE(all(none.least_memory, hp::longest_time).size(), 1u);
  // A limit that falls as plans are found leaves the least.
  hp::extent_t least = hp::longest_time;
  hp::detail::visit_rows(m.costs, hp::longest_time, hp::longest_time, [&](const int* chosen, hp::extent_t& limit) {
    const hp::extent_t bound = m.busy(chosen).bound();
    EXPECT_LT(bound, limit);
    least = limit = bound;
    return true;
  });
  EXPECT_EQ(least, every.front());
}

}  // namespace
