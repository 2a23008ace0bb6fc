// SPDX-License-Identifier: Apache-2.0
// processes: 3
#include <hyperparallel/mpi/program_run.hpp>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/world/program_run.hpp>

#include "mpi/worlds.hpp"
#include "world/small_models.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;
using hp::detail::mpi_program_run;

bool fails = false;
hp::operator_kernel kernels(hp::operator_id kind) {
  if (kind != hp::id_of<hp::ops::silu>) return hp::kernel_of<double>(kind);
  return [](const hp::operator_call& call) {
    if (fails) throw std::runtime_error("no more\nof this");
    hp::kernel_of<double>(hp::id_of<hp::ops::silu>)(call);
  };
}

struct small_world {
  hp::mpi_world world{MPI_COMM_WORLD, {2, 0, 1, 0}, {.timeout = 30s}};
  hp::lowered_program lowered;
  const hp::sharded_program& program = lowered.program;
  const hp::program_pulls& pulls = lowered.pulls;
  hp::program_slots slots;
  hp::program_memory memory;
  mpi_program_run run;

  explicit small_world(bool data_parallel)
      : lowered(hp::lower(small_models::two_layers_on(4, data_parallel, hp::f64), {}, hp::micro_phases)),
        slots(hp::detail::slots_of(program, lowered.addresses)),
        memory(program, slots, world.hosted()),
        run(world, lowered, lowered.run[0], memory, &kernels) {
    for (int t = 0; t < program.home.size; ++t) {
      if (program.home[t] < 0) continue;
      std::vector<double> whole(static_cast<std::size_t>(hp::elements_of(program.graph.tensor[t])));
      for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<double>(i % 7) - 3;
      memory.scatter(program.home[t], reinterpret_cast<const std::byte*>(whole.data()));
    }
  }
  /// What the ranks of this process hold of the last value, which every device has whole or in part.
  std::vector<double> result() const {
    std::vector<double> all;
    const int value = program.value.size - 1;
    for (const int r : world.hosted()) {
      const double* const block = reinterpret_cast<const double*>(memory.block(value, r));
      all.insert(all.end(), block, block + hp::local_elements(program, value));
    }
    return all;
  }
};

TEST(mpi_program_run, is_the_share_of_a_run_within_one_process) {
  for (const bool data_parallel : {true, false}) {
    small_world w(data_parallel);
    const mpi_program_run::outcome out = w.run.run(1, 30s);
    EXPECT_EQ(out.complaint, "");
    EXPECT_FALSE(out.is_final);
    hp::program_memory all(w.program, w.slots);
    hp::detail::program_tasks tasks(w.program, w.pulls, all, &kernels);
    hp::detail::program_run alone(w.program, w.lowered.run[0], tasks, {});
    EXPECT_EQ(w.run.reads(), alone.reads());
    for (int s = 0; s < w.program.storage.size; ++s) {
      EXPECT_EQ(w.run.writes(s), alone.writes(s));
      EXPECT_EQ(w.run.survives(s), alone.survives(s));
    }
    for (int r = 0; r < 4; ++r) EXPECT_EQ(w.run.received(r), alone.received(r));
    EXPECT_EQ(w.run.phases(), hp::micro_phases);
    EXPECT_GE(w.run.staging_bytes(), 0);
    EXPECT_TRUE(w.run.is_proved());
  }
}

TEST(mpi_program_run, ends_everywhere_when_a_kernel_throws) {
  for (const bool data_parallel : {true, false}) {
    small_world w(data_parallel);
    w.run.run(1, 30s);
    const std::vector<double> expected = w.result();
    fails = w.world.process() == 1;
    const mpi_program_run::outcome out = w.run.run(1, 30s);
    fails = false;
    EXPECT_FALSE(out.is_final);
    EXPECT_EQ(out.complaint, w.world.process() == 1 ? "step 1 on rank 2: a (silu) failed: no more" : "");
    EXPECT_EQ(w.run.run(1, 30s).complaint, "");
    EXPECT_EQ(w.result(), expected);
  }
}

TEST(mpi_program_run, complaints_are_one_line) {
  EXPECT_EQ(hp::detail::complaint_of([] {}), "");
  EXPECT_EQ(hp::detail::complaint_of([] { throw std::runtime_error("one\ntwo"); }), "one");
  EXPECT_EQ(hp::detail::complaint_of([] { throw 3; }), "unknown exception");
}

}  // namespace
