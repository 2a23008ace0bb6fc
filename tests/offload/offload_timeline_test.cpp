// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_timeline.hpp>

#include <offload/random_offload_program.hpp>
#include <offload/reference_timeline.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

int rounds(int few, int many) { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? many : few; }

program_shape scarce_shape(draw& d) {
  program_shape s = any_shape(d, 14, 14, 1);
  s.scarce_tiers = d.one_in(4);
  return s;
}

/// Bytes in tier 0 after each event of the sequence, counted from the program alone.
void expect_sequence_fits(const hp::offload_program& p, const hp::offload_plan& plan, const hp::offload_timeline& t) {
  const hp::use_chains c = hp::chains_of(p);
  hp::extent_t alive = 0;
  for (int s = 0; s < p.storage.size; ++s)
    if (p.storage[s].persistent && p.storage[s].access_count > 0 && !hp::detail::starts_away(c, plan.gap.item, s))
      alive += p.storage[s].bytes;
  int next = 0;
  hp::extent_t now = 0, peak = alive;
  for (const hp::offload_event& e : t.sequence) {
    EXPECT_GE(e.time, now);
    now = e.time;
    switch (e.kind) {
      case hp::offload_event_kind::compute:
        ASSERT_EQ(e.index, next++);
        for (int u = c.first_use[e.index]; u < c.first_use[e.index + 1]; ++u) {
          const hp::operator_use& use = c.use[u];
          const bool again = use.gap_before >= 0 && plan.gap[use.gap_before].choice == hp::gap_choice::recompute;
          if (use.defines || again) alive += p.storage[use.storage].bytes;
        }
        break;
      case hp::offload_event_kind::store:
        break;
      case hp::offload_event_kind::detach:
        alive -= p.storage[c.gap[e.index].storage].bytes;
        break;
      case hp::offload_event_kind::prefetch:
        alive += p.storage[c.gap[e.index].storage].bytes;
        break;
      case hp::offload_event_kind::release:
        alive -= p.storage[e.index].bytes;
        break;
    }
    EXPECT_EQ(e.after, next - 1);
    EXPECT_EQ(e.alive, alive);
    EXPECT_LE(alive, p.tier[0].capacity);
    peak = std::max(peak, alive);
  }
  EXPECT_EQ(next, p.op.size);
  EXPECT_EQ(peak, t.peak[0]);
}

TEST(offload_timeline, agrees_with_the_rules_asked_slowly) {
  draw d(1);
  int feasible = 0, all = 0;
  for (int i = rounds(1500, 40000); i > 0; --i) {
    const hp::offload_program p = random_program(d, scarce_shape(d));
    ASSERT_EQ(hp::check(p).code, hp::offload_code::ok);
    for (int k = 0; k < 4; ++k, ++all) {
      const hp::offload_plan plan = random_plan(d, p);
      ASSERT_EQ(hp::check(p, plan).code, hp::offload_plan_code::ok);
      const hp::offload_timeline t = hp::timeline_of(p, plan);
      const reference_result r = reference_run(p, plan)();
      ASSERT_EQ(t.feasible, r.feasible) << "round " << i;
      if (!t.feasible) continue;
      ++feasible;
      ASSERT_EQ(t.makespan, r.makespan) << "round " << i;
      EXPECT_EQ(t.bytes_in, r.bytes_in);
      EXPECT_EQ(t.bytes_out, r.bytes_out);
      for (int q = 0; q < p.op.size; ++q) ASSERT_EQ(t.op[q].start, r.op_start[static_cast<std::size_t>(q)]);
      for (int j = 0; j < p.tier.size; ++j) {
        EXPECT_LE(t.peak[j], p.tier[j].capacity);
        EXPECT_EQ(t.peak[j], r.peak[j]);
      }
      EXPECT_GE(t.exposed, 0);
      expect_sequence_fits(p, plan, t);
      hp::offload_clock clock(p);
      EXPECT_EQ(clock.run(plan.gap.item), t.makespan);
      EXPECT_EQ(clock.run(plan.gap.item, t.makespan + 1), t.makespan);
      EXPECT_EQ(clock.run(plan.gap.item, t.makespan), hp::endless);
    }
  }
  EXPECT_GT(feasible, all / 10);
  EXPECT_LT(feasible, all);
}

}  // namespace
