// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/caching_allocator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr hp::extent_t in_use(std::initializer_list<hp::extent_t> requests) {
  hp::caching_allocator a;
  for (const hp::extent_t bytes : requests) a.allocate(bytes, 0);
  return a.allocated();
}
constexpr hp::extent_t reserved(std::initializer_list<hp::extent_t> requests) {
  hp::caching_allocator a;
  for (const hp::extent_t bytes : requests) a.allocate(bytes, 0);
  return a.reserved();
}

// By the compiler: requests are rounded; small ones, large ones and those of their own segment.
static_assert(in_use({1}) == 512 && in_use({513, 0}) == 1024 + 512);
static_assert(reserved({1}) == 2 * hp::MiB && reserved({hp::MiB, hp::MiB}) == 2 * hp::MiB);
static_assert(reserved({hp::MiB + 1}) == 20 * hp::MiB && reserved({10 * hp::MiB}) == 10 * hp::MiB);
static_assert(reserved({10 * hp::MiB + 1}) == 12 * hp::MiB);
// What is left of a segment of its own is no block where it is at most 1 MiB; it counts as allocated.
static_assert(in_use({11 * hp::MiB}) == 12 * hp::MiB && in_use({11 * hp::MiB - 512}) == 11 * hp::MiB - 512);

// A block that is released is taken again by the same stream alone, and joins its neighbours.
static_assert([] {
  hp::caching_allocator a;
  const int one = a.allocate(4 * hp::MiB, 0), two = a.allocate(4 * hp::MiB, 0);
  a.release(one);
  if (a.address_of(a.allocate(4 * hp::MiB, 0)) != 0) return false;
  a.release(two);
  a.allocate(16 * hp::MiB, 0);
  if (a.reserved() != 36 * hp::MiB && a.reserved() != 20 * hp::MiB) return false;
  const hp::extent_t before = a.reserved();
  a.allocate(4 * hp::MiB, 1);
  return a.reserved() == before + 20 * hp::MiB;
}());

/// What is in use, beside what was asked for.
struct live_block {
  int number = 0;
  hp::extent_t asked = 0;
};

// Random sequences: blocks in use are disjoint, within what is reserved, and hold what was asked for.
TEST(CachingAllocator, BlocksAreDisjoint) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    hp::caching_allocator a;
    std::vector<live_block> live;
    for (int request = 0; request < 300; ++request) {
      if (live.empty() || random() % 5 < 3) {
        const hp::extent_t bytes = hp::extent_t{1} << (random() % 26), asked = bytes + random() % 4096;
        const int number = a.allocate(asked, static_cast<int>(random() % 3));
        const hp::extent_t above = a.bytes_of(number) - hp::ceil_divide(asked, 512) * 512;
        EXPECT_GE(above, 0);
        EXPECT_LE(above, asked <= hp::MiB ? 0 : hp::MiB);
        live.push_back({number, asked});
      } else {
        const std::size_t at = random() % live.size();
        a.release(live[at].number);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
      hp::extent_t sum = 0;
      std::vector<std::pair<hp::extent_t, hp::extent_t>> spans;
      for (const live_block& b : live) {
        sum += a.bytes_of(b.number);
        spans.push_back({a.address_of(b.number), a.address_of(b.number) + a.bytes_of(b.number)});
      }
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].second, spans[i].first);
      if (!spans.empty()) {
        EXPECT_LE(spans.back().second, a.reserved());
      }
      EXPECT_EQ(sum, a.allocated());
    }
  }
}

// When all is released, every segment is one free block again: requests of their sizes take nothing more from the device.
TEST(CachingAllocator, SegmentsBecomeWhole) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    hp::caching_allocator a;
    std::mt19937 random(seed);
    std::vector<int> live;
    std::vector<std::pair<hp::extent_t, int>> segments;
    for (int request = 0; request < 200; ++request)
      if (live.empty() || random() % 2 == 0) {
        const int stream = static_cast<int>(random() % 2);
        const hp::extent_t before = a.reserved();
        live.push_back(a.allocate(1 + random() % (32 * hp::MiB), stream));
        if (a.reserved() > before && a.reserved() - before > 2 * hp::MiB)
          segments.push_back({a.reserved() - before, stream});
      } else {
        const std::size_t at = random() % live.size();
        a.release(live[at]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    for (const int number : live) a.release(number);
    EXPECT_EQ(a.allocated(), 0);
    const hp::extent_t reserved = a.reserved();
    for (const auto& [bytes, stream] : segments) a.allocate(bytes, stream);
    EXPECT_EQ(a.reserved(), reserved);
  }
}

}  // namespace
