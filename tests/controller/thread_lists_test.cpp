// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/thread_lists.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace hp = hyperparallel;

namespace {

using lists = std::vector<std::vector<int>>;

TEST(ThreadLists, AThreadForEachRowOrRowsDealtToFewer) {
  hp::program_graph g;
  for (const char* name : {"a", "b", "c", "d", "e"}) hp::add_program(g, name, "");
  EXPECT_EQ(hp::detail::thread_lists(g, 0), (lists{{0}, {1}, {2}, {3}, {4}}));
  hp::program_row first, second, third;
  for (const int p : {3, 1}) first.turn.push(p);
  for (const int p : {2, 3}) second.turn.push(p);
  third.turn.push(1);  // has its thread already
  for (const hp::program_row& r : {first, second, third}) g.row.push(r);
  EXPECT_EQ(hp::detail::thread_lists(g, 0), (lists{{3, 1}, {2}, {0}, {4}}));
  EXPECT_EQ(hp::detail::thread_lists(g, 9), hp::detail::thread_lists(g, 0));
  EXPECT_EQ(hp::detail::thread_lists(g, 2), (lists{{3, 1, 0}, {2, 4}}));
  EXPECT_EQ(hp::detail::thread_lists(g, 1), (lists{{3, 1, 4, 0, 2}}));
  EXPECT_EQ(hp::detail::thread_lists({}, 0), lists{});
}

}  // namespace
