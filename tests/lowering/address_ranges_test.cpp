// SPDX-License-Identifier: Apache-2.0
// Ranges in blocks against one owner for each address.
#include <hyperparallel/lowering/address_ranges.hpp>

#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct range {
  hp::extent_t begin = 0, end = 0;
  int owner = -1;
  friend constexpr bool operator==(const range&, const range&) = default;
};

/// Ranges as a plain list.
struct listed_ranges {
  std::vector<range> all;

  void put(const range& fresh) {
    std::vector<range> left;
    for (const range& r : all) {
      if (r.begin < fresh.begin) left.push_back({r.begin, std::min(r.end, fresh.begin), r.owner});
      if (r.end > fresh.end) left.push_back({std::max(r.begin, fresh.end), r.end, r.owner});
    }
    left.push_back(fresh);
    std::sort(left.begin(), left.end(), [](const range& a, const range& b) { return a.begin < b.begin; });
    all = left;
  }
  std::vector<range> met(hp::extent_t begin, hp::extent_t end) const {
    std::vector<range> found;
    for (const range& r : all)
      if (r.begin < end && begin < r.end) found.push_back(r);
    return found;
  }
};

void expect_same(const hp::address_ranges<range>& ranges, const listed_ranges& expected, hp::extent_t begin,
                 hp::extent_t end) {
  std::vector<range> met;
  ranges.visit(begin, end, [&](const range& r) { met.push_back(r); });
  ASSERT_EQ(met, expected.met(begin, end));
  const range* const first = ranges.first_met(begin, end);
  ASSERT_EQ(first == nullptr, met.empty());
  if (first != nullptr) {
    ASSERT_EQ(*first, met.front());
  }
}

// Every sequence of three ranges over six addresses, asked for every range of these.
TEST(address_ranges, hold_what_the_last_that_was_put_there_says) {
  std::vector<range> some;
  for (int begin = 0; begin < 6; ++begin)
    for (int end = begin + 1; end <= 6; ++end) some.push_back({begin, end});
  const int n = static_cast<int>(some.size());
  for (int sequence = 0; sequence < n * n * n; ++sequence) {
    hp::address_ranges<range> ranges;
    listed_ranges expected;
    for (int k = 0, rest = sequence; k < 3; ++k, rest /= n) {
      range fresh = some[static_cast<std::size_t>(rest % n)];
      fresh.owner = k;
      ranges.put(fresh);
      expected.put(fresh);
    }
    for (const range& asked : some) expect_same(ranges, expected, asked.begin, asked.end);
  }
}

// Hundreds of ranges in many blocks: short ones, which split blocks, and now and then one that covers several blocks.
TEST(address_ranges, keep_their_order_through_blocks_that_split_and_go) {
  std::mt19937 random(11);
  for (int n = tested::tries(40, 400); n > 0; --n) {
    hp::address_ranges<range> ranges;
    listed_ranges expected;
    const int addresses = 200 + static_cast<int>(random() % 2000), longest = n % 4 == 0 ? addresses : 8;
    for (int k = 0; k < 600; ++k) {
      const int begin = static_cast<int>(random() % static_cast<unsigned>(addresses));
      const int most = random() % 50 == 0 ? addresses : longest;
      const range fresh{begin, begin + 1 + static_cast<int>(random() % static_cast<unsigned>(most)), k};
      ranges.put(fresh);
      expected.put(fresh);
      const int asked = static_cast<int>(random() % static_cast<unsigned>(addresses));
      expect_same(ranges, expected, asked, asked + 1 + static_cast<int>(random() % 40));
    }
    expect_same(ranges, expected, 0, 2 * addresses + 1);
  }
}

constexpr int owners_after(int puts) {
  hp::address_ranges<range> ranges;
  for (int i = 0; i < puts; ++i) ranges.put({i * 37 % puts * 4, i * 37 % puts * 4 + 6, i});
  int sum = 0;
  ranges.visit(0, 4 * puts + 6, [&](const range& r) { sum += r.owner; });
  return sum;
}
static_assert(owners_after(100) == 4950, "it lives inside a constant evaluation");

}  // namespace
