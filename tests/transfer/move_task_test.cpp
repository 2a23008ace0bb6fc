// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/move_task.hpp>
#include <hyperparallel/world/program_tasks.hpp>

#include <lowering/one_move.hpp>
#include <support/small_links.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// A program of one move of doubles in memory, its source filled with small whole numbers that sums keep exact.
struct moved {
  hp::sharded_program program;
  hp::program_pulls pulls;
  hp::program_slots slots;
  hp::program_memory memory;
  hp::detail::light_vector<hp::detail::move_task> tasks;

  moved(const hp::sharded_program& p, std::mt19937& random) : moved(p, hp::kinds_of_moves(p), random) {}
  /// With moves of its own.
  moved(const hp::sharded_program& p, const hp::program_moves& moves, std::mt19937& random)
      : program(p),
        pulls(hp::pulls_of(program, moves)),
        slots(hp::detail::slots_of(program, moves, hp::plan_addresses(program, moves))),
        memory(program, slots),
        tasks(hp::detail::transfers_of(program, pulls, memory, 0)) {
    for (int r = 0; r < memory.ranks(); ++r)
      for (double& x : block(0, r)) x = static_cast<double>(random() % 16) - 8;
    // What terms agree on is the same in their replicas.
    for (int r = 0; r < memory.ranks(); ++r) copy_from_first_replica(r);
    for (int r = 0; r < memory.ranks(); ++r)
      for (double& x : block(1, r)) x = std::numeric_limits<double>::quiet_NaN();
  }
  std::span<double> block(int value, int rank) const {
    return {reinterpret_cast<double*>(memory.block(value, rank)),
            static_cast<std::size_t>(hp::local_elements(program, value))};
  }
  void copy_from_first_replica(int rank) const {
    const hp::layout_value& l = program.value[0].layout;
    hp::coordinate at = hp::coordinates_of(l.mesh, rank);
    unsigned held = 0;
    for (int i = 0; i < l.cut_count; ++i) held |= 1u << l.cut[i].axis;
    for (int a = 0; a < l.mesh.axis_count; ++a)
      if ((held >> a & 1u) == 0 && l.partial[a] == hp::reduce_op::none) at.at[a] = 0;
    const std::span<double> from = block(0, hp::position_of(l.mesh, at)), to = block(0, rank);
    std::copy(from.begin(), from.end(), to.begin());
  }
  std::vector<double> whole(int value) const {
    std::vector<double> all(static_cast<std::size_t>(hp::elements_of(program.graph.tensor[0])));
    memory.gather(value, all.data());
    return all;
  }
  void run() const {
    for (const hp::detail::move_task& t : tasks) t.run();
  }
};

TEST(MoveTask, TakesEveryLayoutToEveryOther) {
  std::mt19937 random(10);
  const int tries = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 20000 : 600;
  const hp::reduce_op ops[] = {hp::reduce_op::none, hp::reduce_op::sum, hp::reduce_op::sum, hp::reduce_op::max,
                               hp::reduce_op::min};
  int staged = 0;
  for (int n = 0; n < tries; ++n) {
    const moved m(programs::random_move(random, ops[n % 5], hp::f64), random);
    ASSERT_EQ(m.pulls.status.code, hp::move_pulls_code::ok);
    staged += m.pulls.of(0).row.size == 2 ? 1 : 0;
    const std::vector<double> before = m.whole(0);
    m.run();
    EXPECT_EQ(m.whole(1), before);
    EXPECT_EQ(m.whole(0), before) << "the source changes";
    // Replicas of the target agree, and every element has been written.
    for (int r = 0; r < m.memory.ranks(); ++r)
      for (const double x : m.block(1, r)) EXPECT_FALSE(std::isnan(x));
    const int ranks = m.memory.ranks();
    for (std::size_t i = 0; i < m.tasks.size(); ++i)
      EXPECT_EQ(m.tasks[i].received(), 8 * m.pulls.of(0).pulled[static_cast<int>(i)]);
    EXPECT_EQ(m.tasks.size(), static_cast<std::size_t>(ranks * m.pulls.of(0).row.size));
  }
  EXPECT_GT(staged, 10);
}

/// The only kind of move of `p`, carried out by `candidate` on `links`; none where it cannot be built.
std::optional<hp::program_moves> moves_by(const hp::sharded_program& p, hp::move_candidate candidate,
                                          const hp::interconnect& links) {
  hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::layout_value &from = p.value[0].layout, &to = p.value[1].layout;
  const hp::shape& s = p.graph.tensor[0].shape;
  const hp::candidate_source all = hp::candidates_of(from, to, s, links);
  if (moves.kind[0].exchange_steps == 0 || hp::build_candidate(all, candidate).code != hp::candidate_code::ok)
    return {};
  moves.links = links;
  hp::detail::take_candidate(from, to, all.exchange, candidate, links, 8, moves.kind[0]);
  moves.first_staged.clear();
  moves.first_staged.push(0);
  moves.first_staged.push(moves.kind[0].staged.size);
  return moves;
}

