// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/step_durations.hpp>

#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

TEST(StepDurations, AreThoseOfTheTasks) {
  const hp::graph g = small_models::decoder({.layers = 2});
  for (const char* const name : {"dp", "zero3", "tp-sp"}) {
    const hp::sharded_program p = hp::partition(g, hp::strategy_called(name, 4).strategy);
    const hp::step_rates rates{.operations_per_nanosecond = 3, .bytes_per_nanosecond = 2, .overhead = 777};
    const hp::program_pulls pulls = hp::pulls_of(p);
    const hp::growing_array<hp::extent_t> duration = hp::step_durations(p, pulls.moves, rates);
    hp::program_flow_options how;
    how.rates = rates;
    const hp::program_plan plan = hp::lower_program(p, pulls, hp::plan_addresses(p), how);
    ASSERT_EQ(duration.size, p.step.size);
    std::vector<hp::extent_t> most(static_cast<std::size_t>(p.step.size), 0);
    for (int t = 0; t < plan.tasks(); ++t) {
      hp::extent_t& longest = most[static_cast<std::size_t>(plan.row[t / plan.machine.ranks].step)];
      longest = hp::larger(longest, plan.duration[t]);
    }
    for (int s = 0; s < p.step.size; ++s) {
      const bool in_two = p.step[s].is_move && pulls.of(p.step[s].index).row.size > 1;
      if (in_two)  // its tasks are two, the step is both
        EXPECT_GE(duration[s], most[static_cast<std::size_t>(s)]) << name << " " << s;
      else
        EXPECT_EQ(duration[s], most[static_cast<std::size_t>(s)]) << name << " " << s;
    }
  }
}

/// An operator of a user whose cost is not that of its points.
struct costly {
  static constexpr const char *name = "costly", *text = "*->*";
  static constexpr hp::extent_t flops(const hp::local_work& w) { return 1'000'000 * w.points; }
};

// Attention, dispatch, convolution, Muon and a user's operator say their own operations: durations are of the
// operations that the account counts, and of the bytes that it counts.
TEST(StepDurations, AreOfTheWorkThatTheAccountCounts) {
  hp::model_builder b({.operators = hp::operators<hp::builtin, costly>::list});
  const int batch = b.dim("batch", 4), seq = b.dim("seq", 16);
  int x = hp::token_embedding{.vocabulary = 64, .hidden = 16}(b, b.index_input("tokens", {batch, seq}));
  x = hp::transformer_block<hp::attention_layer, hp::mixture_of_experts>{
      .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 4},
      .feed_forward = {.experts = 4, .top_k = 2, .width = 16}}(b, x);
  b.apply<costly>("costly", {x});
  ASSERT_EQ(b.graph.status.code, hp::graph_code::ok);
  int own = 0;
  for (const char* const name : {"single", "dp"}) {
    const hp::sharded_program p = hp::partition(b.graph, hp::strategy_called(name, name[0] == 's' ? 1 : 4).strategy);
    ASSERT_EQ(p.status.code, hp::strategy_code::ok);
    const hp::step_rates operations{.operations_per_nanosecond = 1, .bytes_per_nanosecond = 1'000'000'000},
        bytes{.operations_per_nanosecond = 1'000'000'000, .bytes_per_nanosecond = 1};
    for (const hp::program_compute& c : p.compute) {
      const hp::operator_work w = hp::work_of(p, c);
      // What is not asked for takes less than a picosecond for each thousand.
      EXPECT_EQ(hp::detail::compute_duration(p, c, operations),
                hp::larger(w.flops * 1000, (w.bytes_read + w.bytes_written + 500'000) / 1'000'000));
      EXPECT_EQ(hp::detail::compute_duration(p, c, bytes),
                hp::larger((w.bytes_read + w.bytes_written) * 1000, (w.flops + 500'000) / 1'000'000));
      own += p.graph.value_of(p.graph.op[c.op]).has_flops ? 1 : 0;
    }
  }
  EXPECT_GE(own, 6) << "attention, dispatch and the user's under both strategies";
}

TEST(StepDurations, DoNotOverflowWhereOperationsDo) {
  EXPECT_EQ(hp::detail::transfer_duration(hp::extent_t{1} << 60, {.bytes_per_nanosecond = 1000}),
            hp::extent_t{1} << 60);
}

constexpr hp::extent_t of_ten_bytes = hp::detail::transfer_duration(10, {.bytes_per_nanosecond = 5});
static_assert(of_ten_bytes == 2000);

}  // namespace
