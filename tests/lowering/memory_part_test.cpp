// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/memory_part.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

TEST(MemoryPart, NamesAreOwnAndSumsCoverEachPartOnce) {
  std::set<std::string> names;
  hp::memory_by_part m;
  hp::extent_t weight = 1, all = 0;
  for (int p = 0; p < hp::memory_part_count; ++p, weight *= 2) {
    names.insert(name_of(static_cast<hp::memory_part>(p)));
    m.of(static_cast<hp::memory_part>(p)) = weight;
    all += weight;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(hp::memory_part_count));
  EXPECT_EQ(m.total(), all);
  EXPECT_EQ(m.states(), (hp::extent_t{1} << hp::detail::first_activation_part) - 1);
  EXPECT_EQ(m.activations() + m.states(), all);
  m.of(hp::memory_part::values) = hp::not_counted;
  EXPECT_EQ(m.total(), hp::not_counted);
  EXPECT_EQ(m.activations(), hp::not_counted);
  EXPECT_LT(m.states(), all);
}

}  // namespace
