// SPDX-License-Identifier: Apache-2.0
// Plans of training steps under every named strategy, broken in one place: the proof accepts none that is unsafe.
//
// The oracle is the exact checker on the accesses of the steps, a walk of who owns which cache line, and for answers
// that are missing the rule that a queue hears what it is told.

#include <hyperparallel/lowering/program_proof.hpp>

#include <lowering/broken_tables.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using programs::links_of;
using programs::lowered;
using programs::lowered_on;
using programs::mutant;
using programs::mutate;
using programs::mutation;
using programs::program_of;

TEST(ProgramProof, AcceptsAllPhasesOfEveryStrategy) {
  int programs = 0, moves_by_steps = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int micro_batches : {1, 2}) {
      const hp::sharded_program p = program_of(hp::named_strategy_at(i).name, 4, micro_batches);
      if (p.status.code != hp::strategy_code::ok) continue;  // the model has no experts, or four devices are too few
      ++programs;
      for (const hp::move_kind& k : hp::kinds_of_moves(p, tested::node_links()).kind)
        moves_by_steps += k.candidate != hp::move_candidate::exchange;
      for (const unsigned phases : {hp::micro_phases | hp::update_phases, hp::micro_phases, hp::update_phases})
        for (int n = 0; n < 6; ++n) {
          const int lookahead = n % 2 == 0 ? 0 : 3;
          if (phases == hp::update_phases && n > 1) continue;
          hp::program_flow_options how;
          how.phases = phases;
          how.vector_queue = lookahead > 0;
          const lowered l = lowered_on(p, links_of(p)[static_cast<std::size_t>(n / 2)], how, {.lookahead = lookahead});
          ASSERT_EQ(l.plan.status.code, hp::program_flow_code::ok);
          const hp::program_proof proof = l.proof();
          EXPECT_EQ(proof.code, hp::program_proof_code::ok)
              << hp::named_strategy_at(i).name << ": " << hp::to_text(proof.code) << ", task " << proof.task;
          EXPECT_LE(proof.bytes[0], l.addresses.high_water[0]);
          EXPECT_EQ(first_overwritten(l), -1);
          EXPECT_TRUE(lookahead > 0 || l.exactly() == hp::exact_code::safe);
        }
    }
  EXPECT_GE(programs, 36);
  EXPECT_GE(moves_by_steps, 20);
}

/// The plan with the waits and the queues of a table.
hp::exact_code exactly(const lowered& l, const hp::grown_execution_table& t) {
  std::vector<int> record(static_cast<std::size_t>(t.size.tasks));
  for (int r = 0; r < t.size.tasks; ++r) record[static_cast<std::size_t>(t.record[r].task)] = r;
  lowered changed = l;
  changed.plan.wait.clear();
  for (int task = 0; task < t.size.tasks; ++task) {
    const int r = record[static_cast<std::size_t>(task)];
    for (int w = hp::wait_begin(t, r); w < t.record[r].wait_end; ++w) changed.plan.wait.push(t.wait[w]);
    changed.plan.wait_end[task] = changed.plan.wait.size;
  }
  const hp::planned_flow f = changed.with_accesses();
  for (int r = 0; r < t.size.tasks; ++r) f.schedule().queue_task[r] = t.record[r].task;
  return lowered::exactly(f);
}

bool is_safe(mutation how, const mutant& m) {
  if (how == mutation::missing_answer) return false;  // a queue sleeps for ever
  if (how == mutation::moved_place || how == mutation::moved_staging || how == mutation::shifted_staged_block)
    return first_overwritten(m.l) < 0 && m.l.exactly() == hp::exact_code::safe;
  return exactly(m.l, m.table) == hp::exact_code::safe;
}

