// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/program_memory.hpp>

#include <lowering/one_move.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

namespace hp = hyperparallel;

namespace {

using std::size_t;

struct memory_of_one {
  hp::sharded_program program;
  hp::program_slots slots;
  hp::program_memory memory;

  explicit memory_of_one(const hp::sharded_program& p)
      : program(p), slots(hp::detail::slots_of(program, hp::plan_addresses(program))), memory(program, slots) {}
  float& element(int value, int rank, size_t i) const { return reinterpret_cast<float*>(memory.block(value, rank))[i]; }
};

hp::sharded_program of_layout(const hp::layout_value& l, std::mt19937& random, hp::value_rotation turned = {}) {
  hp::shape s;
  s.rank = l.rank;
  for (int d = 0; d < l.rank; ++d) s.extent[d] = hp::shards_of(l, d) * hp::extent_t(1 + random() % 3);
  return programs::one_move(l, l, s, turned, turned);
}

TEST(ProgramMemory, GatherAfterScatterIsTheIdentity) {
  std::mt19937 random(13);
  for (int n = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 5000 : 200; n > 0; --n) {
    const hp::mesh_shape mesh = programs::random_mesh(random);
    const hp::layout_value l =
        programs::random_layout(random, mesh, 1 + static_cast<int>(random() % 3), hp::reduce_op::none);
    const int axis = static_cast<int>(random() % static_cast<unsigned>(mesh.axis_count));
    const memory_of_one m(of_layout(l, random, {axis, static_cast<int>(random() % 3)}));
    std::vector<float> whole(static_cast<size_t>(hp::elements_of(m.program.graph.tensor[0]))), back(whole.size());
    std::iota(whole.begin(), whole.end(), 1.0F);
    m.memory.scatter(0, reinterpret_cast<const std::byte*>(whole.data()));
    m.memory.gather(0, back.data());
    EXPECT_EQ(back, whole);
    const hp::shape& s = m.program.graph.tensor[0].shape;
    for (int r = 0; r < m.memory.ranks(); ++r) {
      // The first element of a rank's block is that of its box.
      const hp::box part = hp::box_of(m.program, 0, r);
      hp::extent_t at = 0;
      for (int d = 0; d < s.rank; ++d) at = at * s.extent[d] + part.dim[d].begin;
      EXPECT_EQ(m.element(0, r, 0), whole[static_cast<size_t>(at)]);
    }
    m.memory.clear(0);
    m.memory.gather(0, back.data());
    EXPECT_EQ(back, std::vector<float>(whole.size(), 0.0F));
  }
}

TEST(ProgramMemory, WaitingTermsAreReduced) {
  std::mt19937 random(14);
  const hp::mesh_shape mesh{3, {2, 2, 2}};
  hp::layout_value l;
  l.mesh = mesh;
  l.rank = 1;
  hp::append_cut(l, {0, 1, 1, 2});
  struct {
    hp::reduce_op op;
    float expected;
  } const cases[] = {{hp::reduce_op::sum, 4.0F},
                     {hp::reduce_op::avg, 2.0F},
                     {hp::reduce_op::max, 3.0F},
                     {hp::reduce_op::min, 1.0F},
                     {hp::reduce_op::prod, 3.0F}};
  for (const auto& one : cases) {
    l.partial[0] = one.op;
    const memory_of_one m(programs::one_move(l, l, hp::shape{4}));
    for (int r = 0; r < 8; ++r)
      for (size_t i = 0; i < 2; ++i) m.element(0, r, i) = r < 4 ? 1.0F : 3.0F;
    std::vector<float> whole(4);
    m.memory.gather(0, whole.data());
    EXPECT_EQ(whole, std::vector<float>(4, one.expected)) << hp::name_of(one.op);
  }
}

TEST(ProgramMemory, HighWaterIsThatOfThePlan) {
  std::mt19937 random(15);
  const memory_of_one m(programs::random_move(random, hp::reduce_op::sum));
  for (int r = 0; r < m.memory.ranks(); ++r)
    EXPECT_EQ(m.memory.high_water(r), hp::plan_addresses(m.program).high_water[0]);
}

}  // namespace
