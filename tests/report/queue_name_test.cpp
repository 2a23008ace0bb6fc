// SPDX-License-Identifier: Apache-2.0
// Queue numbers come apart and together again; names are distinct within a rank.

#include <hyperparallel/report/queue_name.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(queue_name, inverts_the_numbering_of_every_small_machine) {
  for (int n = 0; n < 243; ++n) {
    const hp::machine_shape m{3, {n % 3, n / 3 % 3, n / 9 % 3, n / 27 % 3, n / 81}};
    const int per_rank = hp::detail::queues_per_rank(m);
    for (int q = 0; q < hp::queue_count(m); ++q) {
      const hp::report::detail::queue_place p = hp::report::detail::place_of_queue(m, q);
      EXPECT_EQ(hp::detail::first_queue(m, p.rank, p.kind) + p.unit, q);
      EXPECT_LT(p.unit, m.queues[static_cast<int>(p.kind)]);
    }
    for (int rank = 0; rank < m.ranks; ++rank) {
      std::set<std::string> names;
      for (int row = 0; row < per_rank; ++row) names.insert(hp::report::detail::queue_name(m, rank * per_rank + row));
      EXPECT_EQ(names.size(), static_cast<std::size_t>(per_rank));
    }
  }
}

TEST(queue_name, numbers_only_where_there_are_several) {
  constexpr hp::machine_shape m{2, {2, 4, 1, 1, 0}};
  EXPECT_EQ(hp::report::detail::queue_name(m, 0), "AIC 0");
  EXPECT_EQ(hp::report::detail::queue_name(m, 5), "AIV 3");
  EXPECT_EQ(hp::report::detail::queue_name(m, 14), "link");
  EXPECT_EQ(hp::report::detail::queue_name(m, 15), "copy in");
  static_assert(hp::report::detail::place_of_queue(m, 13) == hp::report::detail::queue_place{1, hp::resource::aiv, 3});
}

}  // namespace
