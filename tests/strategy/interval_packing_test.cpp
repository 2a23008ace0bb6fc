// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/interval_packing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using intervals = hp::growing_array<hp::memory_interval>;

bool alive_in(const hp::memory_interval& b, int step) {
  return b.first <= step && step <= b.last && !(b.away.first <= step && step <= b.away.last);
}

/// Step by step: offsets are aligned, and the most bytes alive are what `alive_maximum` says.
void expect_laws(const intervals& block, int steps, const hp::detail::interval_packing& packed) {
  hp::extent_t most = 0, highest = 0, sum = 0;
  for (int i = 0; i < block.size; ++i) {
    EXPECT_EQ(packed.offset[i] % hp::detail::storage_alignment, 0);
    if (!block[i].is_placed()) continue;
    highest = std::max(highest, packed.offset[i] + hp::detail::aligned(block[i].bytes));
    sum += hp::detail::aligned(block[i].bytes);
  }
  for (int s = 0; s < steps; ++s) {
    hp::extent_t alive = 0;
    for (int i = 0; i < block.size; ++i) {
      if (!block[i].is_placed() || !alive_in(block[i], s)) continue;
      alive += hp::detail::aligned(block[i].bytes);
      for (int k = 0; k < i; ++k) {
        if (!block[k].is_placed() || !alive_in(block[k], s)) continue;
        ASSERT_TRUE(packed.offset[i] + hp::detail::aligned(block[i].bytes) <= packed.offset[k] ||
                    packed.offset[k] + hp::detail::aligned(block[k].bytes) <= packed.offset[i])
            << i << " and " << k << " in step " << s;
      }
    }
    most = std::max(most, alive);
  }
  EXPECT_EQ(hp::alive_maximum(block, steps), most);
  EXPECT_EQ(packed.high_water, highest);
  EXPECT_GE(highest, most);
  EXPECT_LE(highest, sum);
}

/// Some of the blocks are not needed, and where `leaving`, some leave and come back.
intervals random_blocks(std::mt19937& random, int count, int steps, bool leaving) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  intervals all;
  for (int i = 0; i < count; ++i) {
    hp::memory_interval b{below(steps), below(steps), below(20) * 50, {}};
    if (b.first > b.last && below(8) > 0) std::swap(b.first, b.last);
    if (leaving && b.last - b.first > 2 && below(3) == 0) {
      b.away.first = b.first + 1 + below(b.last - b.first - 1);
      b.away.last = b.away.first + below(b.last - b.away.first);
    }
    all.push(b);
  }
  return all;
}

TEST(interval_packing, blocks_alive_together_never_overlap) {
  std::mt19937 random(29);
  for (int round = 0; round < 400; ++round) {
    const int steps = 1 + static_cast<int>(random() % 40);
    const intervals all = random_blocks(random, 1 + static_cast<int>(random() % 60), steps, round % 2 == 0);
    const hp::detail::interval_packing packed = hp::detail::pack_intervals(all, steps);
    expect_laws(all, steps, packed);
    if (HasFatalFailure()) return;
    const hp::extent_t least = hp::alive_maximum(all, steps);
    for (const hp::extent_t budget : {least / 2, least, (least + packed.high_water) / 2, packed.high_water}) {
      const hp::detail::interval_packing within = hp::detail::pack_intervals(all, steps, budget);
      expect_laws(all, steps, within);
      EXPECT_LE(within.high_water, std::max(budget, packed.high_water));
    }
  }
}

