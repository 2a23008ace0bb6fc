// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/l2_reuse.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// A cache of `lines` lines of one byte, least recently used out first: the thing itself.
class line_cache {
 public:
  explicit line_cache(std::size_t lines) : lines_(lines) {}

  bool access(int line) {
    bool hit = false;
    for (std::size_t i = 0; i < held_.size() && !hit; ++i) {
      if (held_[i] != line) continue;
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      hit = true;
    }
    held_.push_back(line);
    if (held_.size() > lines_) held_.erase(held_.begin());
    return hit;
  }

 private:
  std::size_t lines_;
  std::vector<int> held_;  // latest last
};

struct sequence {
  std::vector<int> item;
  std::vector<int> bytes;  // of each item
};

/// Hits byte by byte, touch by touch.
std::vector<int> lines_hit(const sequence& s, int capacity) {
  line_cache cache(static_cast<std::size_t>(capacity));
  std::vector<int> hit;
  for (const int item : s.item) {
    hit.push_back(0);
    for (int b = 0; b < s.bytes[static_cast<std::size_t>(item)]; ++b) hit.back() += cache.access(item * 100 + b);
  }
  return hit;
}

void expect_the_law(const sequence& s, int most) {
  std::vector<std::int64_t> sum(s.item.size() + 1), distance;
  std::vector<int> last(s.bytes.size());
  hp::reuse_tracker<std::int64_t*, int*> tracker{static_cast<int>(s.item.size()), sum.data(), last.data()};
  for (const int item : s.item) distance.push_back(hp::touch(tracker, item, s.bytes[static_cast<std::size_t>(item)]));
  for (int capacity = 1; capacity <= most; ++capacity) {
    const std::vector<int> hit = lines_hit(s, capacity);
    for (std::size_t i = 0; i < s.item.size(); ++i) {
      const int bytes = s.bytes[static_cast<std::size_t>(s.item[i])];
      ASSERT_EQ(hit[i], bytes - hp::missed_bytes({capacity}, bytes, distance[i]))
          << "touch " << i << " of " << capacity;
    }
  }
}

// Brute force: every sequence of 6 touches of 3 items of 1, 2 and 3 bytes, every capacity: an item hits whole or not
// at all, and as its distance says.
TEST(L2Reuse, DistanceDecidesAsLruDoes) {
  for (int number = 0; number < 729; ++number) {
    sequence s{{}, {1, 2, 3}};
    for (int i = 0, rest = number; i < 6; ++i, rest /= 3) s.item.push_back(rest % 3);
    expect_the_law(s, 8);
  }
}

TEST(L2Reuse, DistanceDecidesAsLruDoesAtRandom) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    sequence s;
    for (int i = 0; i < 8; ++i) s.bytes.push_back(1 + static_cast<int>(random() % 5));
    for (int i = 0; i < 100; ++i) s.item.push_back(static_cast<int>(random() % 8));
    expect_the_law(s, 40);
  }
}

/// Two passes over `tiles` items of `bytes`.
constexpr hp::l2_traffic two_passes(int tiles, std::int64_t bytes, const hp::l2_cache& cache) {
  hp::reuse_tracker<std::int64_t[65], int[32]> tracker{};
  tracker.touches = 64;
  hp::l2_traffic t;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < tiles; ++i) {
      t.touched += bytes;
      t.missed += hp::missed_bytes(cache, bytes, hp::touch(tracker, i, bytes));
    }
  return t;
}

// The second pass hits while everything fits, and not at all beyond: LRU falls off a cliff.
constexpr hp::l2_cache of_910c = hp::l2_of(hp::ascend_910c_die::device);
static_assert(two_passes(24, 8 * hp::MiB, of_910c) == hp::l2_traffic{2 * 192 * hp::MiB, 192 * hp::MiB});
static_assert(two_passes(25, 8 * hp::MiB, of_910c).hit_share() == 0);
static_assert(two_passes(24, 8 * hp::MiB, of_910c).hit_share() == 500'000);
// Half the capacity.
static_assert(two_passes(12, 8 * hp::MiB, {of_910c.bytes, hp::per_mille(500), 0}).hit_share() == 500'000);
static_assert(two_passes(13, 8 * hp::MiB, {of_910c.bytes, hp::per_mille(500), 0}).hit_share() == 0);
// What streams hits at the floor; what hits, hits whole.
static_assert(two_passes(30, 8'000'000, {of_910c.bytes, hp::full_efficiency, 52'000}).hit_share() == 52'000);
static_assert(two_passes(10, 8'000'000, {of_910c.bytes, hp::full_efficiency, 52'000}).hit_share() == 526'000);

// Laws of a larger cache, a larger floor and a longer distance, over a grid.
TEST(L2Reuse, MissesFallWithCapacityAndFloor) {
  for (std::int64_t distance = 0; distance <= 20; ++distance)
    for (std::int64_t bytes = 0; bytes <= 20; ++bytes)
      for (int usable = 100; usable <= 1000; usable += 100)
        for (std::int64_t floor = 0; floor <= 1'000'000; floor += 125'000) {
          const hp::l2_cache c{bytes, hp::per_mille(usable), floor};
          const std::int64_t missed = hp::missed_bytes(c, 1'000'000, distance);
          EXPECT_EQ(missed, distance * 1000 <= bytes * usable ? 0 : 1'000'000 - floor);
          EXPECT_LE(hp::missed_bytes({bytes + 1, c.usable, floor}, 1'000'000, distance), missed);
          EXPECT_LE(missed, hp::missed_bytes(c, 1'000'000, distance + 1));
          EXPECT_EQ(hp::missed_bytes(c, 1'000'000, hp::first_touch), 1'000'000 - floor);
        }
  EXPECT_EQ(hp::missed_bytes({INT64_MAX}, INT64_MAX, INT64_MAX - 1), 0);
  EXPECT_EQ(hp::missed_bytes({0, hp::full_efficiency, 0}, INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ((hp::l2_traffic{INT64_MAX, 0}).hit_share(), 1'000'000);
  EXPECT_EQ((hp::l2_traffic{}).hit_share(), 0);
}

}  // namespace
