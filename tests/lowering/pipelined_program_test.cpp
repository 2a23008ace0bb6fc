// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/pipelined_program.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/check_program.hpp>

#include "lowering/broken_tables.hpp"
#include "models/piped_model.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;

using programs::lowered;
using programs::mutant;

constexpr unsigned whole_step = hp::micro_phases | hp::update_phases;

struct piped_case {
  const char* schedule;
  hp::pipeline_shape shape;
  const char* strategy;
  int ranks;
};
constexpr piped_case cases[] = {{"GPipe", {2, 1, 2}, "single", 1},    {"1F1B", {2, 1, 3}, "tp", 2},
                                {"1F1B", {3, 1, 4}, "dp", 2},         {"Interleaved1F1B", {2, 2, 2}, "tp-sp", 2},
                                {"ZB-H1", {2, 1, 3}, "zero3", 2},     {"ZB-V", {2, 2, 2}, "ep", 2},
                                {"DualPipeV", {2, 2, 4}, "zero1", 2}, {"DualPipe", {2, 1, 4}, "tp", 2},
                                {"Chimera", {2, 1, 4}, "single", 1},  {"V-Min", {2, 2, 2}, "single", 1}};

hp::sharded_program program_of(const piped_case& c) {
  hp::pipelined_program p = programs::piped({hp::schedule_called(c.schedule), c.shape}, c.strategy, c.ranks);
  EXPECT_TRUE(p.ok()) << c.schedule << ", " << c.strategy;
  return p.program;
}

/// The general verifier and the exact checker, on the accesses of the steps: of the plan that is made for all ranks at once,
/// and of `all`, that of the class for all ranks.
void expect_safe(const hp::sharded_program& p, const hp::lowered_program& l, const hp::program_plan& all) {
  lowered whole(p, {.phases = whole_step}, l.pulls, l.addresses);
  ASSERT_EQ(whole.plan.status.code, hp::program_flow_code::ok);
  EXPECT_EQ(whole.proof().code, hp::program_proof_code::ok);
  EXPECT_EQ(programs::first_overwritten(whole), -1);
  EXPECT_EQ(whole.exactly(), hp::exact_code::safe);
  whole.plan = all;
  EXPECT_EQ(whole.exactly(), hp::exact_code::safe);
}

TEST(pipelined_program, the_class_of_each_part_is_proved_and_so_are_all_ranks) {
  for (const piped_case& c : cases) {
    SCOPED_TRACE(std::string(c.schedule) + ", " + c.strategy);
    const hp::sharded_program p = program_of(c);
    const hp::lowered_program l = hp::lower_training(p);
    ASSERT_TRUE(l.status.ok()) << to_text(l.status.flow.code) << to_text(l.status.proof.code);
    ASSERT_EQ(l.run.size, 1);
    const hp::program_plan all = hp::plan_of_all_ranks(l.run[0].plan, p);
    EXPECT_EQ(all.machine.ranks, c.shape.ranks * c.ranks);
    const hp::program_proof proof =
        hp::prove_program(p, l.pulls, l.addresses, whole_step, all.machine, hp::table_of(all));
    EXPECT_EQ(proof.code, hp::program_proof_code::ok) << to_text(proof.code);
    for (int k = 0; k < hp::parts_of(p); ++k) EXPECT_LE(l.addresses.high_water_of(k), l.addresses.high_water[0]);
    expect_safe(p, l, all);
  }
}