/// Some order of blocks, each at its lowest free offset, reaches the least high water.
hp::extent_t least_high_water(const intervals& block) {
  std::vector<int> order;
  for (int i = 0; i < block.size; ++i)
    if (block[i].is_placed()) order.push_back(i);
  hp::extent_t best = order.empty() ? 0 : hp::extent_t{1} << 60;
  do {
    std::vector<hp::extent_t> offset(static_cast<std::size_t>(block.size), -1);
    hp::extent_t high = 0;
    for (const int i : order) {
      hp::extent_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < block.size; ++k) {
          const hp::extent_t begin = offset[static_cast<std::size_t>(k)],
                             end = begin + hp::detail::aligned(block[k].bytes);
          if (begin < 0 || begin >= at + hp::detail::aligned(block[i].bytes) || end <= at) continue;
          if (!hp::detail::alive_together(block[i].first, block[i].last, block[i].away, block[k].first, block[k].last,
                                          block[k].away))
            continue;
          at = end;
          moved = true;
        }
      }
      offset[static_cast<std::size_t>(i)] = at;
      high = std::max(high, at + hp::detail::aligned(block[i].bytes));
    }
    best = std::min(best, high);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(interval_packing, a_budget_finds_the_least_high_water_of_few_blocks) {
  std::mt19937 random(31);
  int worlds = 0, found = 0, above_alive = 0, better_than_swept = 0;
  for (int round = 0; round < 300; ++round) {
    const int steps = 8;
    const intervals all = random_blocks(random, 6, steps, round % 3 == 0);
    const hp::extent_t least = least_high_water(all);
    if (least == 0) continue;
    const hp::detail::interval_packing packed = hp::detail::pack_intervals(all, steps),
                                       within = hp::detail::pack_intervals(all, steps, least);
    ASSERT_GE(packed.high_water, least);
    ASSERT_GE(within.high_water, least);
    ++worlds;
    found += within.high_water == least ? 1 : 0;
    above_alive += hp::alive_maximum(all, steps) < least ? 1 : 0;
    better_than_swept += within.high_water < packed.high_water ? 1 : 0;
  }
  EXPECT_GE(found, worlds - worlds / 100) << "of " << worlds;
  EXPECT_GT(above_alive, 0);
  EXPECT_GT(better_than_swept, 0);
}

/// Activations of layers are freed in reverse, and each layer has temporaries of its own.
std::vector<hp::memory_interval> layered(std::mt19937& random, int layers, int kept, int temporaries) {
  std::vector<hp::memory_interval> all;
  const int period = 2 * (kept + temporaries), steps = 2 * layers * period;
  for (int l = 0; l < layers; ++l) {
    std::mt19937 sizes(7);  // alike in each layer
    const int forward = l * period, backward = steps - (l + 1) * period;
    for (int k = 0; k < kept; ++k)
      all.push_back({forward + static_cast<int>(sizes() % static_cast<unsigned>(period)),
                     backward + static_cast<int>(sizes() % static_cast<unsigned>(period)),
                     64 * static_cast<hp::extent_t>(1 + sizes() % 4000)});
    for (int k = 0; k < 2 * temporaries; ++k) {
      const int begin = static_cast<int>(sizes() % static_cast<unsigned>(period - 4));
      const int at = (k % 2 == 0 ? forward : backward) + begin;
      all.push_back({at, at + 1 + static_cast<int>(sizes() % 4), 64 * static_cast<hp::extent_t>(1 + sizes() % 8000)});
    }
  }
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

/// Blocks of that many layers in their places.
struct packed_layers {
  hp::growing_array<hp::memory_interval> blocks;
  hp::extent_t least = 0;  ///< alive at once
  hp::detail::interval_packing packed;

  packed_layers(std::mt19937& random, int layers) {
    int steps = 0;
    for (const hp::memory_interval& b : layered(random, layers, 12, 10)) {
      blocks.push(b);
      steps = std::max(steps, b.last + 1);
    }
    least = hp::alive_maximum(blocks, steps);
    packed = hp::detail::pack_intervals(blocks, steps);
  }
  double excess() const { return static_cast<double>(packed.high_water) / static_cast<double>(least); }
};

TEST(interval_packing, stays_near_what_is_alive_at_once_in_layers) {
  std::mt19937 random(17);
  for (const int layers : {4, 12, 40}) {
    const packed_layers p(random, layers);
    EXPECT_LE(p.excess(), 1.05) << layers << " layers";
  }
}

TEST(interval_packing, a_thousand_times_as_many_blocks_are_still_placed) {
  std::mt19937 random(23);
  const packed_layers p(random, 300);
  EXPECT_GE(p.packed.high_water, p.least);
  EXPECT_LE(p.excess(), 1.05) << p.blocks.size << " blocks";
}

constexpr hp::growing_array<hp::memory_interval> staircase() {
  hp::growing_array<hp::memory_interval> blocks;
  for (int i = 0; i < 12; ++i) blocks.push({i, i + 2, 100 + 64 * (i % 3)});
  return blocks;
}
constexpr bool is_tight() {
  const auto blocks = staircase();
  const hp::extent_t least = hp::alive_maximum(blocks, 16);
  return hp::detail::pack_intervals(blocks, 16).high_water == least;
}
static_assert(hp::alive_maximum(staircase(), 16) == 128 + 192 + 256);
static_assert(is_tight());

}  // namespace
