// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/shadow_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace hp = hyperparallel;

namespace {

// Addresses one by one: of which write, or first read, each is, and which of these have been read.
TEST(shadow_memory, remembers_what_addresses_one_by_one_do) {
  std::mt19937 random(43);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr int owners = 8, addresses = 32, ranks = 2;
  struct event {
    int owner = -1, bytes = 0, place = 0;  // place 0: nobody wrote it
    std::vector<int> readers{};
  };
  int refused = 0, read = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<int> begin, end;
    for (int o = 0; o < owners; ++o) {
      begin.push_back(below(addresses - 1));
      end.push_back(std::min(addresses, begin.back() + 1 + below(10)));
    }
    hp::shadow_memory memory(ranks);
    std::vector<event> events;
    std::vector<int> at(addresses, -1), history_of;
    for (int i = 1; i <= 40; ++i) {
      const int o = below(owners), b = begin[static_cast<std::size_t>(o)], e = end[static_cast<std::size_t>(o)];
      const auto cells = [&](const auto& visit) {
        for (int a = b; a < e; ++a) visit(at[static_cast<std::size_t>(a)]);
      };
      std::set<int> met;
      bool untouched = true;
      cells([&](int c) {
        untouched = untouched && c < 0;
        if (c >= 0) met.insert(c);
      });
      const bool whole = met.size() == 1 && events[static_cast<std::size_t>(*met.begin())].owner == o &&
                         std::count(at.begin(), at.end(), *met.begin()) == e - b;
      ASSERT_EQ(memory.is_whole(o, b, e), untouched || whole);
      if (below(2) == 0) {
        const int history = memory.read(o, b, e);
        ASSERT_EQ(history >= 0, untouched || whole);
        refused += history < 0 ? 1 : 0;
        if (history < 0) continue;
        if (untouched) {
          cells([&](int& c) { c = static_cast<int>(events.size()); });
          events.push_back({o, e - b});
          history_of.push_back(history);
        }
        event& one = events[static_cast<std::size_t>(at[static_cast<std::size_t>(b)])];
        EXPECT_EQ(memory.writer(history, 1).place, one.place);
        std::vector<int> readers;
        for (int n = memory.newest_reader(history, 1); n >= 0; n = memory.use(n).next)
          readers.push_back(memory.use(n).place);
        EXPECT_EQ(readers, std::vector<int>(one.readers.rbegin(), one.readers.rend()));
        EXPECT_EQ(memory.newest_reader(history, 0), -1);
        memory.add_reader(history, 1, 0, i);
        one.readers.push_back(i);
        ++read;
      } else {
        hp::growing_array<int> histories;
        memory.list(b, e, histories);
        std::set<int> expected;
        for (const int m : met) expected.insert(history_of[static_cast<std::size_t>(m)]);
        ASSERT_EQ(std::set<int>(histories.begin(), histories.end()), expected);
        const int fresh = memory.write(o, b, e);
        memory.writer(fresh, 1) = {0, i, -1};
        cells([&](int& c) { c = static_cast<int>(events.size()); });
        events.push_back({o, e - b, i});
        history_of.push_back(fresh);
      }
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 500);
}

constexpr bool a_write_in_the_middle_leaves_both_ends() {
  hp::shadow_memory memory(1);
  const int wide = memory.write(0, 0, 30), narrow = memory.write(1, 10, 20);
  hp::growing_array<int> all;
  memory.list(0, 30, all);
  return all.size == 3 && all[0] == wide && all[1] == narrow && all[2] == wide && memory.read(0, 0, 30) < 0;
}
static_assert(a_write_in_the_middle_leaves_both_ends());

}  // namespace
