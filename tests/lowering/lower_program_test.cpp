// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/lower_program.hpp>

#include <lowering/plan_with_accesses.hpp>
#include <lowering/random_cache_actions.hpp>
#include <lowering/runnable_program.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hp = hyperparallel;

namespace {

using programs::first_overwritten;
using programs::lowered;
using programs::random_program;
using tested::tries;

void expect_safe(const lowered& l) {
  ASSERT_EQ(l.plan.status, hp::program_flow_status{});
  const hp::program_proof proof = l.proof();
  EXPECT_EQ(proof.code, hp::program_proof_code::ok) << hp::to_text(proof.code) << ", task " << proof.task;
  const hp::planned_flow f = l.with_accesses();
  hp::detail::owned_flow_scratch x(f.flow().size);
  hp::extent_t bytes[hp::max_memory_tiers];
  std::fill(bytes, bytes + hp::max_memory_tiers, hp::extent_t{1} << 40);
  EXPECT_EQ(hp::check_flow(f.flow(), l.plan.machine.ranks, bytes, hp::tiers_of(l.program), x).code, hp::flow_code::ok);
  EXPECT_EQ(lowered::exactly(f), hp::exact_code::safe);
}

TEST(LowerProgram, EveryFlowIsProvedAndExactlySafe) {
  std::mt19937 random(6);
  for (int n = tries(25, 400); n > 0; --n) {
    const hp::sharded_program p = random_program(random, {4, 40, 2000, 0.35});
    hp::program_flow_options how;
    how.vector_queue = n % 3 == 0;
    expect_safe(lowered(p, how));
    expect_safe(lowered(p, how, hp::plan_addresses(p, {.lookahead = n % 5})));
  }
}

TEST(LowerProgram, NoWaitCanBeWeakenedUnnoticed) {
  std::mt19937 random(7);
  int weakened = 0, unsafe = 0;
  for (int n = tries(6, 60); n > 0; --n) {
    const lowered one(random_program(random, {3, 14, 500, 0.4}), hp::program_flow_options{});
    const hp::grown_execution_table table = hp::table_of(one.plan);
    const hp::planned_flow f = one.with_accesses();
    for (int q = 0, w = 0; q < table.size.queues; ++q)
      for (int r = table.queue_begin[q]; r < table.queue_begin[q + 1]; ++r)
        for (; w < table.record[r].wait_end; ++w) {
          hp::grown_execution_table weaker = table;
          if (--weaker.wait[w].threshold == 0) continue;
          hp::detail::list_readers(weaker);
          const bool proved = one.proof(weaker).code == hp::program_proof_code::ok;
          const hp::task& t = f.flow().task[table.record[r].task];
          const int in_flow = t.wait_begin + w - hp::wait_begin(table, r);
          --f.flow().wait[in_flow].threshold;
          const bool safe = lowered::exactly(f) == hp::exact_code::safe;
          ++f.flow().wait[in_flow].threshold;
          ++weakened;
          EXPECT_TRUE(safe || !proved);
          unsafe += safe ? 0 : 1;
        }
  }
  EXPECT_GT(weakened, 100);
  EXPECT_GT(unsafe, weakened * 9 / 10);  // hardly a wait follows from others
}

TEST(LowerProgram, MemoryThatAnotherTookIsNeverRead) {
  std::mt19937 random(8);
  int refused = 0, accepted = 0;
  for (int n = tries(300, 5000); n > 0; --n) {
    const hp::sharded_program p = random_program(random, {3, 12, 300, 0.3});
    const lowered l(p, {}, programs::careless_addresses(random, p));
    const int first = first_overwritten(l);
    EXPECT_EQ(l.plan.status.code, first < 0              ? hp::program_flow_code::ok
                                  : first == p.step.size ? hp::program_flow_code::home_is_overwritten
                                                         : hp::program_flow_code::place_is_overwritten);
    EXPECT_EQ(l.plan.status.step, first == p.step.size ? -1 : first);
    (first < 0 ? accepted : refused) += 1;
    if (first < 0) expect_safe(l);
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(accepted, 20);
}

TEST(LowerProgram, WhatANextTenantTakesDoesNotSurvive) {
  std::mt19937 random(9);
  for (int n = 0; n < 20; ++n) {
    const lowered l(random_program(random, {4, 40, 2000, 0.3}), hp::program_flow_options{});
    const programs::plan_with_accesses places{l.program, l.pulls, l.addresses, l.plan};
    std::vector<int> writer(static_cast<std::size_t>(l.program.storage.size), -1);
    for (int s = 0; s < l.program.step.size; ++s)
      hp::detail::visit_values(l.program, l.program.step[s], [&](int v, bool written) {
        if (written) writer[static_cast<std::size_t>(l.program.value[v].storage)] = s;
      });
    for (int s = 0; s < l.program.storage.size; ++s) {
      EXPECT_EQ(l.plan.writes[s], writer[static_cast<std::size_t>(s)] >= 0);
      bool taken = false;
      const auto own = places.of_place(s);
      for (int other = 0; other < l.program.storage.size; ++other) {
        const auto o = places.of_place(other);
        const bool shared = own.begin < o.end && o.begin < own.end;
        taken = taken || (shared && writer[static_cast<std::size_t>(other)] > writer[static_cast<std::size_t>(s)]);
      }
      EXPECT_TRUE(!taken || !l.plan.survives[s]);
    }
    for (int v = 0; v < l.program.value.size; ++v)
      EXPECT_TRUE(!hp::detail::is_shown(l.program.graph, l.program.value[v].tensor) ||
                  l.plan.survives[l.program.value[v].storage]);
  }
}

/// first(x) -> a; a moves to b; second(x) -> c; third(b, c) -> d: on four devices, `x` replicated, `a` partial.
constexpr hp::sharded_program diamond() {
  using enum programs::vector_program::lies;
  programs::vector_program v(4);
  const int x = v.value(0, whole, true), a = v.value(1, waits), b = v.value(1, whole);
  const int c = v.value(2, whole), d = v.value(3, whole);
  v.compute(x, -1, a);
  v.move(a, b);
  v.compute(x, -1, c);
  v.compute(b, c, d);
  return v.p;
}

TEST(LowerProgram, MovesRunBesideWhatDoesNotNeedThem) {
  hp::program_flow_options how;
  how.rates = {.operations_per_nanosecond = 1, .bytes_per_nanosecond = 1, .overhead = 0};  // bytes decide
  // A compute task takes 8192 ns, 12288 with two operands; either step of the move pulls 3072 bytes. Where memory is
  // tight, the result of the second task takes the place of what the first step of the move reads.
  const std::int64_t apart = (8192 + 8192 + 12288) * 1000, tight = apart + 3072 * 1000;
  const hp::sharded_program p = diamond();
  for (const int lookahead : {0, 1}) {
    lowered l(p, how, hp::plan_addresses(p, {.lookahead = lookahead}));
    expect_safe(l);
    ASSERT_EQ(l.pulls.of(0).row.size, 2);
    EXPECT_EQ(l.with_accesses().simulate().result.makespan, lookahead == 0 ? tight : apart);
  }
}

/// Computes in a row, each of a value of its own that a slower tier has; what it makes leaves for there.
struct streamed {
  static constexpr int count = 8;
  programs::vector_program v{2 * count};
  std::vector<hp::extent_t> duration;

  streamed(hp::extent_t compute, hp::extent_t copy) {
    for (int i = 0; i < count; ++i) {
      const int far = value(i, 1, true), x = value(i, 0), y = value(count + i, 0), kept = value(count + i, 1);
      v.move(far, x);
      v.compute(x, -1, y);
      v.move(y, kept);
      detach(far, x);
      detach(kept, y);
      duration.insert(duration.end(), {copy, compute, copy, 0, 0});
    }
  }
  int value(int tensor, int tier, bool home = false) {
    const int one = v.value(tensor, programs::vector_program::lies::whole, home);
    v.p.storage[v.p.value[one].storage].tier = tier;
    return one;
  }
  void detach(int kept, int left) {
    v.move(left, kept);
    v.p.move[v.p.move.size - 1].detaches = true;
  }
  /// Where nobody has to wait for memory.
  hp::extent_t makespan() const {
    hp::program_flow_options how;
    how.step_duration = duration.data();
    lowered l(v.p, how, hp::plan_addresses(v.p, {.lookahead = v.p.step.size}));
    expect_safe(l);
    hp::planned_flow planned = l.with_accesses();
    const hp::extent_t end = planned.simulate().result.makespan;
    const hp::dynamic_taskflow& f = planned.flow();
    for (int t = 0, next[4] = {}; t < f.size.tasks; ++t) {
      if (f.task[t].kind != hp::resource::copy_in) continue;
      EXPECT_EQ(planned.timeline().start[t], f.task[t].duration * next[f.task[t].rank]++);  // no detach holds it up
    }
    return end;
  }
};

TEST(LowerProgram, StoresAndPrefetchesRunAtOnce) {
  constexpr int n = streamed::count;
  // Each way takes n · 1000. The last store can only begin after the last compute, which waits for the last prefetch.
  EXPECT_EQ(streamed(10, 1000).makespan(), (n + 1) * 1000 + 10);
  // Where computing takes longer, all but the first and the last copy lie behind it.
  EXPECT_EQ(streamed(3000, 1000).makespan(), 1000 + n * 3000 + 1000);
}

TEST(LowerProgram, NobodyWaitsForADetachWhichComesAfterAllUsers) {
  std::mt19937 random(10);
  int detaches = 0;
  for (int n = tries(30, 300); n > 0; --n) {
    const hp::sharded_program whole = small_models::two_layers_on(2, n % 2 == 0);
    const programs::cache_plan plan = programs::random_cache_plan(whole, random, {.recomputed = 0});
    hp::cache_insertion_status status;
    lowered l(hp::insert_cache_operators(whole, plan.home_tier, plan.action, status), hp::program_flow_options{});
    ASSERT_EQ(status.code, hp::cache_insertion_code::ok);
    expect_safe(l);
    const hp::sharded_program& p = l.program;
    hp::planned_flow planned = l.with_accesses();
    const hp::dynamic_taskflow& f = planned.flow();
    const int per_rank = hp::detail::queues_per_rank(l.plan.machine);
    const int host = hp::detail::first_queue(l.plan.machine, 0, hp::resource::host);
    for (int w = 0; w < f.size.waits; ++w) EXPECT_NE(f.wait[w].event % per_rank, host);
    ASSERT_EQ(planned.simulate().result.code, hp::simulation_code::ok);
    const hp::dynamic_timeline& line = planned.timeline();
    std::vector<std::vector<std::int64_t>> used(static_cast<std::size_t>(p.storage.size), {0, 0});  // last on a rank
    for (int t = 0; t < f.size.tasks; ++t) {
      const hp::task& k = f.task[t];
      const hp::program_step& s = p.step[k.operation];
      const bool detaches_here = s.is_move && p.move[s.index].detaches;
      EXPECT_EQ(detaches_here, k.kind == hp::resource::host);
      if (detaches_here) {
        const int left = p.value[p.move[s.index].source].storage;
        EXPECT_GE(line.start[t], used[static_cast<std::size_t>(left)][static_cast<std::size_t>(k.rank)]);
        ++detaches;
        continue;
      }
      if (k.kind == hp::resource::link) continue;  // reads blocks of other ranks
      hp::detail::visit_values(p, s, [&](int v, bool) {
        std::int64_t& last = used[static_cast<std::size_t>(p.value[v].storage)][static_cast<std::size_t>(k.rank)];
        last = std::max(last, line.end[t]);
      });
    }
  }
  EXPECT_GT(detaches, 100);
}

TEST(LowerProgram, TasksAreNumberedByStepAndItem) {
  const lowered l(diamond(), hp::program_flow_options{});
  const hp::planned_flow planned(l.plan, l.plan.machine, {hp::priority::reference_order, 0});
  const hp::dynamic_taskflow& f = planned.flow();
  ASSERT_EQ(f.size.tasks, 4 * 3 + 4 * 2);
  std::vector<int> next(4, 0);
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    EXPECT_EQ(k.item, next[static_cast<std::size_t>(k.operation)]++);
    EXPECT_EQ(k.rank, k.item % 4);
    EXPECT_EQ(k.kind, k.operation == 1 ? hp::resource::link : hp::resource::aic);
  }
  hp::program_flow_options how;
  how.vector_queue = true;
  const lowered two(diamond(), how);
  for (const hp::plan_row& row : two.plan.row)
    EXPECT_NE(row.kind, hp::resource::aic);  // sums are work of the vector unit
  how.phases = hp::update_phases;
  EXPECT_EQ(lowered(diamond(), how).plan.tasks(), 0);
}

TEST(LowerProgram, RefusesWhatCannotBeMoved) {
  hp::sharded_program p = diamond();
  p.value[2].storage = p.value[1].storage;
  EXPECT_EQ(lowered(p, hp::program_flow_options{}).plan.status.code, hp::program_flow_code::move_is_in_place);
  p = diamond();
  p.value[2].rotation = {0, 1};
  EXPECT_EQ(lowered(p, hp::program_flow_options{}).plan.status.code, hp::program_flow_code::move_is_refused);
  for (int c = 0; c < 5; ++c) EXPECT_STRNE(hp::to_text(static_cast<hp::program_flow_code>(c)), "unknown");
}

constexpr int tasks_proved_at_compile_time() {
  const hp::sharded_program p = diamond();
  const hp::program_pulls pulls = hp::pulls_of(p);
  const hp::program_addresses a = programs::addresses_in_a_row(p, true);
  const hp::program_plan plan = hp::lower_program(p, pulls, a);
  const hp::grown_execution_table table = hp::table_of(plan);
  const hp::program_proof proof =
      hp::prove_program(p, pulls, a, hp::micro_phases | hp::update_phases, plan.machine, table);
  return proof.code == hp::program_proof_code::ok ? table.size.tasks : -1;
}
static_assert(tasks_proved_at_compile_time() == 20);

}  // namespace
