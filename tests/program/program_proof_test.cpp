// SPDX-License-Identifier: Apache-2.0
// Plans of training steps under every named strategy, broken in one place: the proof accepts none that is unsafe.
//
// The oracle is the exact checker on the accesses of the steps, a walk of who owns which cache line, and for answers
// that are missing the rule that a queue hears what it is told.

#include <hyperparallel/program/program_proof.hpp>

#include <hyperparallel/program/program_slots.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/stacked_model.hpp>
#include <program/plan_with_accesses.hpp>
#include <support/small_links.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using programs::lowered;

hp::sharded_program program_of(const char* strategy, int devices, int micro_batches) {
  programs::stacked_model model;
  model.unrolled = true;
  model.dense_layers = 1;
  model.key_heads = 4;
  model.micro_batches = micro_batches;
  hp::sharded_program p = hp::partition(model.build(), hp::strategy_called(strategy, devices).strategy);
  if (p.status.code == hp::strategy_code::ok) hp::set_run_types(p, hp::data_type::f32);
  return p;
}

/// Fewest bytes, by levels of links, and over the links of a full mesh of two dimensions.
std::vector<hp::interconnect> links_of(const hp::sharded_program& p) {
  const int ranks = hp::position_count(p.mesh.shape);
  return {hp::without_links, tested::node_links(), tested::mesh_links({2, {ranks / 2, 2}})};
}
lowered lowered_on(const hp::sharded_program& p, const hp::interconnect& links, const hp::program_flow_options& how,
                   const hp::address_options& addresses = {}) {
  const hp::program_moves moves = hp::kinds_of_moves(p, links);
  return {p, how, hp::pulls_of(p, moves), hp::plan_addresses(p, moves, addresses)};
}

