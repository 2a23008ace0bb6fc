// SPDX-License-Identifier: Apache-2.0
// One rank for all: its plan, moved to every rank, against the plan of all ranks, the proof of that and the exact checker.
#include <hyperparallel/lowering/rank_class.hpp>

#include <lowering/broken_tables.hpp>
#include <lowering/one_move.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

namespace hp = hyperparallel;

namespace {

using programs::lowered;
using programs::lowered_on;

TEST(RankClass, DifferencesAreAGroup) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {5}}, hp::mesh_shape{2, {3, 4}}, hp::mesh_shape{3, {2, 3, 2}}}) {
    const hp::rank_differences by(m);
    ASSERT_EQ(by.ranks(), hp::position_count(m));
    for (int a = 0; a < by.ranks(); ++a)
      for (int b = 0; b < by.ranks(); ++b) {
        EXPECT_EQ(by.plus(b, by.less(a, b)), a);
        EXPECT_EQ(by.less(b, a), by.opposite(by.less(a, b)));
        EXPECT_EQ(by.plus(by.plus(0, a), b), by.plus(by.plus(0, b), a));
      }
    for (int a = 0; a < by.ranks(); ++a) EXPECT_EQ(by.less(a, 0), a);
  }
}

/// The senders of every rank are among those of the class, and are all of them, for all ranks, exactly where it says so.
TEST(RankClass, HasTheSendersOfEveryRank) {
  std::mt19937 random(71);
  int exact = 0, united = 0;
  for (int n = tested::tries(300, 5000); n > 0; --n) {
    const hp::sharded_program p = programs::random_move(random, n % 2 == 0 ? hp::reduce_op::none : hp::reduce_op::sum);
    const hp::rank_differences by(p.mesh.shape);
    for (const hp::interconnect& links : {hp::without_links, tested::node_links(), tested::mesh_links(p.mesh.shape)}) {
      const hp::program_pulls pulls = hp::pulls_of(p, hp::kinds_of_moves(p, links));
      const hp::class_pulls c = hp::class_of(p, pulls, hp::class_words(p, 3));
      for (int row = 0; row < pulls.of(0).row.size; ++row) {
        const int at = c.row_of(pulls.moves, 0, row);
        const std::set<int> senders(c.sender.begin() + c.sender_begin[at], c.sender.begin() + c.sender_begin[at + 1]);
        ASSERT_EQ(static_cast<int>(senders.size()), c.sender_begin[at + 1] - c.sender_begin[at]) << "listed twice";
        bool same = true;
        for (int r = 0; r < by.ranks(); ++r) {
          std::set<int> own;
          const hp::move_pulls& one = pulls.of(0);
          for (int s = one.sender_begin[row * by.ranks() + r]; s < one.sender_begin[row * by.ranks() + r + 1]; ++s)
            own.insert(by.less(one.sender[s], r));
          ASSERT_TRUE(std::includes(senders.begin(), senders.end(), own.begin(), own.end()));
          same = same && own == senders;
        }
        ASSERT_EQ(c.exact[at], same);
        (same ? exact : united) += 1;
      }
    }
  }
  EXPECT_GT(exact, 300);
  EXPECT_GT(united, 50);
}

std::vector<std::vector<std::pair<int, int>>> waits_of(const hp::program_plan& plan) {
  std::vector<std::vector<std::pair<int, int>>> all(static_cast<std::size_t>(plan.tasks()));
  for (int t = 0, w = 0; t < plan.tasks(); ++t) {
    for (; w < plan.wait_end[t]; ++w)
      all[static_cast<std::size_t>(t)].push_back({plan.wait[w].word, plan.wait[w].threshold});
    std::sort(all[static_cast<std::size_t>(t)].begin(), all[static_cast<std::size_t>(t)].end());
  }
  return all;
}

struct classed {
  lowered l;  ///< its plan is that of the class, moved to all ranks
  hp::program_plan of_class;
  hp::grown_execution_table table;

  classed(const lowered& whole) : l(whole) {
    of_class = hp::lower_class(l.program, l.pulls, l.addresses, l.how);
    l.plan = hp::plan_of_all_ranks(of_class, l.program);
    table = table_of_class(of_class);
  }
  hp::grown_execution_table table_of_class(const hp::program_plan& plan) const {
    hp::grown_execution_table t = hp::table_of(plan);
    hp::detail::list_readers_of_class(t, hp::class_words(l.program, hp::detail::queues_per_rank(plan.machine)));
    return t;
  }
  hp::program_proof_code proof(const hp::grown_execution_table& t) const {
    return hp::prove_class(l.program, l.pulls, l.addresses, l.how.phases, of_class.machine, t).code;
  }
};

