// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/program_run.hpp>

#include <runtime/small_models.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

namespace hp = hyperparallel;

namespace {

/// Counts its calls and zeroes its results.
std::atomic<int> calls{0};
void counting(const hp::operator_call& call) {
  ++calls;
  for (int r = 0; r < call.rule->result_count; ++r)
    std::memset(call.result[r], 0, static_cast<std::size_t>(call.result_elements(r)) * sizeof(float));
}
hp::operator_kernel counting_kernels(hp::operator_id) { return &counting; }

hp::operator_kernel failing_kernels(hp::operator_id kind) {
  if (kind != hp::id_of<hp::ops::silu>) return &counting;
  return [](const hp::operator_call& call) {
    if (call.loop[0].begin > 0) throw std::runtime_error("the activation overflows");
    counting(call);
  };
}

struct bound_program {
  hp::sharded_program program;
  hp::program_addresses addresses;
  hp::program_slots slots;
  hp::program_pulls pulls;
  hp::program_memory memory;
  hp::program_tasks tasks;

  bound_program(const hp::sharded_program& p, hp::kernel_choice kernels)
      : program(p),
        addresses(hp::plan_addresses(program)),
        slots(hp::slots_of(program, addresses)),
        pulls(hp::pulls_of(program)),
        memory(program, slots),
        tasks(program, pulls, memory, kernels) {}
  hp::program_run run(const hp::program_flow_options& how = {}) {
    return hp::program_run(program, pulls, addresses, tasks, how, {.threads = 2});
  }
};

TEST(ProgramRun, RunsEveryTaskOnce) {
  bound_program b(small_models::two_layers_on(4, true), &counting_kernels);
  hp::program_run run = b.run();
  EXPECT_EQ(run.tasks(), 4 * 4 + 2 * 4);
  for (int n = 1; n <= 3; ++n) {
    EXPECT_EQ(run.run({}), hp::run_result::complete);
    EXPECT_EQ(calls.exchange(0), 16);
  }
  for (int r = 0; r < 4; ++r) EXPECT_EQ(run.received(r), 2 * 3 * 6 * 4);  // two steps, three others, six floats each
}

TEST(ProgramRun, TellsWhatItReadsAndWrites) {
  bound_program b(small_models::two_layers_on(2, false), &counting_kernels);
  const hp::program_run run = b.run();
  EXPECT_EQ(run.reads().size(), 4U);  // x, first, second, dh
  for (const int v : run.reads()) EXPECT_EQ(b.program.home[b.program.value[v].tensor], v);
  for (int s = 0; s < b.program.storage.size; ++s) EXPECT_EQ(run.writes(s), !b.program.storage[s].home);
}

TEST(ProgramRun, AnErrorNamesTheOperatorAndTheRank) {
  bound_program b(small_models::two_layers_on(2, true), &failing_kernels);
  hp::program_run run = b.run();
  try {
    run.run({});
    FAIL();
  } catch (const hp::task_error& e) {
    EXPECT_EQ(e.rank, 1);
    EXPECT_EQ(e.operation, "a (silu)");
    EXPECT_EQ(e.slot, "a");
    EXPECT_NE(std::string(e.what()).find("the activation overflows"), std::string::npos) << e.what();
  }
}

TEST(ProgramRun, WhatCannotBeLoweredIsNamed) {
  bound_program b(small_models::two_layers_on(2, true), &counting_kernels);
  for (hp::extent_t& offset : b.addresses.storage) offset = 0;
  try {
    b.run();
    FAIL();
  } catch (const hp::program_error& e) {
    EXPECT_NE(std::string(e.what()).find("h (contract)"), std::string::npos) << e.what();
  }
}

}  // namespace
