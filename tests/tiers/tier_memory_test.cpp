// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiers/tier_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/error_of.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;

/// One flag for each 64 bytes: what a tier is, without lists.
struct map_of_units {
  std::vector<bool> taken;

  /// Runs of free units as (first, length).
  std::vector<std::pair<int, int>> runs() const {
    std::vector<std::pair<int, int>> r;
    for (int i = 0; i < static_cast<int>(taken.size()); ++i) {
      if (taken[static_cast<std::size_t>(i)]) continue;
      if (!r.empty() && r.back().first + r.back().second == i)
        ++r.back().second;
      else
        r.emplace_back(i, 1);
    }
    return r;
  }

  int choose(int units, hp::tier_fit fit) const {
    int at = -1, length = 0;
    for (const auto& [first, n] : runs()) {
      if (n < units || (at >= 0 && (fit == hp::tier_fit::first || n >= length))) continue;
      at = first;
      length = n;
    }
    return at;
  }

  void set(int first, int units, bool value) {
    for (int i = first; i < first + units; ++i) {
      ASSERT_NE(taken[static_cast<std::size_t>(i)], value) << "two tensors on one address";
      taken[static_cast<std::size_t>(i)] = value;
    }
  }
};

TEST(TierMemory, IsAMapOfUnitsUnderAnySequence) {
  for (const hp::tier_fit fit : {hp::tier_fit::first, hp::tier_fit::best})
    for (int seed = 0; seed < tested::tries(100, 2000); ++seed) {
      std::mt19937 random(static_cast<unsigned>(seed));
      const int units = 1 + static_cast<int>(random() % 60);
      hp::tier_memory memory("hbm", 64 * units + static_cast<std::int64_t>(random() % 64), fit);
      EXPECT_EQ(memory.capacity(), 64 * units);
      map_of_units model{std::vector<bool>(static_cast<std::size_t>(units))};
      std::map<std::string, std::pair<int, int>> alive;
      std::int64_t high = 0, most = 0;
      for (int step = 0; step < 300; ++step) {
        if (random() % 5 < 3) {
          const std::string name = "t" + std::to_string(step);
          const int bytes = static_cast<int>(random() % 600), size = (bytes + 63) / 64;
          const int at = size == 0 ? 0 : model.choose(size, fit);
          ASSERT_EQ(memory.fits(bytes), at >= 0);
          if (at < 0) {
            ASSERT_THROW(memory.allocate(name, bytes), hp::tier_error);
            ASSERT_FALSE(memory.holds(name));
          } else {
            ASSERT_EQ(memory.allocate(name, bytes), (hp::tier_memory::block{64 * at, bytes}));
            model.set(at, size, true);
            alive[name] = {at, size};
            high = std::max<std::int64_t>(high, size == 0 ? 0 : 64 * (at + size));
            std::memset(memory.address(name), step, static_cast<std::size_t>(bytes));
          }
        } else if (!alive.empty()) {
          const auto one = std::next(alive.begin(), static_cast<std::ptrdiff_t>(random() % alive.size()));
          ASSERT_EQ(memory.find(one->first).offset, 64 * one->second.first);
          memory.release(one->first);
          model.set(one->second.first, one->second.second, false);
          alive.erase(one);
        }
        const std::int64_t used = 64 * std::count(model.taken.begin(), model.taken.end(), true);
        int largest = 0;
        for (const auto& run : model.runs()) largest = std::max(largest, run.second);
        most = std::max(most, used);
        ASSERT_EQ(memory.bytes_used(), used);
        ASSERT_EQ(memory.bytes_free(), memory.capacity() - used);
        ASSERT_EQ(memory.largest_free(), 64 * largest);
        ASSERT_EQ(memory.bytes_fragmented(), memory.bytes_free() - 64 * largest);
        ASSERT_EQ(memory.high_water(), high);
        ASSERT_EQ(memory.most_used(), most);
        ASSERT_EQ(memory.bytes_lost(), high - most);
        ASSERT_EQ(memory.tensors(), static_cast<int>(alive.size()));
      }
    }
}

TEST(TierMemory, EveryBlockIsAlignedAndReadsAsZeroAtFirst) {
  hp::tier_memory memory("dram", 1000);
  for (const char* name : {"a", "b", "c"}) {
    std::byte* const first = memory.address(memory.allocate(name, 100));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(first[i], std::byte{0});
  }
}

TEST(TierMemory, TheErrorNamesTensorAskedFreeAndTheLargestPiece) {
  hp::tier_memory memory("hbm", 320);
  for (const char* name : {"a", "b", "c", "d", "e"}) memory.allocate(name, 64);
  memory.release("b");
  memory.release("d");
  memory.release("e");
  try {
    memory.allocate("layer0.x", 150);
    FAIL();
  } catch (const hp::tier_error& e) {
    EXPECT_EQ(e.code, hp::tier_code::no_piece_is_large_enough);
    EXPECT_EQ(e.tier, "hbm");
    EXPECT_EQ(e.tensor, "layer0.x");
    EXPECT_EQ(e.bytes_asked, 150);
    EXPECT_EQ(e.bytes_free, 192);
    EXPECT_EQ(e.largest_free, 128);
    EXPECT_STREQ(e.what(),
                 "tier hbm, tensor layer0.x: enough is free, but in pieces that are too small: 150 bytes asked, 192 "
                 "bytes free, 128 in one piece");
  }
  const auto refusal = [&](const auto& call) { return tested::error_of<hp::tier_error>(call); };
  const std::string state = ", 192 bytes free, 128 in one piece";
  EXPECT_EQ(refusal([&] { memory.allocate("y", 193); }),
            "tier hbm, tensor y: the capacity is exceeded: 193 bytes asked" + state);
  EXPECT_EQ(refusal([&] { memory.allocate("y", -1); }),
            "tier hbm, tensor y: the size is negative: -1 bytes asked" + state);
  EXPECT_EQ(refusal([&] { memory.allocate("a", 1); }),
            "tier hbm, tensor a: the tensor has a block already: 1 bytes asked" + state);
  EXPECT_EQ(refusal([&] { memory.release("b"); }),
            "tier hbm, tensor b: the tensor has no block: 0 bytes asked" + state);
  EXPECT_EQ(refusal([&] { memory.address("z"); }),
            "tier hbm, tensor z: the tensor has no block: 0 bytes asked" + state);
  EXPECT_EQ(memory.bytes_used(), 128);
  EXPECT_EQ(memory.high_water(), 320);
}

TEST(TierMemory, ACapacityThatCannotBeIsRefused) {
  const auto refusal = [](std::int64_t capacity) {
    return tested::error_of<hp::tier_error>([&] { hp::tier_memory("pool", capacity); });
  };
  EXPECT_EQ(refusal(-1), "tier pool: the capacity is negative: -1 bytes asked, 0 bytes free, 0 in one piece");
  EXPECT_EQ(refusal(INT64_MAX),
            "tier pool: the system does not give that much memory: 9223372036854775807 bytes "
            "asked, 0 bytes free, 0 in one piece");
  hp::tier_memory none("none", 63);
  EXPECT_EQ(none.capacity(), 0);
  EXPECT_TRUE(none.fits(0));
  EXPECT_NO_THROW(none.allocate("empty", 0));
  EXPECT_THROW(none.allocate("one", 1), hp::tier_error);
}

}  // namespace
