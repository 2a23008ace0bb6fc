// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/lowered_program.hpp>

#include <lowering/broken_tables.hpp>
#include <lowering/one_move.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr unsigned whole_step = hp::micro_phases | hp::update_phases;

/// The plan that runs is the one that its parts, called one by one, make and prove; the proof of all ranks accepts it.
TEST(LoweredProgram, ItsRunsAreProvedOnItsAddresses) {
  int lowered = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::interconnect& links : programs::links_of(p)) {
      SCOPED_TRACE(hp::named_strategy_at(i).name);
      const hp::lowered_program l = hp::lower(p, {.topology = links}, whole_step, hp::micro_phases);
      ASSERT_TRUE(l.status.ok());
      ASSERT_EQ(l.run.size, 2);
      const hp::program_moves moves = hp::kinds_of_moves(p, links);
      EXPECT_EQ(l.addresses.storage, hp::plan_addresses(p, moves).storage);
      for (const hp::lowered_run& r : l.run) {
        EXPECT_EQ(l.find_run(r.phases), &r);
        EXPECT_EQ(r.plan.wait.size, hp::lower_class(p, l.pulls, l.addresses, {.phases = r.phases}).wait.size);
        const hp::program_plan all = hp::plan_of_all_ranks(r.plan, p);
        const hp::program_proof proof =
            hp::prove_program(p, l.pulls, l.addresses, r.phases, all.machine, hp::table_of(all));
        EXPECT_EQ(proof.code, hp::program_proof_code::ok);
        EXPECT_LE(proof.bytes[0], l.addresses.high_water[0]);
        ++lowered;
      }
    }
  }
  EXPECT_GE(lowered, 100);
}

/// Tensors of a few bytes among them, which alignment makes larger: a tile's place has what aligns it too.
TEST(LoweredProgram, PlansOfTilesAreProvedWithEveryQueueAndLookahead) {
  int tiled = 0;
  const hp::graph g = programs::moe_graph({.unrolled = true}, {.batch = 8,
                                                               .sequence = 8,
                                                               .vocabulary = 16,
                                                               .layers = 2,
                                                               .hidden = 16,
                                                               .query_heads = 4,
                                                               .key_heads = 4,
                                                               .head_dim = 4,
                                                               .experts = 8,
                                                               .top_k = 2,
                                                               .expert_width = 8});
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = hp::partition(g, hp::strategy_called(hp::named_strategy_at(i).name, 4).strategy);
    for (int k = 0; k < 8 && p.status.code == hp::strategy_code::ok; ++k) {
      SCOPED_TRACE(hp::named_strategy_at(i).name + std::string(" ") + std::to_string(k));
      hp::lowering_options how{.vector_queue = k % 2 == 1, .lookahead = k / 2};
      how.tiles.push("*");
      const hp::lowered_program l = hp::lower_training(p, how);
      if (l.status.code == hp::lowering_code::tiles_have_no_moves) continue;
      ASSERT_TRUE(l.status.ok());
      ++tiled;
    }
  }
  EXPECT_GE(tiled, 150);
}

/// What a run reads first are homes, where it is the first of the step; the update reads what micro-batches left, too.
TEST(LoweredProgram, ReadsHomesBeforeAnythingIsWritten) {
  const hp::sharded_program p = programs::program_of("dp-tp", 4, 2);
  const hp::lowered_program l = hp::lower(p, {}, hp::micro_phases, hp::update_phases);
  ASSERT_TRUE(l.status.ok());
  for (const int v : l.run[0].reads) EXPECT_TRUE(p.storage[p.value[v].storage].home);
  EXPECT_GT(l.run[0].reads.size, 10);
  EXPECT_GT(l.run[1].reads.size, 10);
}

TEST(LoweredProgram, AStepOfTrainingIsOneRunOrTwo) {
  const auto phases_of = [](const hp::sharded_program& p) {
    const hp::lowered_program l = hp::lower_training(p);
    EXPECT_TRUE(l.status.ok());
    std::vector<unsigned> phases;
    for (const hp::lowered_run& r : l.run) phases.push_back(r.phases);
    return phases;
  };
  EXPECT_EQ(phases_of(programs::program_of("dp-tp", 4, 1)), std::vector<unsigned>{whole_step});
  EXPECT_EQ(phases_of(programs::program_of("dp-tp", 4, 2)), (std::vector{hp::micro_phases, hp::update_phases}));
}

