// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/program_run.hpp>

#include <world/small_models.hpp>

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

constexpr unsigned all_phases = hp::micro_phases | hp::update_phases;

struct bound_program {
  hp::lowered_program lowered;
  hp::program_slots slots;
  hp::program_memory memory;
  hp::detail::program_tasks tasks;

  bound_program(const hp::sharded_program& p, hp::kernel_choice kernels)
      : lowered(hp::lower(p, {}, all_phases)),
        slots(hp::detail::slots_of(lowered.program, lowered.addresses)),
        memory(lowered.program, slots),
        tasks(lowered.program, lowered.pulls, memory, kernels) {}
  hp::detail::program_run run() {
    return hp::detail::program_run(lowered.program, *lowered.find_run(all_phases), tasks, {.threads = 2});
  }
};

TEST(ProgramRun, RunsEveryTaskOnce) {
  bound_program b(small_models::two_layers_on(4, true), &counting_kernels);
  hp::detail::program_run run = b.run();
  EXPECT_EQ(run.tasks(), 4 * 4 + 2 * 4);
  for (int n = 1; n <= 3; ++n) {
    EXPECT_EQ(run.run({}), hp::run_result::complete);
    EXPECT_EQ(calls.exchange(0), 16);
  }
  for (int r = 0; r < 4; ++r) EXPECT_EQ(run.received(r), 2 * 3 * 6 * 4);  // two steps, three others, six floats each
}

TEST(ProgramRun, TellsWhatItReadsAndWrites) {
  bound_program b(small_models::two_layers_on(2, false), &counting_kernels);
  const hp::detail::program_run run = b.run();
  EXPECT_EQ(run.reads().size, 4);  // x, first, second, dh
  for (const int v : run.reads()) EXPECT_EQ(b.lowered.program.home[b.lowered.program.value[v].tensor], v);
  for (int s = 0; s < b.lowered.program.storage.size; ++s) EXPECT_EQ(run.writes(s), !b.lowered.program.storage[s].home);
}

TEST(ProgramRun, AnErrorNamesTheOperatorAndTheRank) {
  bound_program b(small_models::two_layers_on(2, true), &failing_kernels);
  hp::detail::program_run run = b.run();
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

// The plan of the class has a task a row, whatever the ranks; one process that has all of them takes no more than it can list.
TEST(ProgramRun, RefusesMoreTasksThanOneProcessRuns) {
  bound_program b(small_models::two_layers_on(2, false), &counting_kernels);
  hp::lowered_run wide = *b.lowered.find_run(all_phases);
  wide.plan.machine.ranks = hp::detail::most_tasks_of_all_ranks / wide.plan.row.size + 1;
  try {
    const hp::detail::program_run run(b.lowered.program, wide, b.tasks, {.threads = 2});
    FAIL();
  } catch (const hp::program_error& e) {
    EXPECT_EQ(std::string(e.what()).find("the program is refused: the flow has too many tasks, "), 0U) << e.what();
    EXPECT_NE(std::string(e.what()).find(" on each of " + std::to_string(wide.plan.machine.ranks) + " ranks"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
