// SPDX-License-Identifier: Apache-2.0
// Four processes, one of which does not do its part: failing_program MODE. What each mode must print stands in
// tests/mpi.cmake.
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/mpi.hpp>
#include <hyperparallel/mpi/program_world.hpp>

#include "world/small_models.hpp"

namespace {

namespace hp = hyperparallel;
using namespace std::chrono_literals;

constexpr hp::mpi_options impatient{.timeout = 1s};

hp::planned_tensor rows_to_columns(hp::extent_t rows, hp::extent_t columns) {
  const hp::mesh_shape mesh{1, {4}};
  hp::layout_value by_row = hp::replicated(mesh, 2), by_column = by_row;
  hp::append_cut(by_row, {0, 0, 1, 4});
  hp::append_cut(by_column, {1, 0, 1, 4});
  return {by_row, by_column, hp::shape{rows, columns}, hp::f32};
}

/// Does `what` to this process while it is in the middle of a move.
template <class What>
void soon(const What& what) {
  std::thread([what] {
    std::this_thread::sleep_for(200ms);
    what();
  }).detach();
}

void run_for_ever(hp::mpi_redistribution& move) {
  for (;;) move.run();
}

/// Runs for ever what each process has a share of, with one move open at a time and sends that wait for their receives.
void compute_for_ever(const hp::mpi_world& world) {
  hp::mpi_program_world<float> program(world, small_models::two_layers_on(4, true));
  for (const char* const name : {"x", "first", "second", "dh"}) {
    const int t = hp::find_tensor(program.program().graph, name);
    program.set(t,
                std::vector<float>(static_cast<std::size_t>(hp::elements_of(program.program().graph.tensor[t])), 1.0F));
  }
  for (;;) program.run_micro();
}

void fail_as(const std::string& mode) {
  if (mode == "other_order") {
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const std::vector<int> straight{0, 1, 2, 3}, swapped{1, 0, 2, 3};
    const hp::mpi_world refused(MPI_COMM_WORLD, me == 2 ? swapped : straight, impatient);
    return;
  }
  const bool computes = mode.find("while_computing") != std::string::npos;
  const hp::mpi_world world(MPI_COMM_WORLD,
                            {.timeout = 1s, .open_moves = computes ? 1 : 8, .synchronous_sends = computes});
  const int me = world.process();
  if (mode == "mismatch") {
    const hp::mpi_redistribution refused(world, rows_to_columns(8, me == 3 ? 12 : 8));
    return;
  }
  const bool windows = mode.find("among_windows") != std::string::npos;
  hp::mpi_redistribution move(world, rows_to_columns(256, 256),
                              windows ? hp::mpi_transport::automatic : hp::mpi_transport::derived_types);
  move.run();
  if (mode == "throws" && me == 2) throw std::runtime_error("this process has had enough");
  if (mode == "absent" && me == 3) std::this_thread::sleep_for(1h);
  if (mode == "first_is_absent" && me == 0) std::this_thread::sleep_for(1h);
  if (me == 3 && mode.starts_with("exits")) soon([] { _exit(3); });
  if (me == 3 && mode.starts_with("killed")) soon([] { std::raise(SIGKILL); });
  if (me == 3 && mode.starts_with("stopped")) soon([] { std::raise(SIGSTOP); });
  if (computes) compute_for_ever(world);
  run_for_ever(move);
}

}  // namespace

int main(int argc, char** argv) {
  return hp::mpi_main(argc, argv, [&] { fail_as(argc > 1 ? argv[1] : ""); });
}