/// Of each class so many unsafe plans, none of which is accepted.
void refuse_broken(const std::vector<mutant>& whole, int wanted) {
  std::mt19937 random(47);
  for (int k = 0; k < static_cast<int>(mutation::count); ++k) {
    const mutation how = static_cast<mutation>(k);
    int unsafe = 0, harmless = 0, refused_harmless = 0, drawn = 0;
    for (; unsafe < wanted && drawn < 100 * wanted; ++drawn) {
      mutant m = whole[random() % whole.size()];
      if (!mutate(how, m, random)) continue;
      const bool accepted = m.l.proof(m.table).code == hp::program_proof_code::ok, safe = is_safe(how, m);
      ASSERT_FALSE(accepted && !safe) << programs::mutation_names[k] << ", draw " << drawn;
      (safe ? harmless : unsafe) += 1;
      refused_harmless += safe && !accepted ? 1 : 0;
    }
    const bool meets_something = unsafe + harmless > 0;  // some tables have nothing staged
    EXPECT_EQ(unsafe, meets_something ? wanted : 0) << programs::mutation_names[k];
    std::printf("%-30s %d unsafe, none accepted; %d harmless, %d of them refused\n", programs::mutation_names[k],
                unsafe, harmless, refused_harmless);
  }
}

TEST(ProgramProof, NoBrokenPlanIsAccepted) { refuse_broken(programs::whole_tables(), tested::tries(60, 500)); }

// The oracle's accesses of tiles are found element by element.
TEST(ProgramProof, NoBrokenPlanOfTilesIsAccepted) {
  const std::vector<mutant> whole = programs::tiled_tables();
  EXPECT_GE(whole.size(), 30U);
  for (const mutant& m : whole) {
    EXPECT_EQ(m.l.proof(m.table).code, hp::program_proof_code::ok);
    EXPECT_EQ(m.l.exactly(), hp::exact_code::safe);
    EXPECT_EQ(first_overwritten(m.l), -1);
  }
  refuse_broken(whole, tested::tries(30, 300));
}

// What is wrong with the table itself, whatever the memory says.
TEST(ProgramProof, ATableOfOtherTasksIsRefused) {
  const lowered l(program_of("dp-tp", 4, 1), {});
  const hp::grown_execution_table whole = hp::table_of(l.plan);
  const auto code_of = [&](const auto& change) {
    hp::grown_execution_table t = whole;
    change(t);
    return l.proof(t).code;
  };
  using enum hp::program_proof_code;
  EXPECT_EQ(code_of([](auto&) {}), ok);
  EXPECT_EQ(code_of([](auto& t) { ++t.record[3].item; }), task_is_missing);
  EXPECT_EQ(code_of([](auto& t) { ++t.record[3].rank; }), task_is_missing);
  EXPECT_EQ(code_of([](auto& t) { ++t.record[3].kernel; }), task_is_missing);
  EXPECT_EQ(code_of([](auto& t) { ++t.queue_begin[t.size.queues]; }), task_is_not_of_the_program);
  EXPECT_EQ(code_of([](auto& t) { t.wait[0].threshold = 100'000; }), wait_is_not_behind);
  EXPECT_EQ(code_of([](auto& t) { t.wait[0].word = t.size.queues; }), wait_is_not_behind);
  EXPECT_EQ(code_of([](auto& t) { t.reader[0] = (t.reader[0] + 1) % t.size.queues; }), wait_is_not_answered);
  for (int c = 0; c <= static_cast<int>(block_is_larger_than_its_place); ++c)
    EXPECT_STRNE(hp::to_text(static_cast<hp::program_proof_code>(c)), "unknown");
}

// Memory that is only read counts too.
TEST(ProgramProof, TellsTheBytesThatTasksTouch) {
  lowered l(program_of("dp-tp", 4, 1), {});
  const hp::grown_execution_table table = hp::table_of(l.plan);
  EXPECT_LE(l.proof(table).bytes[0], l.addresses.high_water[0]);
  const int tokens = l.program.home[hp::find_tensor(l.program.graph, "tokens")];
  l.addresses.storage[l.program.value[tokens].storage] = 2 * l.addresses.high_water[0];
  const hp::program_proof proof = l.proof(table);
  EXPECT_EQ(proof.code, hp::program_proof_code::ok);
  EXPECT_GT(proof.bytes[0], 2 * l.addresses.high_water[0]);
}

TEST(ProgramProof, ABlockHasToFitItsPlace) {
  lowered l(program_of("dp-tp", 4, 1), {});
  const hp::grown_execution_table table = hp::table_of(l.plan);
  const int storage = l.program.value[l.program.compute[0].result[0]].storage;
  l.program.storage[storage].bytes = 0;
  EXPECT_EQ(l.proof(table).code, hp::program_proof_code::block_is_larger_than_its_place);
}

}  // namespace
