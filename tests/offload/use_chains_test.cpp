// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/use_chains.hpp>

#include <offload/random_offload_program.hpp>
#include <offload/small_periods.hpp>

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

hp::offload_program any_program(draw& d) { return random_program(d, any_shape(d, 20, 100, 1)); }

const hp::storage_access* access_at(const hp::offload_program& p, int s, int op) {
  for (int a = 0; a < p.storage[s].access_count; ++a)
    if (p.access[p.storage[s].first_access + a].op == op) return &p.access[p.storage[s].first_access + a];
  return nullptr;
}

/// Whether storage s holds a value while operator q runs.
bool alive_at(const hp::offload_program& p, int s, int q) {
  bool before = false, after = false;
  for (int op = 0; op < p.op.size; ++op) {
    if (access_at(p, s, op) == nullptr) continue;
    before = before || op <= q;
    after = after || op >= q;
  }
  return p.storage[s].persistent ? before || after : before && after;
}

TEST(use_chains, finds_the_gaps_that_a_walk_over_two_periods_finds) {
  draw d(1);
  for (int i = 0; i < 1000; ++i) {
    const hp::offload_program p = any_program(d);
    const hp::use_chains c = hp::chains_of(p);
    std::set<std::tuple<int, int, int, bool>> expected, found;
    for (int s = 0; s < p.storage.size; ++s) {
      const int n = p.op.size;
      for (int from = 0; from < n; ++from) {
        if (access_at(p, s, from) == nullptr) continue;
        int to = from + 1;
        while (to < 2 * n && access_at(p, s, to % n) == nullptr) ++to;
        if (to == 2 * n || to - from < 2) continue;
        if (to < n) expected.insert({s, from, to, false});
        if (to >= n && p.storage[s].persistent) expected.insert({s, from, to - n, true});
      }
    }
    for (int g = 0; g < c.gap.size; ++g) {
      const hp::storage_gap& gap = c.gap[g];
      found.insert({gap.storage, gap.from, gap.to, gap.wraps});
      EXPECT_GE(g, c.first_gap[gap.storage]);
      EXPECT_LT(g, c.first_gap[gap.storage + 1]);
      int write = -1;
      for (int op = 0; op <= gap.from; ++op)
        if (access_at(p, gap.storage, op) != nullptr && access_at(p, gap.storage, op)->writes) write = op;
      EXPECT_EQ(gap.last_write, write);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(static_cast<int>(found.size()), c.gap.size);
  }
}

TEST(use_chains, lists_uses_of_operators) {
  draw d(2);
  for (int i = 0; i < 500; ++i) {
    const hp::offload_program p = any_program(d);
    const hp::use_chains c = hp::chains_of(p);
    int uses = 0;
    for (int q = 0; q < p.op.size; ++q)
      for (int u = c.first_use[q]; u < c.first_use[q + 1]; ++u, ++uses) {
        const hp::operator_use& use = c.use[u];
        const hp::offload_storage& s = p.storage[use.storage];
        ASSERT_EQ(p.access[s.first_access + use.access].op, q);
        EXPECT_EQ(use.writes, p.access[s.first_access + use.access].writes);
        EXPECT_EQ(use.defines, use.access == 0 && !s.persistent);
        int write = -1;
        for (int a = 0; a < use.access; ++a)
          if (p.access[s.first_access + a].writes) write = a;
        EXPECT_EQ(use.previous_write, write);
        EXPECT_LT(u > c.first_use[q] ? c.use[u - 1].storage : -1, use.storage);
        for (int g = 0; g < c.gap.size; ++g) {
          if (c.gap[g].storage != use.storage) continue;
          EXPECT_EQ(use.gap_before == g, c.gap[g].to == q);
          EXPECT_EQ(use.gap_after == g, c.gap[g].from == q);
        }
      }
    EXPECT_EQ(uses, p.access.size);
  }
}

TEST(use_chains, counts_live_bytes) {
  draw d(3);
  for (int i = 0; i < 500; ++i) {
    const hp::offload_program p = any_program(d);
    const auto live = hp::live_bytes(p);
    const auto gaps = hp::gaps_of(p);
    for (int q = 0; q < p.op.size; ++q) {
      hp::extent_t sum = 0, parts = 0;
      for (int s = 0; s < p.storage.size; ++s) {
        if (alive_at(p, s, q)) sum += p.storage[s].bytes;
        if (access_at(p, s, q) != nullptr) parts += p.storage[s].bytes;
      }
      for (const hp::storage_gap& g : gaps)
        if (hp::covers(g, q)) parts += p.storage[g.storage].bytes;
      EXPECT_EQ(live[q], sum);
      EXPECT_EQ(live[q], parts);
    }
  }
}

TEST(use_chains, times_operators_by_queues_and_conflicts) {
  draw d(4);
  for (int i = 0; i < 500; ++i) {
    const hp::offload_program p = any_program(d);
    const hp::use_chains c = hp::chains_of(p);
    const hp::operator_times t = hp::times_without_copies(p, c);
    hp::extent_t latest = 0, compute = 0;
    for (int q = 0; q < p.op.size; ++q) {
      hp::extent_t start = q > 0 ? t.start[q - 1] : 0;
      for (int before = 0; before < q; ++before) {
        bool waits = p.op[before].link == p.op[q].link;
        for (int s = 0; s < p.storage.size; ++s) {
          const hp::storage_access *a = access_at(p, s, before), *b = access_at(p, s, q);
          waits = waits || (a != nullptr && b != nullptr && (a->writes || b->writes));
        }
        if (waits) start = std::max(start, t.end[before]);
      }
      EXPECT_EQ(t.start[q], start);
      EXPECT_EQ(t.end[q], start + p.op[q].duration);
      latest = std::max(latest, t.end[q]);
      if (p.op[q].link < 0) compute += p.op[q].duration;
    }
    EXPECT_EQ(t.total, latest);
    EXPECT_GE(t.total, compute);
    for (const hp::storage_gap& g : c.gap) EXPECT_GE(hp::detail::gap_time(t, g), 0);
  }
}

/// a defines 0, b reads it; storage 1 is made from it by operator 1 and read last.
constexpr hp::offload_program with_operand(int operand_last, bool operand_is_written) {
  hp::offload_program p;
  p.tier.push({100, -1, -1});
  for (int q = 0; q < 6; ++q) p.op.push({10, -1, false});
  if (operand_is_written)
    add_accessed(p, {.bytes = 5}, {{0, false, true}, {1, true, false}, {2, true, true}, {operand_last, true, false}});
  else
    add_accessed(p, {.bytes = 5}, {{0, false, true}, {1, true, false}, {operand_last, true, false}});
  add_accessed(p, {.bytes = 5, .recompute = 10, .operand_count = 1}, {{1, false, true}, {4, true, false}});
  p.operand.push(0);
  return p;
}

constexpr bool second_is_recomputable(const hp::offload_program& p) {
  const hp::use_chains c = hp::chains_of(p);
  return c.gap[c.first_gap[1]].recomputable;
}

TEST(use_chains, recomputes_only_from_what_still_holds) {
  static_assert(second_is_recomputable(with_operand(5, false)));
  static_assert(second_is_recomputable(with_operand(4, false)));
  static_assert(!second_is_recomputable(with_operand(3, false)), "the operand is dead");
  static_assert(!second_is_recomputable(with_operand(5, true)), "the operand was written");
  hp::offload_program p = with_operand(5, false);
  p.storage[1].recompute = -1;
  EXPECT_FALSE(second_is_recomputable(p));
}

TEST(use_chains, control_leaves_what_it_says) {
  hp::offload_program p = with_operand(5, false);
  p.link.push({1000, 0});
  p.tier.push({100, 0, 0});
  const auto rights = [&p] { return hp::rights_of(p, hp::chains_of(p)); };
  EXPECT_TRUE(rights()[0].keep && rights()[0].offload && !rights()[0].recompute);
  EXPECT_TRUE(rights()[1].keep && rights()[1].offload && rights()[1].recompute);
  p.storage[1].control = hp::offload_control::keep;
  EXPECT_TRUE(rights()[1].keep && !rights()[1].offload && !rights()[1].recompute);
  p.storage[1].control = hp::offload_control::recompute;
  EXPECT_TRUE(!rights()[1].keep && !rights()[1].offload && rights()[1].recompute);
  p.storage[1].control = hp::offload_control::offload;
  p.storage[1].tier = 1;
  EXPECT_TRUE(!rights()[1].keep && rights()[1].offload && !rights()[1].recompute && rights()[1].tier == 1);
  p.storage[0].control = hp::offload_control::offload;
  EXPECT_FALSE(rights()[0].keep);
}

}  // namespace
