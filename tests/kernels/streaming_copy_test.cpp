// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/streaming_copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

namespace hp = hyperparallel;

class StreamingCopy : public testing::TestWithParam<hp::store_kind> {};

// Every way in which a run can lie in cache lines; what is around the target stays as it was.
TEST_P(StreamingCopy, CopiesTheRunAndNothingElse) {
  std::vector<std::byte> source(512), target(512);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 % 255 + 1);
  for (std::size_t from = 0; from < 64; from += 7)
    for (std::size_t to = 0; to <= 64; ++to)
      for (std::size_t bytes = 0; bytes <= 260; bytes += bytes < 140 ? 1 : 17) {
        std::fill(target.begin(), target.end(), std::byte{0});
        hp::copy_run(target.data() + to, source.data() + from, static_cast<std::int64_t>(bytes), GetParam(), 64);
        hp::store_fence();
        for (std::size_t i = 0; i < target.size(); ++i) {
          const bool inside = i >= to && i < to + bytes;
          ASSERT_EQ(target[i], inside ? source[from + i - to] : std::byte{0}) << from << ' ' << to << ' ' << bytes;
        }
      }
}
INSTANTIATE_TEST_SUITE_P(BothKinds, StreamingCopy, testing::Values(hp::store_kind::cached, hp::store_kind::streaming));

TEST(StoresFor, StreamsFromTheThresholdOn) {
  const hp::store_kind streaming =
      hp::detail::has_streaming_stores ? hp::store_kind::streaming : hp::store_kind::cached;
  EXPECT_EQ(hp::stores_for(1000, 1000), streaming);
  EXPECT_EQ(hp::stores_for(999, 1000), hp::store_kind::cached);
  EXPECT_EQ(hp::stores_for(0, 0), streaming);
  const std::int64_t half = hp::detail::last_level_cache_bytes() / 2;
  EXPECT_EQ(hp::stores_for(half), streaming);
  EXPECT_EQ(hp::stores_for(half - 1), hp::store_kind::cached);
}

TEST(LastLevelCache, IsACacheSize) {
  EXPECT_GE(hp::detail::last_level_cache_bytes(), 1 << 15);
  EXPECT_LE(hp::detail::last_level_cache_bytes(), std::int64_t{1} << 34);
}

}  // namespace
