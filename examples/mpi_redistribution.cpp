// SPDX-License-Identifier: Apache-2.0
// A matrix on eight processes goes from rows to columns: scripts/mpiexec -n 8 mpi_redistribution
#include <cstdio>

#include <hyperparallel/mpi.hpp>
#include <hyperparallel/shard.hpp>

#include "standard_output.hpp"

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"tp", 8}> {};
using by_row = hp::layout<mesh, "tp", hp::none>;
using by_column = hp::layout<mesh, hp::none, "tp">;
using move_type = hp::redistribution<by_row, by_column, hp::tensor<hp::f32, 1024, 4096>>;
static_assert(move_type::bytes_received == move_type::lower_bound);

int main(int argc, char** argv) {
  const int status = hp::mpi_main(argc, argv, [] {
    const hp::mpi_world world(MPI_COMM_WORLD);  // rank r on process r
    const hp::shape matrix = move_type::tensor::shape;
    hp::mpi_redistribution move(world, {by_row::value, by_column::value, matrix, hp::f32});

    const auto number = [&](hp::extent_t row, hp::extent_t column) {
      return static_cast<float>(row * matrix.extent[1] + column);
    };
    const auto for_each = [&](const hp::layout_value& layout, int rank, auto visit) {
      const hp::box b = hp::slice_of(layout, matrix, rank).box;
      std::size_t i = 0;
      for (hp::extent_t r = b.dim[0].begin; r < b.dim[0].end; ++r)
        for (hp::extent_t c = b.dim[1].begin; c < b.dim[1].end; ++c) visit(i++, number(r, c));
    };

    std::size_t wrong = 0;
    for (const int rank : world.hosted())
      for_each(by_row::value, rank, [&](std::size_t i, float x) { move.source<float>(rank)[i] = x; });
    move.run();
    for (const int rank : world.hosted()) {
      for_each(by_column::value, rank,
               [&](std::size_t i, float x) { wrong += move.target<float>(rank)[i] != x ? 1U : 0U; });
      std::printf("rank %d received %lld bytes, the bound is %lld; %zu elements are wrong\n", rank,
                  static_cast<long long>(move.received(rank)), static_cast<long long>(move_type::lower_bound), wrong);
    }
    return wrong == 0 ? 0 : 1;
  });
  return finished("mpi_redistribution", status);
}
