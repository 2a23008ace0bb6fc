// SPDX-License-Identifier: Apache-2.0
// processes: 4 1
#include <gtest/gtest.h>

#include <cstring>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/mpi/blocks.hpp>

namespace hp = hyperparallel;

namespace {

std::vector<hp::planned_tensor> two_tensors() {
  const hp::mesh_shape mesh{2, {2, 2}};
  hp::layout_value rows = hp::replicated(mesh, 2), columns = rows, terms = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(columns, {1, 1, 1, 2});
  terms.partial[1] = hp::reduce_op::sum;
  return {{rows, columns, hp::shape{6, 10}, std::size_t{3}}, {terms, rows, hp::shape{4, 4}, hp::f32}};
}

/// Four ranks on however many processes there are, the last process first.
std::vector<int> homes(int processes) {
  std::vector<int> list;
  for (int r = 0; r < 4; ++r) list.push_back((processes - 1 - r % processes));
  return list;
}

struct block_range {
  int tensor, stage, rank;
};

void expect_blocks(const hp::mpi_world& world, const hp::move_blocks& blocks,
                   const std::vector<hp::planned_tensor>& tensors) {
  std::vector<block_range> mine;
  for (int t = 0; t < 2; ++t)
    for (int stage = 0; stage <= tensors[static_cast<std::size_t>(t)].plan().step_count; ++stage)
      for (const int r : world.hosted()) mine.push_back({t, stage, r});
  // Own blocks are written one after another; any overlap destroys an earlier one.
  unsigned char value = static_cast<unsigned char>(world.process() * 50);
  const unsigned char first = value;
  for (const block_range& b : mine) {
    std::byte* const at = blocks.address(b.tensor, b.stage, b.rank);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 64, 0U);
    std::memset(at, ++value, static_cast<std::size_t>(blocks.bytes(b.tensor, b.stage, b.rank)));
  }
  value = first;
  for (const block_range& b : mine) {
    ++value;
    const std::byte* const at = blocks.address(b.tensor, b.stage, b.rank);
    for (std::int64_t i = 0; i < blocks.bytes(b.tensor, b.stage, b.rank); ++i) ASSERT_EQ(at[i], std::byte{value});
  }
}

TEST(move_blocks, do_not_overlap) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const hp::mpi_world world(MPI_COMM_WORLD, homes(size));
  const std::vector<hp::planned_tensor> tensors = two_tensors();
  for (const bool shared : {false, true}) {
    const hp::move_blocks blocks(world, tensors, shared);
    EXPECT_EQ(blocks.bytes(0, 0, 0), 3 * 10 * 3);
    EXPECT_EQ(blocks.bytes(0, 1, 3), 6 * 5 * 3);
    expect_blocks(world, blocks, tensors);
    world.channel().agree("all have looked");
  }
}

/// With a window every process reads in each rank's block what the rank's process wrote there.
TEST(move_blocks, are_reached_by_the_processes_of_a_host) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::vector<hp::planned_tensor> tensors = two_tensors();
  for (const int per_host : {0, 1, 2, 3}) {
    const hp::mpi_world world(MPI_COMM_WORLD, homes(size), hp::mpi_options{.processes_per_host = per_host});
    const hp::move_blocks blocks(world, tensors, true);
    for (const int r : world.hosted())
      std::memset(blocks.address(0, 1, r), 40 + r, static_cast<std::size_t>(blocks.bytes(0, 1, r)));
    blocks.synchronise();
    world.channel().agree("written");
    blocks.synchronise();
    int reached = 0;
    for (int r = 0; r < 4; ++r) {
      ASSERT_EQ(blocks.reaches(r), world.number_on_host(world.process_of(r)) >= 0);
      ASSERT_EQ(blocks.address(0, 1, r) != nullptr, blocks.reaches(r));
      if (!blocks.reaches(r)) continue;
      ++reached;
      EXPECT_EQ(blocks.address(0, 1, r)[0], std::byte(40 + r));
      EXPECT_EQ(blocks.address(0, 1, r)[blocks.bytes(0, 1, r) - 1], std::byte(40 + r));
    }
    EXPECT_GE(reached, static_cast<int>(world.hosted().size()));
    world.channel().agree("all have looked");
  }
}

}  // namespace