/// Whatever the links and the candidate: each ends with every device holding its block of the same values, having
/// received what the rows count; rows of two parts fill a block once.
TEST(MoveTask, TakesEveryLayoutToEveryOtherByEveryCandidate) {
  std::mt19937 random(14);
  const int tries = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 4000 : 150;
  const hp::reduce_op ops[] = {hp::reduce_op::none, hp::reduce_op::sum, hp::reduce_op::sum, hp::reduce_op::max};
  int by[hp::move_candidate_count] = {}, many_steps = 0, two_parts = 0;
  for (int n = 0; n < tries; ++n) {
    const hp::sharded_program p = programs::random_move(random, ops[n % 4], hp::f64);
    for (const hp::interconnect& links : {tested::node_links(), tested::mesh_links(p.mesh.shape)})
      for (int c = 0; c < hp::move_candidate_count; ++c) {
        const auto moves = moves_by(p, static_cast<hp::move_candidate>(c), links);
        if (!moves) continue;
        const moved m(p, *moves, random);
        const std::vector<double> before = m.whole(0);
        m.run();
        ASSERT_EQ(m.whole(1), before) << hp::name_of(static_cast<hp::move_candidate>(c));
        ASSERT_EQ(m.whole(0), before) << "the source changes";
        for (int r = 0; r < m.memory.ranks(); ++r)
          for (const double x : m.block(1, r)) ASSERT_FALSE(std::isnan(x));
        for (std::size_t i = 0; i < m.tasks.size(); ++i)
          ASSERT_EQ(m.tasks[i].received(), 8 * m.pulls.of(0).pulled[static_cast<int>(i)]);
        ++by[c];
        many_steps += m.pulls.of(0).row.size > 2 ? 1 : 0;
        two_parts += m.pulls.of(0).parts.count == 2 ? 1 : 0;
      }
  }
  for (int c = 0; c < hp::move_candidate_count; ++c)
    EXPECT_GT(by[c], 5) << hp::name_of(static_cast<hp::move_candidate>(c));
  EXPECT_GT(many_steps, 20);
  EXPECT_GT(two_parts, 10);
}

// What is flipped in the copy of a run is found where it is, if the move writes there.
TEST(MoveTask, ASecondRunElsewhereWritesTheSame) {
  std::mt19937 random(12);
  const int tries = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 5000 : 300;
  const hp::reduce_op ops[] = {hp::reduce_op::none, hp::reduce_op::sum, hp::reduce_op::max};
  int flips = 0;
  for (int n = 0; n < tries; ++n) {
    const moved m(programs::random_move(random, ops[n % 3], hp::f64), random);
    for (const hp::detail::move_task& t : m.tasks) {
      t.run();
      std::vector<std::byte> other(static_cast<std::size_t>(t.reach()));
      t.run_into(other.data());
      ASSERT_EQ(t.first_difference(other.data()), -1);
      if (other.empty()) continue;
      const std::size_t at = random() % other.size();
      other[at] ^= std::byte{16};
      const std::int64_t found = t.first_difference(other.data());
      ASSERT_TRUE(found == static_cast<std::int64_t>(at) || found == -1);
      other[at] ^= std::byte{16};
      other.back() ^= std::byte{1};
      ASSERT_EQ(t.first_difference(other.data()), t.reach() - 1);
      ++flips;
    }
  }
  EXPECT_GE(flips, tries);
}

TEST(MoveTask, RotatesWholeBlocks) {
  std::mt19937 random(11);
  for (int n = 0; n < 100; ++n) {
    const hp::mesh_shape mesh = programs::random_mesh(random);
    hp::layout_value l;
    l.mesh = mesh;
    l.rank = 1;
    const int axis = static_cast<int>(random() % static_cast<unsigned>(mesh.axis_count));
    hp::append_cut(l, {0, axis, 1, mesh.size[axis]});
    const int before = static_cast<int>(random() % 5), after = static_cast<int>(random() % 5);
    const moved m(programs::one_move(l, l, hp::shape{3 * mesh.size[axis]}, {axis, before}, {axis, after}, hp::f64),
                  random);
    const std::vector<double> all = m.whole(0);
    m.run();
    EXPECT_EQ(m.whole(1), all);
    for (int r = 0; r < m.memory.ranks(); ++r) {
      const hp::box part = hp::box_of(m.program, 1, r);
      for (std::size_t i = 0; i < m.block(1, r).size(); ++i)
        EXPECT_EQ(m.block(1, r)[i], all[static_cast<std::size_t>(part.dim[0].begin) + i]);
    }
  }
}

TEST(MoveTask, FoldsInTheOrderOfPositions) {
  hp::layout_value waits, whole;
  waits.mesh = whole.mesh = {1, {3}};
  waits.rank = whole.rank = 1;
  waits.partial[0] = hp::reduce_op::sum;
  std::mt19937 random(12);
  const moved m(programs::one_move(waits, whole, hp::shape{6}, {}, {}, hp::f64), random);
  for (int r = 0; r < 3; ++r)
    for (double& x : m.block(0, r)) x = r == 0 ? 1e16 : r == 1 ? 1.0 : -1e16;
  m.run();
  const volatile double large = 1e16;
  const double in_order = (large + 1.0) - large;
  for (int r = 0; r < 3; ++r)
    for (const double x : m.block(1, r)) EXPECT_EQ(x, in_order);
}

}  // namespace
