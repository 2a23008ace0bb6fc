// SPDX-License-Identifier: Apache-2.0
// Queue numbers: (rank, class, unit) in that order of weight are numbered 0, 1, 2, … without a gap, whatever the shape.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/task.hpp>

namespace hp = hyperparallel;

namespace {

/// Counts through the units of `m` in the documented order; false where a queue's number is not its place.
constexpr bool numbered_without_a_gap(const hp::machine_shape& m) {
  int place = 0;
  for (int rank = 0; rank < m.ranks; ++rank)
    for (int r = 0; r < hp::resource_count; ++r) {
      const auto kind = static_cast<hp::resource>(r);
      for (int unit = 0; unit < m.queues[r]; ++unit)
        if (hp::detail::first_queue(m, rank, kind) + unit != place++) return false;
      // A class without queues starts where the next one does, so that [first, first + 0) is empty and in range.
      if (hp::detail::first_queue(m, rank, kind) + m.queues[r] != place) return false;
    }
  return hp::queue_count(m) == place && hp::detail::queues_per_rank(m) * m.ranks == place;
}

static_assert(numbered_without_a_gap({3, {24, 48, 1, 2, 1, 0}}));
static_assert(numbered_without_a_gap({}));
static_assert(hp::queue_count({0, {1, 1, 1, 1, 1, 1}}) == 0);
static_assert(hp::detail::first_queue({2, {3, 2, 1, 0, 0, 1}}, 1, hp::resource::link) == 7 + 5);

TEST(Task, QueueNumbersAreABijectionOnEverySmallMachine) {
  int shapes = 0;
  for (int ranks = 0; ranks <= 3; ++ranks)
    for (int code = 0; code < 3 * 3 * 3 * 3 * 3 * 3; ++code) {
      hp::machine_shape m;
      m.ranks = ranks;
      for (int r = 0, rest = code; r < hp::resource_count; ++r, rest /= 3) m.queues[r] = rest % 3;
      ASSERT_TRUE(numbered_without_a_gap(m)) << ranks << " ranks, shape " << code;
      ++shapes;
    }
  EXPECT_EQ(shapes, 4 * 729);
}

TEST(Task, MachinesAreEqualOnlyWhenEveryCountIs) {
  const hp::machine_shape m{2, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(m, (hp::machine_shape{2, {1, 2, 3, 4, 5, 6}}));
  EXPECT_NE(m, (hp::machine_shape{1, {1, 2, 3, 4, 5, 6}}));
  for (int r = 0; r < hp::resource_count; ++r) {
    hp::machine_shape other = m;
    ++other.queues[r];
    EXPECT_NE(m, other) << r;
  }
}

}  // namespace