TEST(LoweredProgram, KeepsTensorsToTheEnd) {
  const hp::sharded_program p = programs::program_of("tp", 4, 1);
  int temporary = -1;
  for (int t = 0; t < p.graph.tensor.size && temporary < 0; ++t)
    if (p.graph.tensor[t].producer >= 0 && p.graph.tensor[t].kind == hp::graph_tensor_kind::activation) temporary = t;
  ASSERT_GE(temporary, 0);
  hp::lowering_options keeping;
  keeping.keep.push(p.graph.name_of_tensor(temporary));
  const hp::lowered_program l = hp::lower(p, keeping, whole_step);
  ASSERT_TRUE(l.status.ok());
  EXPECT_EQ(l.monitors, p.graph.monitor.size);
  bool survives = false;
  for (const hp::program_value& v : l.program.value)
    survives = survives || (v.tensor == temporary && l.run[0].plan.survives[v.storage]);
  EXPECT_TRUE(survives);
}

TEST(LoweredProgram, ItsStatusNamesWhatIsWrong) {
  const hp::sharded_program whole = programs::program_of("zero3", 4, 1);
  ASSERT_EQ(whole.status.code, hp::strategy_code::ok);
  const auto code_of = [](const hp::sharded_program& p, const hp::lowering_options& how = {}) {
    return hp::lower(p, how, whole_step).status.code;
  };
  EXPECT_EQ(code_of(whole), hp::lowering_code::ok);
  hp::lowering_options how;
  how.keep.push("nobody");
  EXPECT_EQ(code_of(whole, how), hp::lowering_code::kept_tensor_is_unknown);
  EXPECT_EQ(code_of(whole, {.budget = 1}), hp::lowering_code::budget_is_exceeded);
  hp::sharded_program p = whole;
  p.graph.segment.push({p.graph.tensor[0].name, 4});
  EXPECT_EQ(code_of(p), hp::lowering_code::segment_is_folded);
  p.status.code = hp::strategy_code::dim_does_not_divide;
  EXPECT_EQ(code_of(p), hp::lowering_code::program_is_refused);
  p = whole;
  p.value[p.move[0].target].rotation = {0, 1};
  EXPECT_EQ(code_of(p), hp::lowering_code::move_is_refused);

  hp::lowered_program l = hp::lower(whole, {});
  l.addresses.high_water[0] = 1;
  EXPECT_FALSE(hp::detail::lower_run(l, whole_step));
  EXPECT_EQ(l.status.code, hp::lowering_code::memory_is_exceeded);
  EXPECT_TRUE(l.run.empty());
  l.status = {};
  for (hp::extent_t& offset : l.addresses.storage) offset = 0;
  EXPECT_FALSE(hp::detail::lower_run(l, whole_step));
  EXPECT_EQ(l.status.code, hp::lowering_code::run_is_not_lowered);
  EXPECT_GE(l.status.flow.step, 0);
}

struct figures {
  bool ok = false;
  int rows = 0, waits = 0, reads = 0;
  hp::extent_t bytes = 0;
  friend constexpr bool operator==(const figures&, const figures&) = default;
};
constexpr figures lowered_figures() {
  const hp::mesh_shape m{1, {4}};
  const hp::sharded_program p =
      programs::one_move(programs::layout_by(m, {-1}, {0}), programs::layout_by(m, {-1}), hp::shape{16});
  const hp::lowered_program l = hp::lower_training(p);
  if (!l.status.ok()) return {};
  return {true, l.run[0].plan.row.size, l.run[0].plan.wait.size, l.run[0].reads.size, l.addresses.high_water[0]};
}
static_assert(lowered_figures().ok && lowered_figures().rows == 2 && lowered_figures().reads == 1);

TEST(LoweredProgram, IsTheSameAtRunTime) {
  constexpr figures constant = lowered_figures();
  EXPECT_EQ(lowered_figures(), constant);
}

}  // namespace