/// However many micro-batches there are, what the head accumulates of a tied table's gradient is handed over once, by
/// either copy of stages that are held twice, which exchange what they accumulate in each stage.
TEST(pipelined_program, a_tied_tables_gradient_crosses_once_whatever_the_schedule) {
  constexpr piped_case tied[] = {{"GPipe", {2, 1, 2}, "dp", 2},           {"1F1B", {2, 1, 6}, "zero1", 2},
                                 {"Interleaved1F1B", {2, 2, 4}, "tp", 2}, {"ZB-H1", {4, 1, 4}, "zero3", 2},
                                 {"ZB-V", {2, 2, 4}, "single", 1},        {"DualPipeV", {2, 2, 4}, "tp", 2},
                                 {"DualPipe", {2, 1, 4}, "dp", 2},        {"Chimera", {4, 1, 4}, "zero3", 2}};
  for (const piped_case& c : tied) {
    SCOPED_TRACE(std::string(c.schedule) + ", " + c.strategy);
    const hp::named_schedule& schedule = *hp::schedule_called(c.schedule);
    const hp::graph g = programs::tied_graph(c.shape.stages(), c.shape.micro_batches);
    const hp::pipelined_program piped =
        hp::partition(g, programs::strategy_of_parts(c.strategy, c.ranks),
                      hp::pipeline_value{.schedule = &schedule, .ranks = c.shape.ranks, .chunks = c.shape.chunks});
    ASSERT_TRUE(piped.ok());
    const hp::sharded_program& p = piped.program;
    EXPECT_EQ(hp::check_program(p), hp::program_status{});
    const int table = hp::find_tensor(g, "embedding.weight");
    const std::string second = "accumulated(embedding.weight) in stage " + std::to_string(c.shape.stages() - 1);
    int in_backward = 0, in_norm = 0, updated = 0, homes = 0;
    for (const hp::program_step& s : p.step) {
      if (!s.is_move || !hp::detail::is_hand_over(p, p.move[s.index])) continue;
      const hp::graph_tensor& t = p.graph.tensor[p.value[p.move[s.index].target].tensor];
      if (t.kind == hp::graph_tensor_kind::gradient && t.source == table) ++in_backward;
      if (p.graph.text_at(t.name) == second) ++in_norm;
      if (s.phase == hp::graph_phase::update && p.graph.text_at(t.name) == std::string("embedding.weight")) ++updated;
    }
    hp::detail::visit_homes(p, table, [&](int) { ++homes; });
    const bool together = c.shape.chunks == 2 && std::string(c.schedule) != "Interleaved1F1B";  // the ends of a V
    const int copies = hp::copies_of_stages(schedule.placement);
    EXPECT_EQ(in_backward, 0);
    EXPECT_EQ(in_norm, together ? 0 : copies + (copies == 2 ? 2 : 0));
    EXPECT_EQ(updated, together ? 0 : copies);
    EXPECT_EQ(homes, together ? 1 : 2 * copies);
    const hp::lowered_program l = hp::lower_training(p);
    ASSERT_TRUE(l.status.ok()) << to_text(l.status.flow.code) << to_text(l.status.proof.code);
    const hp::program_plan all = hp::plan_of_all_ranks(l.run[0].plan, p);
    EXPECT_EQ(hp::prove_program(p, l.pulls, l.addresses, whole_step, all.machine, hp::table_of(all)).code,
              hp::program_proof_code::ok);
    lowered whole(p, {.phases = whole_step}, l.pulls, l.addresses);
    EXPECT_EQ(programs::first_overwritten(whole), -1);
    EXPECT_EQ(whole.exactly(), hp::exact_code::safe);
  }
}

/// A rank of the class plays as every rank of its part does.
TEST(pipelined_program, the_class_has_the_times_of_all_ranks) {
  for (const piped_case& c : cases) {
    const hp::sharded_program p = program_of(c);
    const hp::lowered_program l = hp::lower_training(p);
    const hp::program_plan& plan = l.run[0].plan;
    hp::growing_array<hp::extent_t> duration;
    for (int i = 0; i < plan.row.size; ++i) duration.push(1 + i * 7919 % 97);
    const hp::program_plan all = hp::plan_of_all_ranks(plan, p);
    const hp::plan_timeline one = hp::play(plan, duration, 3), every = hp::play(all, duration, 3);
    for (int i = 0; i < plan.row.size; ++i)
      for (int k = 0; k < all.tasks_of(all.row[i]); ++k)
        ASSERT_EQ(every.end[all.row[i].first_task + k], one.end[plan.row[i].first_task]) << c.schedule << ", row " << i;
  }
}

