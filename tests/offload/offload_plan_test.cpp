// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_plan.hpp>

#include <offload/random_offload_program.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

using code = hp::offload_plan_code;

TEST(offload_plan, refuses_what_leaves_its_window) {
  draw d(1);
  int seen[16] = {};
  for (int i = 0; i < 3000; ++i) {
    const hp::offload_program p = random_program(d, movable_shape(d, 30, 3));
    const hp::use_chains c = hp::chains_of(p);
    hp::offload_plan plan = random_plan(d, p);
    ASSERT_EQ(hp::check(p, plan), hp::offload_plan_status{});
    const int g = d.below(c.gap.size);
    hp::gap_decision& one = plan.gap[g];
    if (one.choice != hp::gap_choice::offload) continue;
    code expected = code::ok;
    switch (d.below(5)) {
      case 0:
        one.tier = d.one_in(2) ? 0 : 3;
        expected = code::tier_is_unknown;
        break;
      case 1:
        one.store_after = c.gap[g].from + 1;
        expected = code::store_is_outside_its_window;
        break;
      case 2:
        one.store_after = c.gap[g].last_write - 1;
        expected = code::store_is_outside_its_window;
        break;
      case 3:
        one.fetch_after = c.gap[g].to;
        expected = code::fetch_is_outside_its_window;
        break;
      default:
        one.fetch_after = (c.gap[g].wraps ? -1 : c.gap[g].from) - 1;
        expected = code::fetch_is_outside_its_window;
        break;
    }
    const hp::offload_plan_status status = hp::check(p, plan);
    EXPECT_EQ(status.code, expected);
    EXPECT_EQ(status.gap, g);
    EXPECT_EQ(status.storage, c.gap[g].storage);
    ++seen[static_cast<int>(expected)];
  }
  for (const code one : {code::tier_is_unknown, code::store_is_outside_its_window, code::fetch_is_outside_its_window})
    EXPECT_GT(seen[static_cast<int>(one)], 100);
}

TEST(offload_plan, refuses_what_control_excludes) {
  draw d(2);
  for (int i = 0; i < 300; ++i) {
    hp::offload_program p = random_program(d, movable_shape(d, 30, 3));
    const int gaps = hp::gaps_of(p).size, g = d.below(gaps), s = hp::gaps_of(p)[g].storage;
    hp::offload_plan plan = hp::keep_all(gaps);
    plan.gap[g] = {hp::gap_choice::offload, 1, hp::gaps_of(p)[g].from, hp::gaps_of(p)[g].to - 1};
    ASSERT_EQ(hp::check(p, plan).code, code::ok);
    p.storage[s].control = hp::offload_control::keep;
    EXPECT_EQ(hp::check(p, plan).code, code::offloads_against_control);
    EXPECT_EQ(hp::check(p, hp::keep_all(gaps)).code, code::ok);
    p.storage[s].control = hp::offload_control::offload;
    EXPECT_EQ(hp::check(p, hp::keep_all(gaps)).code, code::keeps_against_control);
    p.storage[s].tier = 2;
    EXPECT_NE(hp::check(p, plan).code, code::ok);
    p.storage[s].control = hp::offload_control::automatic;
    p.storage[s].recompute = -1;
    plan.gap[g].choice = hp::gap_choice::recompute;
    EXPECT_EQ(hp::check(p, plan).code, code::recomputes_what_cannot_be);
  }
  hp::offload_program p = random_program(d, movable_shape(d, 30, 3));
  EXPECT_EQ(hp::check(p, hp::keep_all(hp::gaps_of(p).size + 1)).code, code::decisions_do_not_match_the_gaps);
}

/// By the definition: every pair.
bool order_is_legal(const hp::offload_program& p, const hp::growing_array<int>& order) {
  const hp::use_chains c = hp::chains_of(p);
  for (int i = 0; i < order.size; ++i)
    for (int k = i + 1; k < order.size; ++k) {
      const int a = order[i], b = order[k];
      if (a < b) continue;
      if (!p.op[a].movable && !p.op[b].movable) return false;
      for (int u = c.first_use[a]; u < c.first_use[a + 1]; ++u)
        for (int v = c.first_use[b]; v < c.first_use[b + 1]; ++v)
          if (c.use[u].storage == c.use[v].storage && (c.use[u].writes || c.use[v].writes)) return false;
    }
  return true;
}

TEST(offload_plan, takes_exactly_the_orders_without_conflict) {
  draw d(3);
  int legal = 0, all = 0;
  for (int i = 0; i < 2000; ++i, ++all) {
    const hp::offload_program p = random_program(d, movable_shape(d, 30, 3));
    hp::growing_array<int> order = random_order(d, p);
    EXPECT_TRUE(order_is_legal(p, order));
    std::swap(order[d.below(p.op.size)], order[d.below(p.op.size)]);
    const bool accepted = hp::detail::check_order(p, order).code == code::ok;
    EXPECT_EQ(accepted, order_is_legal(p, order));
    legal += accepted ? 1 : 0;
    EXPECT_TRUE(!accepted || hp::check(hp::reordered(p, order)).code == hp::offload_code::ok);
    order[0] = order[1];
    EXPECT_EQ(hp::detail::check_order(p, order).code, code::order_is_no_permutation);
  }
  EXPECT_GT(legal, all / 20);
  EXPECT_LT(legal, all);
}

TEST(offload_plan, reorders_accesses_with_their_operators) {
  draw d(4);
  for (int i = 0; i < 500; ++i) {
    const hp::offload_program p = random_program(d, movable_shape(d, 30, 3));
    const hp::growing_array<int> order = random_order(d, p);
    const hp::offload_program r = hp::reordered(p, order);
    for (int s = 0; s < p.storage.size; ++s)
      for (int a = r.storage[s].first_access; a < r.storage[s].first_access + r.storage[s].access_count; ++a) {
        hp::storage_access one = r.access[a];
        one.op = order[one.op];
        bool known = false;
        for (int b = p.storage[s].first_access; b < p.storage[s].first_access + p.storage[s].access_count; ++b)
          known = known || p.access[b] == one;
        EXPECT_TRUE(known);
      }
    hp::growing_array<int> back;
    back.resize(order.size);
    for (int q = 0; q < order.size; ++q) back[order[q]] = q;
    EXPECT_EQ(hp::reordered(r, back), p);
    EXPECT_EQ(hp::reordered(p, {}), p);
  }
}

TEST(offload_plan, has_a_sentence_for_every_code) {
  EXPECT_STREQ(hp::to_text(code::ok), "ok");
  EXPECT_STREQ(hp::to_text(code::fetch_is_outside_its_window),
               "the fetch is not between the begin and the end of the gap");
}

}  // namespace
