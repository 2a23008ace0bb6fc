// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/partition_stages.hpp>

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include <hyperparallel/strategy/check_program.hpp>

#include "models/piped_model.hpp"

namespace {

using namespace hyperparallel;

program_stages stages_of(const graph& g, int stages, int parts) {
  program_stages s;
  s.cut = cut_evenly(g, stages);
  s.parts = parts;
  for (int i = 0; i < stages; ++i) s.part_of_stage.push(i % parts);
  return s;
}

TEST(partition_stages, keeps_the_laws_of_programs_under_every_strategy) {
  int programs = 0;
  for (int i = 0; i < named_strategy_count; ++i)
    for (const int stages : {1, 2, 4}) {
      const graph g = programs::piped_graph(4, 2, i % 2 == 0 ? "layers.*" : nullptr);
      const strategy_value s = programs::strategy_of_parts(named_strategy_at(i).name, i % 3 == 0 ? 2 : 4);
      const sharded_program whole = partition(g, s);
      if (whole.status.code != strategy_code::ok) continue;
      const sharded_program p = partition(g, s, stages_of(g, stages, stages == 4 ? 2 : stages));
      SCOPED_TRACE(std::string(named_strategy_at(i).name) + ", stages " + std::to_string(stages));
      if (whole.graph.op.size != g.op.size && axis_index(s.mesh, s.ring_axis.text) >= 0) {  // a ring
        EXPECT_EQ(p.status.code, strategy_code::stages_are_refused);
        continue;
      }
      ASSERT_EQ(p.status.code, strategy_code::ok);
      EXPECT_EQ(check_program(p), program_status{});
      ++programs;
      // Each operator is computed once, but for what reads nothing, which each part may make.
      std::map<int, int> times;
      for (const program_step& one : p.step)
        if (!one.is_move) ++times[p.compute[one.index].op];
      for (const auto& [op, n] : times)
        EXPECT_TRUE(n == 1 || p.graph.op[op].operand_count == 0) << p.graph.name_of_op(op);
      for (const program_step& one : p.step)
        EXPECT_EQ(hyperparallel::detail::part_of_step(p, one), one.stage % parts_of(p));
    }
  EXPECT_GE(programs, 50);
}

TEST(partition_stages, one_part_is_the_program_without_stages) {
  const graph g = programs::piped_graph(2, 2);
  for (const char* name : {"dp", "tp-sp", "zero3", "dp-tp", "ep"}) {
    const strategy_value s = programs::strategy_of_parts(name, 4);
    const sharded_program plain = partition(g, s), one = partition(g, s, stages_of(g, 1, 1));
    ASSERT_EQ(plain.step.size, one.step.size);
    ASSERT_EQ(plain.value.size, one.value.size);
    for (int i = 0; i < plain.step.size; ++i) {
      EXPECT_EQ(plain.step[i].is_move, one.step[i].is_move);
      EXPECT_EQ(plain.step[i].index, one.step[i].index);
    }
    for (int v = 0; v < plain.value.size; ++v) {
      EXPECT_EQ(plain.value[v].tensor, one.value[v].tensor);
      EXPECT_EQ(plain.value[v].layout, one.value[v].layout);
      EXPECT_EQ(plain.value[v].storage, one.value[v].storage);
    }
  }
}

/// Tensors with dims that are handed from one part to another, by phase.
std::map<std::pair<int, int>, std::vector<int>> handed_over(const sharded_program& p, graph_phase phase) {
  std::map<std::pair<int, int>, std::vector<int>> all;
  for (const program_step& s : p.step) {
    if (!s.is_move || s.phase != phase || !hyperparallel::detail::is_hand_over(p, p.move[s.index])) continue;
    const program_move& m = p.move[s.index];
    EXPECT_EQ(p.value[m.source].layout, p.value[m.target].layout);
    EXPECT_FALSE(is_partial(p.value[m.source].layout));
    if (p.graph.tensor[p.value[m.source].tensor].shape.rank > 0)
      all[{hyperparallel::detail::part_of_value(p, m.source), hyperparallel::detail::part_of_value(p, m.target)}]
          .push_back(p.value[m.source].tensor);
  }
  return all;
}

TEST(partition_stages, one_activation_and_one_gradient_cross_whatever_the_strategy) {
  for (const char* name : {"single", "dp", "tp", "tp-sp", "zero3", "ep", "dp-tp"}) {
    const graph g = programs::piped_graph(6, 2, "layers.*");
    const sharded_program p =
        partition(g, programs::strategy_of_parts(name, std::string(name) == "single" ? 1 : 4), stages_of(g, 3, 3));
    ASSERT_EQ(p.status.code, strategy_code::ok) << name;
    const auto forward = handed_over(p, graph_phase::forward), backward = handed_over(p, graph_phase::backward);
    ASSERT_EQ(forward.size(), 2u) << name;
    ASSERT_EQ(backward.size(), 2u) << name;
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(forward.at({k, k + 1}).size(), 1u) << name;
      EXPECT_EQ(backward.at({k + 1, k}).size(), 1u) << name;
      EXPECT_EQ(p.graph.tensor[backward.at({k + 1, k})[0]].source, forward.at({k, k + 1})[0]) << name;
    }
    EXPECT_TRUE(handed_over(p, graph_phase::norm).empty());
    EXPECT_TRUE(handed_over(p, graph_phase::update).empty());
  }
}