/// Every part pulls what the others hand over, and frees nothing that is still to be pulled: breaking a wait breaks it.
TEST(pipelined_program, no_broken_plan_is_accepted) {
  std::vector<mutant> whole;
  for (const piped_case& c : {cases[0], cases[1], cases[5], cases[8]}) {
    const lowered l(program_of(c), {.phases = whole_step});
    whole.push_back({l, hp::table_of(l.plan)});
  }
  std::mt19937 random(53);
  const auto part_of_queue = [](const mutant& m, int queue) {
    return m.l.plan.part_of_rank(queue / hp::detail::queues_per_rank(m.l.plan.machine));
  };
  /// The queue that has wait `w`.
  const auto queue_with = [](const mutant& m, int w) {
    int q = 0;
    while (m.table.record[m.table.queue_begin[q + 1] - 1].wait_end <= w ||
           m.table.queue_begin[q] == m.table.queue_begin[q + 1])
      ++q;
    return q;
  };
  const auto exactly = [](const mutant& m) {
    std::vector<int> record(static_cast<std::size_t>(m.table.size.tasks));
    for (int r = 0; r < m.table.size.tasks; ++r) record[static_cast<std::size_t>(m.table.record[r].task)] = r;
    lowered changed = m.l;
    changed.plan.wait.clear();
    for (int task = 0; task < m.table.size.tasks; ++task) {
      const int r = record[static_cast<std::size_t>(task)];
      for (int w = hp::wait_begin(m.table, r); w < m.table.record[r].wait_end; ++w)
        changed.plan.wait.push(m.table.wait[w]);
      changed.plan.wait_end[task] = changed.plan.wait.size;
    }
    const hp::planned_flow f = changed.with_accesses();
    for (int r = 0; r < m.table.size.tasks; ++r) f.schedule().queue_task[r] = m.table.record[r].task;
    return lowered::exactly(f);
  };
  enum { pull_before_its_write, memory_reused_before_a_pull, swapped_tasks, crossed_pulls, moved_place, kinds };
  constexpr const char* names[] = {"pull before its write", "memory used again before a pull", "swapped tasks of a row",
                                   "wait for another part", "place on another's addresses"};
  const int wanted = tested::tries(50, 500);
  for (int k = 0; k < kinds; ++k) {
    int unsafe = 0, harmless = 0;
    for (int drawn = 0; unsafe < wanted && drawn < 200 * wanted; ++drawn) {
      mutant m = whole[random() % whole.size()];
      const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
      if (k == moved_place || k == swapped_tasks) {
        if (!mutate(k == moved_place ? programs::mutation::moved_place : programs::mutation::swapped_tasks, m, random))
          continue;
      } else {
        const int w = below(m.table.size.waits), q = queue_with(m, w), word = m.table.wait[w].word;
        const bool crosses = part_of_queue(m, q) != part_of_queue(m, word);
        const hp::resource kind = m.table.use[k == pull_before_its_write ? q : word].kind;
        if (!crosses || (k != crossed_pulls && kind != hp::resource::link)) continue;
        if (k == crossed_pulls) {
          m.table.wait[w].word = below(m.table.size.queues);
          const int there = m.table.queue_begin[m.table.wait[w].word + 1] - m.table.queue_begin[m.table.wait[w].word];
          if (there == 0) continue;
          m.table.wait[w].threshold = 1 + below(there);
        } else if (m.table.wait[w].threshold > 1) {
          m.table.wait[w].threshold = 1 + below(m.table.wait[w].threshold - 1);
        } else {
          continue;
        }
        hp::detail::list_readers(m.table);
      }
      const bool accepted = m.l.proof(m.table).code == hp::program_proof_code::ok;
      const bool safe = k == moved_place ? programs::first_overwritten(m.l) < 0 && m.l.exactly() == hp::exact_code::safe
                                         : exactly(m) == hp::exact_code::safe;
      ASSERT_FALSE(accepted && !safe) << names[k] << ", draw " << drawn;
      (safe ? harmless : unsafe) += 1;
    }
    EXPECT_EQ(unsafe, wanted) << names[k];
    std::printf("%-32s %d unsafe, none accepted; %d harmless\n", names[k], unsafe, harmless);
  }
}

