// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/tenancy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace hp = hyperparallel;

namespace {

// Addresses one by one: who moved into each last.
TEST(tenancy, evicts_whom_addresses_one_by_one_name) {
  std::mt19937 random(41);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr int places = 9, addresses = 40;
  int evictions = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<int> begin, end;
    for (int p = 0; p < places; ++p) {
      begin.push_back(below(addresses));
      end.push_back(std::min(addresses, begin.back() + below(12)));
    }
    hp::detail::tenancy m(places);
    std::vector<int> tenant(addresses, -1);
    std::vector<char> known(places, 0), whole(places, 0);
    for (int i = 0; i < 40; ++i) {
      const int p = below(places);
      const std::size_t at = static_cast<std::size_t>(p);
      if (whole[at] != 0 && below(4) == 0) {
        m.leave(p);
        whole[at] = 0;
      } else {
        std::set<int> expected;
        for (int a = begin[at]; a < end[at]; ++a) {
          int& t = tenant[static_cast<std::size_t>(a)];
          if (t >= 0) expected.insert(t);
          if (t >= 0) whole[static_cast<std::size_t>(t)] = 0;
          t = p;
        }
        known[at] = whole[at] = 1;
        m.move_in(p, begin[at], end[at]);
        EXPECT_EQ(std::set<int>(m.evicted().begin(), m.evicted().end()), expected);
        evictions += static_cast<int>(expected.size());
      }
      for (int q = 0; q < places; ++q) {
        const std::size_t other = static_cast<std::size_t>(q);
        ASSERT_EQ(m.is_whole(q), whole[other] != 0);
        ASSERT_EQ(m.is_known(q), known[other] != 0);
        bool taken = false;
        for (int a = begin[other]; a < end[other]; ++a) taken = taken || tenant[static_cast<std::size_t>(a)] >= 0;
        ASSERT_EQ(m.was_taken(begin[other], end[other]), taken);
      }
    }
  }
  EXPECT_GT(evictions, 1000);
}

constexpr bool what_is_left_of_a_range_stays_on_record() {
  hp::detail::tenancy m(3);
  m.move_in(0, 0, 10);
  m.move_in(1, 4, 6);  // 0 keeps both ends
  m.move_in(2, 8, 12);
  return m.evicted().size == 1 && m.evicted()[0] == 0 && !m.is_whole(0) && m.is_whole(1) && m.is_whole(2);
}
static_assert(what_is_left_of_a_range_stays_on_record());

}  // namespace
