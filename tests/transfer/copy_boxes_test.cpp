// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/copy_boxes.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;

std::int64_t volume(const hp::box_copy& b, const std::int64_t* shape) {
  std::int64_t n = 1;
  for (int d = 0; d < b.dims; ++d) n *= shape[d];
  return n;
}

/// Element by element, straight from the definition.
std::vector<std::byte> naive(const hp::box_copy& b, const std::vector<std::byte>& source,
                             std::vector<std::byte> target) {
  std::int64_t total = 1;
  for (int d = 0; d < b.dims; ++d) total *= b.extent[d];
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t rest = i, from = 0, to = 0, from_pitch = 1, to_pitch = 1;
    for (int d = b.dims - 1; d >= 0; --d) {
      const std::int64_t x = rest % b.extent[d];
      rest /= b.extent[d];
      from += (b.source_offset[d] + x) * from_pitch;
      to += (b.target_offset[d] + x) * to_pitch;
      from_pitch *= b.source_shape[d];
      to_pitch *= b.target_shape[d];
    }
    std::memcpy(target.data() + to * b.element_bytes, source.data() + from * b.element_bytes,
                static_cast<std::size_t>(b.element_bytes));
  }
  return target;
}

void check(const hp::box_copy& b) {
  ASSERT_TRUE(hp::fits(b));
  std::vector<std::byte> source(static_cast<std::size_t>(volume(b, b.source_shape) * b.element_bytes));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 + 1);
  std::vector<std::byte> target(static_cast<std::size_t>(volume(b, b.target_shape) * b.element_bytes), std::byte{0xee});
  const std::vector<std::byte> expected = naive(b, source, target);
  EXPECT_EQ(hp::copy_box(b, source.data(), target.data()), hp::byte_count(b));
  ASSERT_EQ(target, expected);
}

TEST(CopyBoxes, EveryBoxOfEverySmallPairOfBlocks) {
  // One dim at a time: all (shape, offset, extent) triples of both sides with sizes up to 3, crossed over two dims.
  struct side {
    std::int64_t extent, shape_a, offset_a, shape_b, offset_b;
  };
  std::vector<side> sides;
  for (std::int64_t extent = 0; extent <= 2; ++extent)
    for (std::int64_t a = 1; a <= 3; ++a)
      for (std::int64_t oa = 0; oa + extent <= a; ++oa)
        for (std::int64_t b = 1; b <= 3; ++b)
          for (std::int64_t ob = 0; ob + extent <= b; ++ob) sides.push_back({extent, a, oa, b, ob});
  for (const side& x : sides)
    for (const side& y : sides)
      check({2,
             3,
             {x.extent, y.extent},
             {x.shape_a, y.shape_a},
             {x.offset_a, y.offset_a},
             {x.shape_b, y.shape_b},
             {x.offset_b, y.offset_b}});
}

TEST(CopyBoxes, SampledBoxesOfHigherRank) {
  std::mt19937 random(11);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 3000; ++i) {
    hp::box_copy b;
    b.dims = static_cast<int>(below(6));
    b.element_bytes = 1 + below(4);
    for (int d = 0; d < b.dims; ++d) {
      b.extent[d] = 1 + below(3);
      const std::int64_t loose = below(2);  // tight dims on both sides are what merges
      b.source_offset[d] = loose * below(2);
      b.target_offset[d] = loose * below(2);
      b.source_shape[d] = b.extent[d] + b.source_offset[d] + loose * below(2);
      b.target_shape[d] = b.extent[d] + b.target_offset[d] + loose * below(2);
    }
    check(b);
  }
}

TEST(CopyBetween, MovesABoxBetweenBlocksOfOtherBoxes) {
  const hp::box from{{2, 6}, {0, 4}}, to{{0, 4}, {1, 3}}, part{{2, 4}, {1, 3}};
  const hp::box_copy c = hp::copy_between(from, to, part, 4);
  ASSERT_TRUE(hp::fits(c));
  std::int32_t source[16], target[8] = {};
  for (int i = 0; i < 16; ++i) source[i] = i;
  hp::copy_box(c, reinterpret_cast<const std::byte*>(source), reinterpret_cast<std::byte*>(target));
  const std::int32_t expected[8] = {0, 0, 0, 0, 1, 2, 5, 6};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(target[i], expected[i]);
}

// Whole blocks are one run; a column block is one loop of rows; a middle dim that is tight on both sides joins its
// outer one.
constexpr hp::strided_copy whole = hp::flatten({3, 4, {2, 3, 5}, {2, 3, 5}, {0, 0, 0}, {2, 3, 5}, {0, 0, 0}});
static_assert(whole.dims == 0 && whole.run == 2 * 3 * 5 * 4);
constexpr hp::strided_copy column = hp::flatten({2, 4, {6, 5}, {6, 10}, {0, 5}, {8, 5}, {1, 0}});
static_assert(column.dims == 1 && column.run == 20 && column.count[0] == 6 && column.source_step[0] == 40 &&
              column.target_step[0] == 20 && column.source_start == 20 && column.target_start == 20);
constexpr hp::strided_copy joined = hp::flatten({3, 1, {4, 3, 2}, {4, 3, 7}, {0, 0, 1}, {4, 3, 9}, {0, 0, 0}});
static_assert(joined.dims == 1 && joined.count[0] == 12 && joined.run == 2);
constexpr hp::strided_copy apart = hp::flatten({3, 1, {4, 3, 2}, {4, 3, 7}, {0, 0, 1}, {4, 4, 9}, {0, 0, 0}});
static_assert(apart.dims == 2 && apart.count[0] == 4 && apart.count[1] == 3);
static_assert(hp::flatten({1, 8, {0}, {4}, {0}, {4}, {0}}).run == 0);

static_assert(hp::byte_count(whole) == 120 && hp::byte_count(column) == 120 && hp::byte_count(apart) == 24);
static_assert(hp::byte_count(hp::strided_copy{}) == 0);

// Runs of 20 bytes in pieces of 8: two of them a row, and 4 bytes.
constexpr hp::detail::cut_copy cut = hp::detail::cut_runs(column, 8);
static_assert(cut.pieces.dims == 2 && cut.pieces.run == 8 && cut.pieces.count[0] == 6 && cut.pieces.count[1] == 2 &&
              cut.pieces.source_step[1] == 8 && cut.pieces.target_step[1] == 8);
static_assert(cut.rest.dims == 1 && cut.rest.run == 4 && cut.rest.source_start == column.source_start + 16 &&
              cut.rest.target_start == column.target_start + 16);
static_assert(hp::byte_count(cut.pieces) + hp::byte_count(cut.rest) == hp::byte_count(column));
static_assert(hp::detail::cut_runs(column, 10).rest.run == 0 && hp::detail::cut_runs(column, 21).pieces.run == 0);

static_assert(!hp::fits({1, 1, {3}, {4}, {2}, {4}, {0}}));
static_assert(!hp::fits({1, 1, {3}, {4}, {0}, {4}, {2}}));
static_assert(!hp::fits({1, 1, {3}, {4}, {-1}, {4}, {0}}));
static_assert(!hp::fits({1, 0, {3}, {4}, {0}, {4}, {0}}));

}  // namespace