/// The same of the class: what is changed there is changed on every rank of a part.
TEST(pipelined_program, no_broken_class_is_accepted) {
  std::mt19937 random(54);
  const int wanted = tested::tries(50, 500);
  int unsafe = 0, harmless = 0;
  std::vector<lowered> whole;
  std::vector<hp::program_plan> classes;
  for (const piped_case& c : {cases[1], cases[2], cases[5]}) {
    whole.emplace_back(program_of(c), hp::program_flow_options{.phases = whole_step});
    const lowered& l = whole.back();
    classes.push_back(hp::lower_class(l.program, l.pulls, l.addresses, l.how));
  }
  for (int drawn = 0; unsafe < wanted && drawn < 100 * wanted; ++drawn) {
    const std::size_t which = random() % whole.size();
    lowered l = whole[which];
    hp::program_plan plan = classes[which];
    hp::word_wait& one = plan.wait[static_cast<int>(random() % static_cast<unsigned>(plan.wait.size))];
    if (one.threshold == 1) continue;
    one.threshold = 1 + static_cast<int>(random() % static_cast<unsigned>(one.threshold - 1));
    hp::grown_execution_table t = hp::table_of(plan);
    hp::detail::list_readers_of_class(t, hp::class_words(l.program, hp::detail::queues_per_rank(plan.machine)));
    const bool accepted = hp::prove_class(l.program, l.pulls, l.addresses, whole_step, plan.machine, t).code ==
                          hp::program_proof_code::ok;
    l.plan = hp::plan_of_all_ranks(plan, l.program);
    const bool safe = l.exactly() == hp::exact_code::safe;
    ASSERT_FALSE(accepted && !safe) << "draw " << drawn;
    ASSERT_TRUE(!accepted || l.proof().code == hp::program_proof_code::ok);
    (safe ? harmless : unsafe) += 1;
  }
  EXPECT_EQ(unsafe, wanted);
  std::printf("lowered wait of the class: %d unsafe, none accepted; %d harmless\n", unsafe, harmless);
}

TEST(pipelined_program, what_cannot_be_is_said) {
  const hp::graph g = programs::piped_graph(4, 4);
  const hp::strategy_value s = programs::strategy_of_parts("single", 1);
  const auto with = [&](hp::pipeline_value p) { return hp::partition(g, s, p); };
  hp::pipeline_value zero_bubble{.schedule = hp::schedule_called("ZB-V"), .ranks = 2, .chunks = 3};
  EXPECT_EQ(with(zero_bubble).schedule.code, hp::pipeline_code::chunks_are_fixed);
  hp::pipeline_value long_one{.schedule = hp::schedule_called("1F1B"), .ranks = 8};
  EXPECT_EQ(with(long_one).cut, (hp::stage_cut_status{hp::stage_cut_code::layers_are_too_few, -1, 4, 8}));
  hp::pipeline_value uneven{.schedule = hp::schedule_called("1F1B"), .ranks = 2};
  uneven.layers.push(4);
  EXPECT_EQ(with(uneven).cut, (hp::stage_cut_status{hp::stage_cut_code::layers_for_other_stages, -1, 1, 2}));
  uneven.layers[0] = 3;
  uneven.layers.push(1);
  EXPECT_TRUE(with(uneven).ok());
  hp::pipeline_value reversed{.schedule = hp::schedule_called("LoopedBFS"), .ranks = 2, .chunks = 2};
  EXPECT_EQ(with(reversed).rows.code, hp::unroll_code::accumulated_out_of_order);
  reversed.accumulates_in_any_order = true;
  EXPECT_TRUE(with(reversed).ok());
}