TEST(RankClass, ItsPlanIsThatOfAllRanks) {
  int programs = 0, same_plans = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::interconnect& links : programs::links_of(p))
      for (const unsigned phases : {hp::micro_phases | hp::update_phases, hp::micro_phases, hp::update_phases})
        for (const int lookahead : {0, 3}) {
          SCOPED_TRACE(hp::named_strategy_at(i).name);
          hp::program_flow_options how;
          how.phases = phases;
          how.vector_queue = lookahead > 0;
          const lowered whole = lowered_on(p, links, how, {.lookahead = lookahead});
          const classed c(whole);
          ASSERT_EQ(c.of_class.status.code, hp::program_flow_code::ok);
          ASSERT_EQ(c.of_class.row.size, whole.plan.row.size);
          EXPECT_EQ(c.of_class.survives, whole.plan.survives);
          EXPECT_EQ(c.of_class.writes, whole.plan.writes);
          EXPECT_EQ(c.proof(c.table), hp::program_proof_code::ok);
          EXPECT_EQ(c.l.proof().code, hp::program_proof_code::ok);
          EXPECT_TRUE(lookahead > 0 || c.l.exactly() == hp::exact_code::safe);
          ++programs;
          const hp::class_pulls pulls = hp::class_of(p, whole.pulls, hp::class_words(p, 3));
          bool exact = true;
          for (const bool e : pulls.exact) exact = exact && e;
          if (!exact) continue;
          ++same_plans;
          EXPECT_EQ(waits_of(c.l.plan), waits_of(whole.plan));
        }
  }
  EXPECT_GE(programs, 300);
  EXPECT_GE(same_plans, 50);
}

/// A wait of rank 0 that is lowered, dropped or renamed is so on every rank.
TEST(RankClass, NoBrokenPlanIsAccepted) {
  std::mt19937 random(72);
  std::vector<classed> whole;
  for (const programs::mutant& m : programs::whole_tables()) whole.emplace_back(m.l);
  constexpr const char* names[] = {"lowered wait", "dropped wait", "wait for another queue"};
  const int wanted = tested::tries(50, 500);
  for (int k = 0; k < 3; ++k) {
    int unsafe = 0, harmless = 0, drawn = 0;
    for (; unsafe < wanted && drawn < 100 * wanted; ++drawn) {
      classed c = whole[random() % whole.size()];
      const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
      if (c.of_class.wait.empty()) continue;
      const int w = below(c.of_class.wait.size);
      hp::word_wait& one = c.of_class.wait[w];
      if (k == 0) {
        if (one.threshold == 1) continue;
        one.threshold = 1 + below(one.threshold - 1);
      } else if (k == 1) {
        for (int i = w; i + 1 < c.of_class.wait.size; ++i) c.of_class.wait[i] = c.of_class.wait[i + 1];
        c.of_class.wait.resize(c.of_class.wait.size - 1);
        for (int& end : c.of_class.wait_end) end -= end > w ? 1 : 0;
      } else {
        one.word = below(hp::queue_count(c.of_class.machine));
        const int kind = one.word % hp::detail::queues_per_rank(c.of_class.machine);
        const int tasks = c.table.queue_begin[kind + 1] - c.table.queue_begin[kind];
        if (tasks == 0) continue;
        one.threshold = 1 + below(tasks);
      }
      const bool accepted = c.proof(c.table_of_class(c.of_class)) == hp::program_proof_code::ok;
      c.l.plan = hp::plan_of_all_ranks(c.of_class, c.l.program);
      const bool safe = c.l.exactly() == hp::exact_code::safe;
      ASSERT_FALSE(accepted && !safe) << names[k] << ", draw " << drawn;
      ASSERT_TRUE(!accepted || c.l.proof().code == hp::program_proof_code::ok) << names[k];
      (safe ? harmless : unsafe) += 1;
    }
    EXPECT_EQ(unsafe, wanted) << names[k];
    std::printf("%-24s %d unsafe, none accepted; %d harmless\n", names[k], unsafe, harmless);
  }
}

/// A queue of rank 0 whose answer is missing, or two of whose tasks are swapped.
TEST(RankClass, ATableThatAnswersOtherwiseIsRefused) {
  const classed c(lowered_on(programs::program_of("dp-tp", 4, 1), hp::without_links, {}));
  ASSERT_GT(c.table.reader.size, 0);
  for (int i = 0; i < c.table.reader.size; ++i) {
    hp::grown_execution_table t = c.table;
    t.reader[i] = (t.reader[i] + hp::detail::queues_per_rank(c.of_class.machine)) % hp::queue_count(c.of_class.machine);
    EXPECT_NE(c.proof(t), hp::program_proof_code::ok) << i;
  }
  int swapped = 0;
  for (int q = 0; q < c.table.size.queues; ++q)
    for (int r = c.table.queue_begin[q]; r + 1 < c.table.queue_begin[q + 1]; ++r, ++swapped) {
      hp::grown_execution_table t = c.table;
      std::swap(t.record[r].kernel, t.record[r + 1].kernel);
      std::swap(t.record[r].item, t.record[r + 1].item);
      EXPECT_TRUE(c.proof(t) != hp::program_proof_code::ok ||
                  (t.record[r].kernel == t.record[r + 1].kernel && t.record[r].item == t.record[r + 1].item));
    }
  EXPECT_GT(swapped, 50);
}

constexpr bool proves_at_compile_time() {
  const hp::mesh_shape m{1, {4}};
  const hp::sharded_program p =
      programs::one_move(programs::layout_by(m, {-1}, {0}), programs::layout_by(m, {-1}), hp::shape{16});
  const hp::program_pulls pulls = hp::pulls_of(p);
  const hp::program_addresses a = hp::plan_addresses(p);
  const hp::program_plan plan = hp::lower_class(p, pulls, a);
  hp::grown_execution_table t = hp::table_of(plan);
  hp::detail::list_readers_of_class(t, hp::class_words(p, hp::detail::queues_per_rank(plan.machine)));
  return plan.tasks() == 2 && plan.wait.size == 3 &&
         hp::prove_class(p, pulls, a, hp::micro_phases, plan.machine, t).code == hp::program_proof_code::ok;
}
static_assert(proves_at_compile_time());

}  // namespace
