// SPDX-License-Identifier: Apache-2.0
// processes: 3 2
// Moves between all sorts of layouts, step by step, against the same moves within one process.
#include <hyperparallel/mpi/move_messages.hpp>

#include <hyperparallel/world/program_tasks.hpp>

#include "lowering/one_move.hpp"
#include "mpi/worlds.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;
using hp::detail::move_messages;
using hp::detail::run_health;

/// One world for each number of ranks, dealt to the processes in no order that sorting gives.
const hp::mpi_world& world_of(int ranks) {
  static std::map<int, hp::mpi_world> worlds;
  if (const auto known = worlds.find(ranks); known != worlds.end()) return known->second;
  std::vector<int> homes;
  for (int r = 0; r < ranks; ++r) homes.push_back((2 * r + r / 3) % processes());
  return worlds.emplace(ranks, hp::mpi_world(MPI_COMM_WORLD, homes, {.timeout = 60s})).first->second;
}

void start(move_messages& one, run_health health) {
  one.open(health);
  for (const int p : one.receives_from()) one.post_receive(p, health);
  for (const int p : one.sends_to()) one.post_send(p, health);
  one.copy(health);
}

/// The program of one move, in the memory of all ranks and in that of the ranks of this process.
struct moved {
  hp::sharded_program program;
  hp::program_slots slots;
  hp::program_pulls pulls;
  const hp::mpi_world& world;
  hp::program_memory alone, own;
  hp::detail::light_vector<hp::detail::move_task> tasks;
  std::deque<move_messages> parts;
  std::deque<hp::arena> staging;

  moved(const hp::sharded_program& p, std::mt19937& random)
      : program(p),
        slots(hp::detail::slots_of(program, hp::plan_addresses(program))),
        pulls(hp::pulls_of(program)),
        world(world_of(hp::position_count(p.mesh.shape))),
        alone(program, slots),
        own(program, slots, world.hosted()),
        tasks(hp::detail::transfers_of(program, pulls, alone, 0)) {
    for (int i = 0; i < pulls.of(0).row.size; ++i) {
      const hp::move_row& row = pulls.of(0).row[i];
      const auto source = [&](int rank) {
        return own.address(hp::detail::place_read(program, pulls.moves, 0, row), rank);
      };
      const auto target = [&](int rank) {
        return own.address(hp::detail::place_written(program, pulls.moves, 0, row), rank);
      };
      move_messages& one = parts.emplace_back(world, program, pulls.of(0), 0, i, source, target);
      one.prepare(staging.emplace_back(one.staging_bytes()).data());
    }
    fill(random);
  }
  static std::span<double> block(const hp::program_memory& memory, const hp::sharded_program& p, int value, int rank) {
    return {reinterpret_cast<double*>(memory.block(value, rank)),
            static_cast<std::size_t>(hp::local_elements(p, value))};
  }
  /// Numbers whose sums depend on their order; the same on all processes. What the move does not write must stay.
  void fill(std::mt19937& random) {
    for (int r = 0; r < alone.ranks(); ++r)
      for (std::size_t i = 0; i < block(alone, program, 0, r).size(); ++i) {
        const double x = static_cast<double>(random()) / 3.0 - 7e8;
        block(alone, program, 0, r)[i] = x;
        if (own.hosts(r)) block(own, program, 0, r)[i] = x;
      }
    for (int r = 0; r < alone.ranks(); ++r) {
      std::ranges::fill(block(alone, program, 1, r), -1.0);
      if (own.hosts(r)) std::ranges::fill(block(own, program, 1, r), -1.0);
    }
  }
  void run() {
    for (const hp::detail::move_task& t : tasks) t.run();
    for (move_messages& one : parts) {
      start(one, run_health::sound);
      one.look();
      ASSERT_TRUE(one.close(60s));
    }
  }
  bool is_same() const {
    bool same = true;
    for (const int r : world.hosted())
      for (const int value : {0, 1}) {
        const std::span<double> a = block(alone, program, value, r), b = block(own, program, value, r);
        same = same && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
      }
    return same;
  }
};

TEST(move_messages, take_every_layout_to_every_other_bit_for_bit) {
  std::mt19937 random(31);
  const int tries = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 4000 : 300;
  const hp::reduce_op ops[] = {hp::reduce_op::none, hp::reduce_op::sum, hp::reduce_op::avg,
                               hp::reduce_op::sum,  hp::reduce_op::max, hp::reduce_op::prod};
  int staged = 0;
  for (int n = 0; n < tries; ++n) {
    moved m(programs::random_move(random, ops[n % 6], hp::f64), random);
    staged += m.parts.size() == 2 ? 1 : 0;
    for (int again = 0; again < 2; ++again) {
      m.run();
      ASSERT_TRUE(m.is_same()) << "move " << n;
      m.fill(random);
    }
  }
  EXPECT_GT(staged, 10);
}

TEST(move_messages, blocks_travel_along_an_axis) {
  std::mt19937 random(32);
  for (const int by : {0, 1, 2, 3}) {
    const hp::mesh_shape mesh{2, {4, 2}};
    hp::layout_value l = hp::replicated(mesh, 1);
    hp::append_cut(l, {0, 0, 1, 4});
    moved m(programs::one_move(l, l, hp::shape{48}, {0, 1}, {0, 1 + by}, hp::f64), random);
    m.run();
    EXPECT_TRUE(m.is_same());
  }
}

TEST(move_messages, are_hollow_where_a_peer_has_failed) {
  std::mt19937 random(33);
  const hp::mesh_shape mesh{1, {4}};
  hp::layout_value terms = hp::replicated(mesh, 1), cut = terms;
  terms.partial[0] = hp::reduce_op::sum;
  hp::append_cut(cut, {0, 0, 1, 4});
  moved m(programs::one_move(terms, cut, hp::shape{64}, {}, {}, hp::f64), random);
  const bool failed = m.world.process() == 1;
  start(m.parts.front(), failed ? run_health::stopped : run_health::sound);
  EXPECT_EQ(m.parts.front().close(60s), failed);
  m.run();
  EXPECT_TRUE(m.is_same());
}

}  // namespace