// ---- groups with meshes and strategies of their own ----

struct group {
  const char* strategy;
  int ranks;
};
struct unlike_case {
  const char* schedule;
  hp::pipeline_shape shape;
  std::vector<group> groups;
};
const unlike_case unlike_cases[] = {{"GPipe", {2, 1, 2}, {{"single", 1}, {"tp", 2}}},
                                    {"1F1B", {2, 1, 3}, {{"dp", 4}, {"tp", 2}}},
                                    {"1F1B", {3, 1, 4}, {{"tp", 2}, {"tp-sp", 2}, {"zero3", 4}}},
                                    {"Interleaved1F1B", {2, 2, 2}, {{"tp-sp", 2}, {"dp-tp", 4}}},
                                    {"ZB-V", {2, 2, 2}, {{"ep", 2}, {"single", 1}}},
                                    {"DualPipe", {2, 1, 4}, {{"tp", 2}, {"tp", 2}}},
                                    {"ZB-H1", {2, 1, 3}, {{"dp-tp", 4}, {"dp-tp", 4}}}};

hp::sharded_program program_of(const unlike_case& c) {
  hp::pipeline_value pipeline{
      .schedule = hp::schedule_called(c.schedule), .ranks = c.shape.ranks, .chunks = c.shape.chunks};
  for (const group& one : c.groups) pipeline.strategy.push(programs::strategy_of_parts(one.strategy, one.ranks));
  hp::pipelined_program p = hp::partition(programs::piped_graph(c.shape.stages(), c.shape.micro_batches), {}, pipeline);
  EXPECT_TRUE(p.ok()) << c.schedule << ": " << name_of(p.program.status.code) << " of part " << p.program.status.part;
  return p.program;
}

TEST(pipelined_program, groups_have_strategies_of_their_own) {
  int relocations = 0;
  for (const unlike_case& c : unlike_cases) {
    SCOPED_TRACE(std::string(c.schedule) + ", " + c.groups[0].strategy + ", " + c.groups[1].strategy);
    const hp::sharded_program p = program_of(c);
    EXPECT_EQ(hp::check_program(p), hp::program_status{});
    int ranks = 0;
    for (const group& one : c.groups) ranks += one.ranks;
    ASSERT_EQ(hp::ranks_of(p), ranks);
    const hp::lowered_program l = hp::lower_training(p);
    ASSERT_TRUE(l.status.ok()) << to_text(l.status.flow.code) << ", " << to_text(l.status.proof.code);
    const hp::program_plan all = hp::plan_of_all_ranks(l.run[0].plan, p);
    EXPECT_EQ(hp::prove_program(p, l.pulls, l.addresses, whole_step, all.machine, hp::table_of(all)).code,
              hp::program_proof_code::ok);
    expect_safe(p, l, all);
    // What is handed over is what the receivers want, and no more; each element of their blocks comes once.
    for (int m = 0; m < p.move.size; ++m) {
      if (!hp::detail::is_hand_over(p, p.move[m])) continue;
      const hp::move_pulls& how = l.pulls.of(m);
      const hp::extent_t block = hp::local_elements(p, p.move[m].target);
      ASSERT_EQ(how.row.size, 1);
      for (const hp::extent_t brought : how.pulled) EXPECT_EQ(brought, block);
      relocations += hp::detail::is_by_position(p, p.move[m]) ? 0 : 1;
    }
  }
  EXPECT_GT(relocations, 50);
}

