// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/parts_account.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/layers.hpp>

#include "models/piped_model.hpp"

namespace {

using namespace hyperparallel;

const interconnect links = interconnect_of(matrix384::topology);

TEST(parts_account, of_one_part_it_is_the_account_of_a_program) {
  const graph g = programs::piped_graph(2, 1);
  for (const char* name : {"dp", "tp-sp", "zero3"}) {
    const strategy_value s = programs::strategy_of_parts(name, 4);
    const sharded_program p = partition(g, s);
    const step_account a = account_of(p, matrix384::device, links),
                       parts = account_of_parts(p, kinds_of_moves(p, links), matrix384::device);
    EXPECT_EQ(a.memory, parts.memory) << name;
    EXPECT_EQ(a.work, parts.work) << name;
    EXPECT_EQ(a.traffic, parts.traffic) << name;
    EXPECT_EQ(parts.times.total.picoseconds,
              simulate(lower_training(p, {.topology = links}), matrix384::device).makespan);
  }
}

/// The peak of the part that needs most is what its address plan has alive at once, but for buffers of what is handed over; the
/// makespan is that of the plan that runs.
TEST(parts_account, memory_and_time_are_those_of_the_plan) {
  for (const char* name : {"GPipe", "1F1B", "ZB-H1"})
    for (const char* strategy : {"single", "tp"}) {
      const sharded_program p =
          programs::piped({schedule_called(name), {4, 1, 8}}, strategy, std::string(strategy) == "single" ? 1 : 2)
              .program;
      const program_moves moves = kinds_of_moves(p, links);
      const step_account a = account_of_parts(p, moves, matrix384::device);
      ASSERT_TRUE(a.ok()) << name;
      extent_t most = 0;
      for (int k = 0; k < parts_of(p); ++k)
        most = larger(most, hyperparallel::detail::memory_account_of(p, moves, storage_uses(p),
                                                                     hyperparallel::detail::storage_alignment, k)
                                .peak);
      const extent_t alive = plan_addresses(p, moves).alive_maximum[0];  // and buffers of hand-overs
      EXPECT_LE(most, alive) << name;
      EXPECT_LE(alive * 100, most * 105) << name;
      EXPECT_LE(a.memory.peak, most);
      const run_times clock = simulate(lower_training(p, {.topology = links}), matrix384::device);
      EXPECT_EQ(a.times.total.picoseconds, clock.makespan) << name;
      EXPECT_GT(a.times.exposed, 0);
    }
}

/// Gradients of 16 bits are looked at before the update, which runs by itself: all micro-batches are one run all the same.
TEST(parts_account, a_step_in_two_runs_takes_what_both_take) {
  const graph g = programs::piped_graph(4, 4, nullptr, bf16);
  const sharded_program p = partition(g, strategy_called("single", 1).strategy,
                                      pipeline_value{.schedule = schedule_called("1F1B"), .ranks = 2})
                                .program;
  const lowered_program l = lower_training(p, {.topology = links});
  ASSERT_EQ(l.run.size, 2);
  const run_times both = simulate(l, matrix384::device);
  EXPECT_EQ(both.makespan,
            simulate(l, l.run[0], matrix384::device).makespan + simulate(l, l.run[1], matrix384::device).makespan);
  EXPECT_GE(both.makespan, account_of_parts(p, kinds_of_moves(p, links), matrix384::device).times.total.picoseconds);
}

/// A dense model of 70 billion parameters: tensors over all devices, without sequence parallelism, against stages of a schedule
/// that keeps little in flight, on as many devices.
TEST(parts_account, stages_with_little_in_flight_need_a_fifth_less_than_tensors_over_all_devices) {
  model_builder m({.activation = bf16, .parameter = bf16, .unrolled = true});
  const int batch = m.dim("batch", 1), sequence = m.dim("seq", 8192);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const transformer_block<attention_layer, swiglu_layer> block{
      .attention = {.query_heads = 64, .key_heads = 64, .head_dim = 128}, .feed_forward = {.width = 28672}};
  int x = token_embedding{.vocabulary = 128256, .hidden = 8192}(m, tokens);
  x = m.repeat("layers", 80, x, block);
  language_head{.vocabulary = 128256}(m, x, labels);
  const graph g = programs::trained(m, {.unrolled = true, .micro_batches = 16});
  const auto peak = [](const sharded_program& p, extent_t& account) {
    const program_moves moves = kinds_of_moves(p);
    account = 0;
    for (int k = 0; k < parts_of(p); ++k)
      account = larger(account, hyperparallel::detail::memory_account_of(p, moves, storage_uses(p), 1, k).peak);
    return plan_addresses(p, moves).high_water[0];
  };
  extent_t account_of_tensors = 0, account_of_stages = 0;
  const extent_t tensors = peak(partition(g, strategy_called("tp", 64).strategy), account_of_tensors);
  const pipelined_program p =
      partition(g, strategy_called("tp", 16).strategy, {.schedule = schedule_called("V-Min"), .ranks = 4, .chunks = 2});
  ASSERT_TRUE(p.ok());
  const extent_t stages = peak(p.program, account_of_stages);
  std::printf("tensors over 64 devices %.1f GiB, 4 groups of 16 under V-Min %.1f GiB by address; %.1f and %.1f alive\n",
              static_cast<double>(tensors) / (1 << 30), static_cast<double>(stages) / (1 << 30),
              static_cast<double>(account_of_tensors) / (1 << 30), static_cast<double>(account_of_stages) / (1 << 30));
  EXPECT_LE(stages * 10, tensors * 8);
  EXPECT_LE(account_of_stages * 10, account_of_tensors * 8);
}

}  // namespace