TEST(ProgramProof, AcceptsAllPhasesOfEveryStrategy) {
  int programs = 0, moves_by_steps = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int micro_batches : {1, 2}) {
      const hp::sharded_program p = program_of(hp::named_strategy_at(i).name, 4, micro_batches);
      if (p.status.code != hp::strategy_code::ok) continue;  // the model has no experts, or four devices are too few
      ++programs;
      for (const hp::move_kind& k : hp::kinds_of_moves(p, tested::node_links()).kind) moves_by_steps += k.candidate != hp::move_candidate::exchange;
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

enum class mutation {
  lowered_wait,
  dropped_wait,
  redirected_wait,
  swapped_tasks,
  missing_answer,
  moved_place,
  moved_staging,
  shifted_staged_block,
  count
};
constexpr const char* names[] = {"lowered wait",
                                 "dropped wait",
                                 "wait for another queue",
                                 "swapped tasks",
                                 "missing answer",
                                 "place on another's addresses",
                                 "staging on another's addresses",
                                 "staged block on another one's"};

struct mutant {
  lowered l;
  hp::grown_execution_table table;
};

/// Breaks it in one place; false where the draw met nothing to break. The answers follow the waits.
bool mutate(mutation how, mutant& m, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  hp::grown_execution_table& t = m.table;
  if (how == mutation::moved_place) {
    const int s = below(m.l.program.storage.size), other = below(m.l.program.storage.size);
    m.l.addresses.storage[s] = m.l.addresses.storage[other] + hp::storage_alignment * (below(3) - 1);
    return s != other && m.l.addresses.storage[s] >= 0;
  }
  if (how == mutation::moved_staging) {
    const int move = below(m.l.program.move.size), other = below(m.l.program.storage.size);
    if (m.l.addresses.staged[move] < 0) return false;
    m.l.addresses.staged[move] = m.l.addresses.storage[other] + hp::storage_alignment * (below(3) - 1);
    return m.l.addresses.staged[move] >= 0;
  }
  if (how == mutation::shifted_staged_block) {
    hp::move_kind& kind = m.l.pulls.moves.kind[below(m.l.pulls.moves.kind.size)];
    if (kind.staged.size < 2) return false;
    const int block = 1 + below(kind.staged.size - 1);
    kind.staged[block].offset = kind.staged[block - 1].offset;
    return true;
  }
  if (how == mutation::missing_answer) {
    const int r = below(t.size.tasks);
    if (hp::reader_begin(t, r) == t.record[r].reader_end) return false;
    for (int i = hp::reader_begin(t, r); i + 1 < t.reader.size; ++i) t.reader[i] = t.reader[i + 1];
    for (int i = r; i < t.size.tasks; ++i) --t.record[i].reader_end;
    return true;
  }
  if (how == mutation::swapped_tasks) {
    const int r = below(t.size.tasks - 1);
    for (int q = 0; q < t.size.queues; ++q)
      if (t.queue_begin[q] == r + 1) return false;
    const hp::execution_record one = t.record[r], next = t.record[r + 1];
    const int begin = hp::wait_begin(t, r);
    hp::growing_array<hp::word_wait> waits;
    for (int w = one.wait_end; w < next.wait_end; ++w) waits.push(t.wait[w]);
    for (int w = begin; w < one.wait_end; ++w) waits.push(t.wait[w]);
    for (int w = 0; w < waits.size; ++w) t.wait[begin + w] = waits[w];
    t.record[r] = next;
    t.record[r].wait_end = begin + next.wait_end - one.wait_end;
    t.record[r + 1] = one;
    t.record[r + 1].wait_end = next.wait_end;
    hp::detail::list_readers(t);
    return true;
  }
  const int w = below(t.size.waits);
  if (how == mutation::lowered_wait) {
    if (t.wait[w].threshold == 1) return false;
    t.wait[w].threshold = 1 + below(t.wait[w].threshold - 1);
  } else if (how == mutation::redirected_wait) {
    t.wait[w].word = below(t.size.queues);
    t.wait[w].threshold = 1 + below(t.queue_begin[t.wait[w].word + 1] - t.queue_begin[t.wait[w].word]);
  } else {
    for (int i = w; i + 1 < t.size.waits; ++i) t.wait[i] = t.wait[i + 1];
    t.wait.resize(t.size.waits - 1);
    for (hp::execution_record& r : t.record) r.wait_end -= r.wait_end > w ? 1 : 0;
  }
  hp::detail::list_readers(t);
  return true;
}

bool is_safe(mutation how, const mutant& m) {
  if (how == mutation::missing_answer) return false;  // a queue sleeps for ever
  if (how == mutation::moved_place || how == mutation::moved_staging || how == mutation::shifted_staged_block)
    return first_overwritten(m.l) < 0 && m.l.exactly() == hp::exact_code::safe;
  return exactly(m.l, m.table) == hp::exact_code::safe;
}

TEST(ProgramProof, NoBrokenPlanIsAccepted) {
  std::mt19937 random(47);
  std::vector<mutant> whole;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = program_of(hp::named_strategy_at(i).name, i % 2 == 0 ? 4 : 2, 1 + i % 3 / 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    hp::program_flow_options how;
    if (i % 4 == 3) how.phases = hp::micro_phases;
    for (const hp::interconnect& links : links_of(p)) {
      const lowered l = lowered_on(p, links, how);
      const hp::grown_execution_table table = hp::table_of(l.plan);
      if (table.size.waits > 0) whole.push_back({l, table});
    }
  }
  const int wanted = tested::tries(60, 500);
  for (int k = 0; k < static_cast<int>(mutation::count); ++k) {
    const mutation how = static_cast<mutation>(k);
    int unsafe = 0, harmless = 0, refused_harmless = 0, drawn = 0;
    for (; unsafe < wanted && drawn < 100 * wanted; ++drawn) {
      mutant m = whole[random() % whole.size()];
      if (!mutate(how, m, random)) continue;
      const bool accepted = m.l.proof(m.table).code == hp::program_proof_code::ok, safe = is_safe(how, m);
      ASSERT_FALSE(accepted && !safe) << names[k] << ", draw " << drawn;
      (safe ? harmless : unsafe) += 1;
      refused_harmless += safe && !accepted ? 1 : 0;
    }
    EXPECT_EQ(unsafe, wanted) << names[k];
    std::printf("%-30s %d unsafe, none accepted; %d harmless, %d of them refused\n", names[k], unsafe, harmless,
                refused_harmless);
  }
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