/// A wait of a class that is lowered or dropped, where the meshes of parts differ.
TEST(pipelined_program, no_broken_class_of_unlike_parts_is_accepted) {
  std::mt19937 random(55);
  const int wanted = tested::tries(50, 500);
  std::vector<lowered> whole;
  std::vector<hp::program_plan> classes;
  for (int i : {0, 1, 4}) {
    whole.emplace_back(program_of(unlike_cases[i]), hp::program_flow_options{.phases = whole_step});
    const lowered& l = whole.back();
    classes.push_back(hp::lower_class(l.program, l.pulls, l.addresses, l.how));
  }
  int unsafe = 0, harmless = 0, crossing = 0;
  for (int drawn = 0; unsafe < wanted && drawn < 100 * wanted; ++drawn) {
    const std::size_t which = random() % whole.size();
    lowered l = whole[which];
    hp::program_plan plan = classes[which];
    const hp::class_words words(l.program, hp::detail::queues_per_rank(plan.machine));
    const int w = static_cast<int>(random() % static_cast<unsigned>(plan.wait.size));
    int row = 0;
    while (plan.wait_end[row] <= w) ++row;
    const bool crosses = words.part_of(plan.wait[w].word) != plan.row[row].part;
    if (!crosses && drawn % 16 != 0) continue;
    if (hp::word_wait& one = plan.wait[w]; one.threshold > 1) {
      one.threshold = 1 + static_cast<int>(random() % static_cast<unsigned>(one.threshold - 1));
    } else {
      for (int i = w; i + 1 < plan.wait.size; ++i) plan.wait[i] = plan.wait[i + 1];
      plan.wait.resize(plan.wait.size - 1);
      for (int& end : plan.wait_end) end -= end > w ? 1 : 0;
    }
    hp::grown_execution_table t = hp::table_of(plan);
    hp::detail::list_readers_of_class(t, words);
    const bool accepted = hp::prove_class(l.program, l.pulls, l.addresses, whole_step, plan.machine, t).code ==
                          hp::program_proof_code::ok;
    l.plan = hp::plan_of_all_ranks(plan, l.program);
    const bool safe = l.exactly() == hp::exact_code::safe;
    ASSERT_FALSE(accepted && !safe) << "draw " << drawn;
    ASSERT_TRUE(!accepted || l.proof().code == hp::program_proof_code::ok);
    (safe ? harmless : unsafe) += 1;
    crossing += !safe && crosses ? 1 : 0;
  }
  EXPECT_EQ(unsafe, wanted);
  EXPECT_GT(crossing, wanted / 2);
  std::printf("wait of a class among unlike parts: %d unsafe, none accepted; %d harmless\n", unsafe, harmless);
}

TEST(pipelined_program, strategies_of_groups_that_cannot_be_are_said) {
  const hp::graph g = programs::piped_graph(2, 2);
  hp::pipeline_value pipeline{.schedule = hp::schedule_called("1F1B"), .ranks = 2};
  pipeline.strategy.push(programs::strategy_of_parts("tp", 2));
  EXPECT_EQ(hp::partition(g, {}, pipeline).program.status,
            (hp::strategy_status{hp::strategy_code::strategies_for_other_groups, -1, -1, -1, -1, -1, 1, 2}));
  pipeline.strategy.push(programs::strategy_of_parts("ring", 2));
  EXPECT_EQ(hp::partition(g, {}, pipeline).program.status.code, hp::strategy_code::stages_are_refused);
  pipeline.strategy[1] = programs::strategy_of_parts("tp", 3);
  const hp::strategy_status s = hp::partition(g, {}, pipeline).program.status;
  EXPECT_EQ(s.code, hp::strategy_code::dim_does_not_divide);
  EXPECT_EQ(s.part, 1);
  pipeline.strategy[1] = programs::strategy_of_parts("dp", 2);
  pipeline.schedule = hp::schedule_called("Chimera");
  EXPECT_EQ(hp::partition(g, {}, pipeline).rows.code, hp::unroll_code::copies_are_unlike);
}

constexpr bool plans_at_compile_time() {
  const hp::graph g = programs::piped_graph(2, 2);
  const hp::pipelined_program p = hp::partition(g, hp::strategy_called("single", 1).strategy,
                                                {.schedule = hp::schedule_called("1F1B"), .ranks = 2});
  return p.ok() && hp::lower_training(p.program).status.ok();
}
static_assert(plans_at_compile_time());

}  // namespace