/// A parameter that two stages read has a home in both parts; it is handed over once a step, when it was updated.
TEST(partition_stages, a_tied_table_has_two_homes) {
  const graph g = programs::tied_graph(4, 2);
  const int table = find_tensor(g, "embedding.weight");
  for (const char* name : {"dp", "tp", "vocab", "zero3", "dp-tp"}) {
    const sharded_program p = partition(g, programs::strategy_of_parts(name, 4), stages_of(g, 2, 2));
    ASSERT_EQ(p.status.code, strategy_code::ok) << name;
    EXPECT_EQ(check_program(p), program_status{}) << name;
    ASSERT_GE(hyperparallel::detail::other_home_of(p, p.home[table]), 0) << name;
    EXPECT_EQ(hyperparallel::detail::part_of_value(p, hyperparallel::detail::other_home_of(p, p.home[table])), 1);
    int homes = 0;
    hyperparallel::detail::visit_homes(p, table, [&](int) { ++homes; });
    EXPECT_EQ(homes, 2);
    for (const program_step& s : p.step)
      if (s.is_move && hyperparallel::detail::is_hand_over(p, p.move[s.index]) && s.phase < graph_phase::norm) {
        EXPECT_NE(p.value[p.move[s.index].source].tensor, table) << name;
      }
    EXPECT_EQ(handed_over(p, graph_phase::update).size(), 1u) << name;
  }
}

/// The second reader's gradient is handed over accumulated, as the update wants it; backward only the activation's is.
TEST(partition_stages, a_tied_tables_gradient_crosses_once_a_step) {
  for (const char* name : {"dp", "tp", "vocab", "zero1", "zero2", "zero3", "dp-tp"}) {
    const graph g = programs::tied_graph(4, 2);
    const sharded_program p = partition(g, programs::strategy_of_parts(name, 4), stages_of(g, 2, 2));
    ASSERT_EQ(p.status.code, strategy_code::ok) << name;
    const auto backward = handed_over(p, graph_phase::backward), norm = handed_over(p, graph_phase::norm);
    ASSERT_EQ(backward.size(), 1u) << name;
    EXPECT_EQ(backward.at({1, 0}).size(), 1u) << name;
    ASSERT_EQ(norm.size(), 1u) << name;
    ASSERT_EQ(norm.at({1, 0}).size(), 1u) << name;
    EXPECT_STREQ(p.graph.name_of_tensor(norm.at({1, 0})[0]), "accumulated(embedding.weight) in stage 1");
    for (const program_step& s : p.step) {
      if (!s.is_move || !hyperparallel::detail::is_hand_over(p, p.move[s.index]) || s.phase != graph_phase::norm)
        continue;
      const program_value& handed = p.value[p.move[s.index].target];
      if (handed.tensor != norm.at({1, 0})[0]) continue;
      for (const program_compute& c : p.compute)  // the sum over stages takes it as it came
        if (p.graph.op[c.op].phase == graph_phase::norm && p.graph.op[c.op].operand[1] == handed.tensor) {
          EXPECT_EQ(p.value[c.operand[1]].layout, handed.layout) << name;
        }
    }
    // With one micro-batch there is nothing to accumulate: contributions are added in backward.
    const graph one = programs::tied_graph(4, 1);
    const sharded_program plain = partition(one, programs::strategy_of_parts(name, 4), stages_of(one, 2, 2));
    EXPECT_EQ(handed_over(plain, graph_phase::backward).at({1, 0}).size(), 2u) << name;
    EXPECT_TRUE(handed_over(plain, graph_phase::norm).empty()) << name;
  }
}

constexpr bool partitions_at_compile_time() {
  const graph g = programs::piped_graph(2, 1);
  program_stages s;
  s.cut = cut_evenly(g, 2);
  s.parts = 2;
  for (int i = 0; i < 2; ++i) s.part_of_stage.push(i);
  const sharded_program p = partition(g, strategy_called("single", 1).strategy, s);
  return check_program(p).code == program_code::ok && ranks_of(p) == 2 &&
         hyperparallel::detail::part_of_rank(p, 1) == 1;
}
static_assert(partitions_at_compile_time());

}  // namespace
