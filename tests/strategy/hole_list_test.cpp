// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/hole_list.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct range {
  int begin, bytes;
};

/// Bytes one by one: which are taken.
struct bytes_one_by_one {
  std::vector<bool> taken = std::vector<bool>(768, false);

  int top() const {
    int t = static_cast<int>(taken.size());
    while (t > 0 && !taken[static_cast<std::size_t>(t - 1)]) --t;
    return t;
  }
  /// The lowest of the smallest holes that have room, or the top.
  int place_of(int bytes) const {
    int best = top(), least = 1 << 30;
    for (int begin = 0, end = 0; begin < top(); begin = end + 1) {
      end = begin;
      while (!taken[static_cast<std::size_t>(end)]) ++end;
      if (end - begin >= bytes && end - begin < least) {
        best = begin;
        least = end - begin;
      }
    }
    return best;
  }
  void mark(const range& r, bool as) {
    for (int i = 0; i < r.bytes; ++i) {
      ASSERT_NE(taken[static_cast<std::size_t>(r.begin + i)], as);
      taken[static_cast<std::size_t>(r.begin + i)] = as;
    }
  }
};

TEST(hole_list, takes_what_bytes_one_by_one_say) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    hp::detail::hole_list holes;
    bytes_one_by_one expected;
    std::vector<range> taken;
    for (int i = 0; i < 60; ++i) {
      if (taken.empty() || random() % 5 < 3) {
        const int bytes = 1 + static_cast<int>(random() % 12);
        const range r{expected.place_of(bytes), bytes};
        ASSERT_EQ(holes.take(bytes), r.begin);
        expected.mark(r, true);
        taken.push_back(r);
      } else {
        std::swap(taken[random() % taken.size()], taken.back());
        range r = taken.back();
        taken.pop_back();
        if (r.bytes > 1 && random() % 3 == 0) {  // in parts
          const int front = 1 + static_cast<int>(random() % static_cast<unsigned>(r.bytes - 1));
          taken.push_back({r.begin, front});
          r = {r.begin + front, r.bytes - front};
        }
        holes.give_back(r.begin, r.bytes);
        expected.mark(r, false);
      }
      ASSERT_EQ(holes.top(), expected.top());
    }
    for (const range& r : taken) holes.give_back(r.begin, r.bytes);
    ASSERT_EQ(holes.top(), 0);
  }
}

constexpr bool refills_the_tightest_hole() {
  hp::detail::hole_list holes;
  for (int i = 0; i < 5; ++i) holes.take(10 + i);  // 0, 10, 21, 33, 46 to 60
  holes.give_back(0, 10);
  holes.give_back(21, 12);
  return holes.take(11) == 21 && holes.take(10) == 0 && holes.take(2) == 60 && holes.take(1) == 32;
}
static_assert(refills_the_tightest_hole());

}  // namespace
