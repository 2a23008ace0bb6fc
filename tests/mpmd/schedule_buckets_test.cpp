// SPDX-License-Identifier: Apache-2.0
// Selection by table against a search through all buckets.

#include <gtest/gtest.h>

#include <hyperparallel/mpmd/schedule_buckets.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

TEST(ScheduleBuckets, CellsAreMonotoneAndAnEighthOfAnOctave) {
  int last = -1;
  for (std::int64_t rows = 0; rows < 200000; ++rows) {
    const int cell = hp::cell_of(rows);
    ASSERT_TRUE(cell == last || cell == last + 1) << rows;
    if (cell != last) {
      ASSERT_EQ(hp::least_of_cell(cell), rows);
      ASSERT_TRUE(rows < 16 || hp::least_of_cell(cell + 1) - rows <= rows / 8) << rows;
    }
    last = cell;
  }
  for (int octave = 17; octave <= 40; ++octave)
    for (const std::int64_t off : {-1, 0, 1}) {
      const std::int64_t rows = std::min((std::int64_t{1} << octave) + off, hp::most_bucket_rows);
      const int cell = hp::cell_of(rows);
      ASSERT_LT(cell, hp::bucket_cells);
      ASSERT_TRUE(hp::least_of_cell(cell) <= rows && rows < hp::least_of_cell(cell + 1)) << rows;
    }
}

template <int Buckets>
void compare_with_search(const hp::bucket_selector<Buckets>& s, std::int64_t rows) {
  int expected = 0;
  while (expected < Buckets && s.rows[expected] < rows) ++expected;
  const hp::bucket_choice found = hp::bucket_index(s, rows);
  if (expected == Buckets) {
    ASSERT_EQ(found, hp::bucket_choice{hp::bucket_code::no_bucket_holds_it});
  } else {
    ASSERT_EQ(found, (hp::bucket_choice{hp::bucket_code::ok, expected})) << rows;
  }
}

constexpr hp::histogram_buckets<6> skews{{1000, 1250, 1500, 2000, 4000, hp::dropless_limit(64)}};

TEST(ScheduleBuckets, TheSmallestThatHoldsIt) {
  for (std::int64_t balanced = 1; balanced <= 700; ++balanced) {
    const auto s = hp::select_from(skews, balanced);
    if (s.status.code != hp::bucket_code::ok) {
      ASSERT_LT(balanced, 8) << to_text(s.status.code);
      continue;
    }
    for (std::int64_t rows = 0; rows <= 64 * balanced; rows += 1 + rows / 500) compare_with_search(s, rows);
    for (const std::int64_t rows : s.rows)
      for (const std::int64_t near : {rows - 1, rows, rows + 1}) compare_with_search(s, near);
  }
}

TEST(ScheduleBuckets, AnyLimits) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    hp::histogram_buckets<4> b;
    const int octaves = 1 + static_cast<int>(random() % 20);
    for (std::int64_t& limit : b.limit) limit = 1 + static_cast<std::int64_t>(random() >> (64 - 10 - octaves));
    std::sort(std::begin(b.limit), std::end(b.limit));
    const std::int64_t balanced = 1 + static_cast<std::int64_t>(random() % 5000);
    const auto s = hp::select_from(b, balanced);
    if (s.status.code != hp::bucket_code::ok) {
      ++refused;
      ASSERT_TRUE(s.status.code == hp::bucket_code::limits_do_not_rise ||
                  s.status.code == hp::bucket_code::limits_are_too_close);
      const std::int64_t low = b.limit[s.status.bucket - 1], high = b.limit[s.status.bucket];
      ASSERT_TRUE((high - low) * 8 <= low + 8 || high * balanced < 17000) << low << " " << high << " " << balanced;
      continue;
    }
    for (const std::int64_t rows : s.rows)
      for (const std::int64_t near : {rows - 1, rows, rows + 1}) compare_with_search(s, near);
    for (int k = 0; k < 20; ++k)
      compare_with_search(s, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.rows[3] + 2)));
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 19000);
}

TEST(ScheduleBuckets, EveryHistogramHasADroplessBucket) {
  std::mt19937 random(5);
  const auto s = hp::select_from(skews, 512);
  ASSERT_EQ(s.status.code, hp::bucket_code::ok);
  std::vector<int> chosen(6);
  for (int i = 0; i < 5000; ++i) {
    std::vector<int> count(64);
    const unsigned hot = 1 + random() % 64;  // this many experts get half of the rows
    for (int row = 0; row < 64 * 512; ++row) ++count[random() % 2 == 0 ? random() % hot : random() % 64];
    const hp::bucket_choice c = hp::bucket_index(s, count.data(), 64);
    ASSERT_EQ(c.code, hp::bucket_code::ok);
    const int most = *std::max_element(count.begin(), count.end());
    ASSERT_LE(most, s.rows[c.bucket]);
    if (c.bucket > 0) {
      ASSERT_GT(most, s.rows[c.bucket - 1]);
    }
    ++chosen[static_cast<std::size_t>(c.bucket)];
    if (i == 50 && std::getenv("HYPERPARALLEL_EXHAUSTIVE") == nullptr) break;
  }
  std::vector<int> one_expert(64);
  one_expert[63] = 64 * 512;
  EXPECT_EQ(hp::bucket_index(s, one_expert.data(), 64), (hp::bucket_choice{hp::bucket_code::ok, 5}));
  EXPECT_GT(chosen[2] + chosen[3] + chosen[4], 0);
}

TEST(ScheduleBuckets, SaysWhatIsWrong) {
  using enum hp::bucket_code;
  const auto code = [](const hp::histogram_buckets<2>& b, std::int64_t balanced) {
    return hp::select_from(b, balanced).status;
  };
  EXPECT_EQ(code({{1000, 2000}}, 0), hp::bucket_choice{balanced_count_is_not_positive});
  EXPECT_EQ(code({{0, 2000}}, 10), (hp::bucket_choice{limit_is_out_of_range, 0}));
  EXPECT_EQ(code({{1000, std::int64_t{1} << 62}}, 10), (hp::bucket_choice{limit_is_out_of_range, 1}));
  EXPECT_EQ(code({{1000, 1000}}, 10), (hp::bucket_choice{limits_do_not_rise, 1}));
  EXPECT_EQ(code({{1000, 1010}}, 1000), (hp::bucket_choice{limits_are_too_close, 1}));
  const auto broken = hp::select_from(hp::histogram_buckets<2>{{2000, 1000}}, 10);
  EXPECT_EQ(hp::bucket_index(broken, 3), (hp::bucket_choice{limits_do_not_rise, 1}));
  const auto s = hp::select_from(hp::histogram_buckets<2>{{1000, 2000}}, 10);
  EXPECT_EQ(hp::bucket_index(s, -1), hp::bucket_choice{negative_count});
  const int negative[] = {3, -1};
  EXPECT_EQ(hp::bucket_index(s, negative, 2), hp::bucket_choice{negative_count});
  EXPECT_EQ(hp::bucket_index(s, 21), hp::bucket_choice{no_bucket_holds_it});
}

constexpr auto compiled = hp::select_from(skews, 512);
static_assert(compiled.status.code == hp::bucket_code::ok);
static_assert(hp::bucket_index(compiled, 512).bucket == 0 && hp::bucket_index(compiled, 513).bucket == 1);
static_assert(hp::bucket_index(compiled, 64 * 512).bucket == 5);

}  // namespace
