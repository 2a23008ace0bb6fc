// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/image.hpp>

#include <lowering/broken_tables.hpp>
#include <lowering/one_move.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// Sizes of all arrays in their order.
std::vector<int> array_sizes(hp::lowered_program l) {
  std::vector<int> sizes;
  const auto note = [&](const auto& self, auto& array) -> void {
    sizes.push_back(array.size);
    if constexpr (hp::detail::holds_arrays<std::remove_reference_t<decltype(array[0])>>)
      for (auto& one : array) hp::detail::visit_arrays(one, [&](auto& inner) { self(self, inner); });
  };
  hp::detail::visit_arrays(l, [&](auto& array) { note(note, array); });
  return sizes;
}

/// As `program_of` reads an image; a buffer has the same arrays.
hp::lowered_program stored_and_read(const hp::lowered_program& l) {
  const auto buffer = std::make_unique<hp::detail::image_buffer>(hp::lowered_program(l));
  EXPECT_TRUE(buffer->fits);
  for (const int size : array_sizes(buffer->rest)) EXPECT_EQ(size, 0) << "an array is not stored";
  return hp::program_of(*buffer);
}

bool same_plan(const hp::program_plan& a, const hp::program_plan& b) {
  bool same = a.row.size == b.row.size && a.wait.size == b.wait.size && a.duration == b.duration &&
              a.wait_end == b.wait_end && a.survives == b.survives && a.writes == b.writes;
  for (int r = 0; same && r < a.row.size; ++r)
    same =
        a.row[r].step == b.row[r].step && a.row[r].first_item == b.row[r].first_item && a.row[r].kind == b.row[r].kind;
  for (int w = 0; same && w < a.wait.size; ++w)
    same = a.wait[w].word == b.wait[w].word && a.wait[w].threshold == b.wait[w].threshold;
  return same;
}

TEST(ProgramImage, GivesBackTheLoweredProgram) {
  int stored = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::interconnect& links : programs::links_of(p)) {
      SCOPED_TRACE(hp::named_strategy_at(i).name);
      const hp::lowered_program l = hp::lower_training(p, {.topology = links});
      ASSERT_TRUE(l.status.ok());
      const hp::lowered_program read = stored_and_read(l);
      EXPECT_EQ(array_sizes(read), array_sizes(l));
      EXPECT_EQ(read.program.graph.text, l.program.graph.text);
      EXPECT_EQ(read.program.home, l.program.home);
      EXPECT_EQ(read.addresses.storage, l.addresses.storage);
      EXPECT_EQ(read.addresses.staged, l.addresses.staged);
      EXPECT_EQ(read.addresses.high_water[0], l.addresses.high_water[0]);
      ASSERT_EQ(read.run.size, l.run.size);
      for (int r = 0; r < l.run.size; ++r) {
        EXPECT_EQ(read.run[r].phases, l.run[r].phases);
        EXPECT_EQ(read.run[r].reads, l.run[r].reads);
        EXPECT_TRUE(same_plan(read.run[r].plan, l.run[r].plan));
      }
      // Everything that lowering reads is there: it makes the same plan of what was read.
      hp::lowered_program again = hp::lower_training(read.program, {.topology = links});
      ASSERT_TRUE(again.status.ok());
      EXPECT_TRUE(same_plan(again.run[0].plan, l.run[0].plan));
      for (int k = 0; k < l.pulls.kind.size; ++k) {
        EXPECT_EQ(read.pulls.kind[k].sender, l.pulls.kind[k].sender);
        EXPECT_EQ(read.pulls.kind[k].pulled, l.pulls.kind[k].pulled);
      }
      ++stored;
    }
  }
  EXPECT_GE(stored, 50);
}

TEST(ProgramImage, SaysWhereItHasNoRoom) {
  hp::lowered_program l = hp::lower_training(programs::program_of("dp", 4, 1));
  l.run[0].plan.survives.resize(hp::detail::image_room<bool> + 1, true);
  const auto buffer = std::make_unique<hp::detail::image_buffer>(std::move(l));
  EXPECT_FALSE(buffer->fits);
}

template <int Ranks>
constexpr hp::lowered_program small_program() {
  const hp::mesh_shape m{1, {Ranks}};
  return hp::lower_training(
      programs::one_move(programs::layout_by(m, {-1}, {0}), programs::layout_by(m, {-1}), hp::shape{16}));
}
template <int Ranks>
struct constants {
  static constexpr auto buffer = hp::detail::image_buffer(small_program<Ranks>());
  static constexpr auto image = hp::detail::image_of<buffer.sizes>(buffer);
};
static_assert(constants<4>::buffer.fits && constants<4>::image.rest.status.ok());
constexpr auto buffer_of_no_class = hp::detail::image_buffer(small_program<4>());
static_assert(buffer_of_no_class.fits && buffer_of_no_class.sizes.arrays == constants<4>::buffer.sizes.arrays);
constexpr int rows_of_the_constant() {
  const hp::lowered_program l = hp::program_of(constants<4>::image);
  return l.run[0].plan.row.size;
}
static_assert(rows_of_the_constant() == 2);

TEST(ProgramImage, OfAConstantIsTheProgramAtRunTime) {
  const hp::lowered_program constant = hp::program_of(constants<4>::image), now = small_program<4>();
  EXPECT_EQ(array_sizes(constant), array_sizes(now));
  EXPECT_TRUE(same_plan(constant.run[0].plan, now.run[0].plan));
}

}  // namespace
