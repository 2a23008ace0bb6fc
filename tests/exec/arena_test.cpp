// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/arena.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace {

namespace hp = hyperparallel;

constexpr std::int64_t tiers[] = {256, 1000};

TEST(Arena, EveryArenaIsAlignedZeroAndApartFromTheOthers) {
  const hp::arena_set arenas(3, tiers);
  for (int r = 0; r < 3; ++r)
    for (int t = 0; t < 2; ++t) {
      std::byte* const first = arenas.address(r, t, 0, tiers[t]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
      for (std::int64_t i = 0; i < tiers[t]; ++i) ASSERT_EQ(first[i], std::byte{0});
      std::memset(first, 1 + r * 2 + t, static_cast<std::size_t>(tiers[t]));
    }
  for (int r = 0; r < 3; ++r)
    for (int t = 0; t < 2; ++t)
      for (const unsigned char c : arenas.span<unsigned char>(r, t, 0, tiers[t])) ASSERT_EQ(c, 1 + r * 2 + t);
}

TEST(Arena, ExactlyTheRangesInsideAreAccepted) {
  const std::int64_t small[] = {12};
  const hp::arena_set arenas(1, small);
  for (std::int64_t offset = -2; offset <= 14; ++offset)
    for (std::int64_t bytes = -1; bytes <= 15; ++bytes) {
      const bool inside = offset >= 0 && bytes >= 0 && offset + bytes <= 12;
      if (inside)
        EXPECT_EQ(arenas.address(0, 0, offset, bytes) - arenas.address(0, 0, 0), offset);
      else
        EXPECT_THROW(arenas.address(0, 0, offset, bytes), hp::arena_error) << offset << " " << bytes;
    }
  EXPECT_THROW(arenas.address(0, 0, 1, INT64_MAX), hp::arena_error);
  for (const auto& [rank, tier] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}})
    EXPECT_THROW(arenas.address(rank, tier, 0), hp::arena_error);
}

TEST(Arena, TheErrorNamesRankTierBytesAskedAndFree) {
  hp::arena_set arenas(2, tiers);
  try {
    arenas.place({1, 0, 200, 100});
    FAIL();
  } catch (const hp::arena_error& e) {
    EXPECT_EQ(e.rank, 1);
    EXPECT_EQ(e.tier, 0);
    EXPECT_EQ(e.bytes_asked, 100);
    EXPECT_EQ(e.bytes_free, 56);
    EXPECT_EQ(std::string(e.what()), "arena of rank 1, tier 0: 100 bytes asked at offset 200, 56 bytes free");
  }
  EXPECT_EQ(arenas.high_water(1, 0), 0);
}

TEST(Arena, HighWaterIsTheHighestAddressPlaced) {
  hp::arena_set arenas(2, tiers);
  arenas.place({1, 1, 0, 64});
  arenas.place({1, 1, 512, 128});
  arenas.place({1, 1, 128, 64});
  EXPECT_EQ(arenas.high_water(1, 1), 640);
  EXPECT_EQ(arenas.high_water(0, 1), 0);
  EXPECT_EQ(arenas.high_water(1, 0), 0);
  EXPECT_EQ(arenas.bytes(1, 1), 1000);
}

TEST(Arena, AddressesSurviveAMove) {
  hp::arena_set first(1, tiers);
  float* const data = first.span<float>(0, 1, 64, 8).data();
  data[7] = 2.5F;
  const hp::arena_set second = std::move(first);
  EXPECT_EQ(second.span<float>(hp::slot{0, 1, 64, 32}).data(), data);
  EXPECT_EQ(second.span<float>(hp::slot{0, 1, 64, 32})[7], 2.5F);
}

TEST(Arena, AnImpossibleSizeIsRefused) {
  EXPECT_THROW(hp::arena{-1}, std::bad_alloc);
  EXPECT_THROW(hp::arena{INT64_MAX - 10}, std::bad_alloc);
  EXPECT_EQ(hp::arena{0}.bytes(), 0);
}

}  // namespace
