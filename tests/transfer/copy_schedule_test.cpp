// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/copy_schedule.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;

constexpr auto go_on = [](std::int64_t) { return true; };
constexpr hp::copy_way all_ways[] = {hp::cached_copy, hp::streaming_copy, hp::detail::streaming_ahead};

/// A block of bytes that are never zero.
std::vector<std::byte> filled(std::int64_t bytes) {
  std::vector<std::byte> block(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>((i * 37 + (i >> 8) * 11) % 255 + 1);
  return block;
}

/// A matrix of `rows` × `columns` bytes, dealt to targets that each hold `width` of its columns.
struct dealt_matrix {
  std::int64_t rows, columns, width;
  std::vector<std::byte> source = filled(rows * columns);
  std::vector<std::vector<std::byte>> target{};
  std::vector<hp::copy_record> records{};

  dealt_matrix(std::int64_t r, std::int64_t c, std::int64_t w) : rows(r), columns(c), width(w) {
    for (std::int64_t first = 0; first < columns; first += width) {
      const std::int64_t n = std::min(width, columns - first);
      target.emplace_back(static_cast<std::size_t>(rows * n));
      records.push_back({hp::flatten({2, 1, {rows, n}, {rows, columns}, {0, first}, {rows, n}, {0, 0}}), source.data(),
                         target.back().data()});
    }
  }
  /// How many source bytes from the start have arrived; -1 where one has come that does not follow the others.
  std::int64_t arrived_prefix() const {
    std::int64_t prefix = 0;
    bool open = true;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t column = i % columns, part = column / width, n = std::min(width, columns - part * width);
      const std::byte got =
          target[static_cast<std::size_t>(part)][static_cast<std::size_t>(i / columns * n + column % width)];
      if (got != std::byte{0} && (!open || got != source[static_cast<std::size_t>(i)])) return -1;
      open = open && got != std::byte{0};
      if (open) ++prefix;
    }
    return prefix;
  }
};

TEST(CopySchedule, ReadsRowsThatFollowEachOtherInSourceOrder) {
  dealt_matrix m(2048, 2048, 600);  // the last target is narrower, and no row ends on a line
  const hp::copy_schedule schedule(m.records);
  EXPECT_EQ(schedule.groups(), 1);
  EXPECT_EQ(schedule.bytes(), 4 << 20);
  std::int64_t told = 0;
  int calls = 0;
  schedule.run(schedule.whole(), hp::detail::streaming_ahead, [&](std::int64_t bytes) {
    told += bytes;
    return ++calls < 2;
  });
  EXPECT_GE(told, 2 << 20);
  EXPECT_LT(told, 3 << 20);
  EXPECT_EQ(m.arrived_prefix(), told) << "what was moved before the stop is the beginning of the source";
}

TEST(CopySchedule, PartsOfASplitFollowOneAnotherAndAreEqualUpToARun) {
  dealt_matrix m(301, 1000, 70);
  const hp::copy_schedule schedule(m.records);
  for (const int threads : {1, 2, 3, 7, 64}) {
    std::int64_t before = 0;
    for (std::vector<std::byte>& t : m.target) std::fill(t.begin(), t.end(), std::byte{0});
    for (int w = 0; w < threads; ++w) {
      std::int64_t moved = 0;
      schedule.run(schedule.part(w, threads), all_ways[w % 2], [&](std::int64_t bytes) {
        moved += bytes;
        return true;
      });
      ASSERT_NEAR(static_cast<double>(moved), 301000.0 / threads, 70);
      before += moved;
      ASSERT_EQ(m.arrived_prefix(), before);
    }
    ASSERT_EQ(before, schedule.bytes());
  }
}

TEST(CopySchedule, LongRunsGoPieceByPieceToAllTheirTargets) {
  const std::int64_t bytes = (3 << 20) + 77;
  const std::vector<std::byte> source = filled(bytes);
  std::vector<std::vector<std::byte>> target(3, std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  std::vector<hp::copy_record> records;
  for (std::vector<std::byte>& t : target) {
    hp::strided_copy whole;
    whole.run = bytes;
    records.push_back({whole, source.data(), t.data()});
  }
  const hp::copy_schedule schedule(records);
  std::int64_t told = 0;
  schedule.run(schedule.whole(), hp::cached_copy, [&](std::int64_t moved) {
    told += moved;
    return false;
  });
  for (const std::vector<std::byte>& t : target) {
    std::int64_t n = 0;
    while (n < bytes && t[static_cast<std::size_t>(n)] != std::byte{0}) ++n;
    EXPECT_NEAR(static_cast<double>(n), static_cast<double>(told) / 3, static_cast<double>(hp::copy_schedule::piece));
  }
  for (int w = 0; w < 4; ++w) schedule.run(schedule.part(w, 4), hp::detail::streaming_ahead, go_on);
  for (const std::vector<std::byte>& t : target) ASSERT_EQ(t, source);
}

/// Boxes of random matrices of up to four dims, each into a block of its own.
TEST(CopySchedule, SampledRecordsArriveAsIfCopiedOneByOne) {
  std::mt19937 random(5);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::byte> source = filled(1 << 16);
    std::vector<std::vector<std::byte>> got, expected;
    std::vector<hp::strided_copy> copies;
    for (std::int64_t i = below(12); i >= 0; --i) {
      hp::box_copy b;
      b.dims = static_cast<int>(below(5));
      b.element_bytes = 1 + below(12);
      std::int64_t block = b.element_bytes;
      for (int d = 0; d < b.dims; ++d) {
        b.extent[d] = below(10) == 0 ? 0 : 1 + below(4);
        b.source_offset[d] = below(3);
        b.target_offset[d] = below(3);
        b.source_shape[d] = b.extent[d] + b.source_offset[d] + below(2);
        b.target_shape[d] = b.extent[d] + b.target_offset[d] + below(2);
        block *= b.target_shape[d];
      }
      copies.push_back(hp::flatten(b));
      got.emplace_back(static_cast<std::size_t>(block));
      expected.emplace_back(static_cast<std::size_t>(block));
      hp::copy_strided(copies.back(), source.data(), expected.back().data());
    }
    std::vector<hp::copy_record> records;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      records.push_back({copies[i], source.data(), got[i].data()});
      bytes += hp::byte_count(copies[i]);
    }
    const hp::copy_schedule schedule(records);
    ASSERT_EQ(schedule.bytes(), bytes);
    const int threads = 1 + round % 5;
    for (int w = threads - 1; w >= 0; --w) schedule.run(schedule.part(w, threads), all_ways[round % 2], go_on);
    ASSERT_EQ(got, expected);
  }
}

TEST(CopySchedule, AnEmptyMoveHasNoParts) {
  const hp::copy_schedule nothing, empty_run(std::vector<hp::copy_record>{{}});
  for (const hp::copy_schedule* s : {&nothing, &empty_run}) {
    EXPECT_EQ(s->bytes(), 0);
    EXPECT_EQ(s->groups(), 0);
    for (int w = 0; w < 3; ++w)
      s->run(s->part(w, 3), hp::detail::streaming_ahead, [](std::int64_t bytes) {
        EXPECT_EQ(bytes, 0);
        return true;
      });
  }
}

// Column blocks of the sum of three matrices, beside a plain copy.
TEST(CopySchedule, FoldsTermsInTheirOrder) {
  constexpr std::int64_t rows = 37, columns = 60, width = 20;
  std::vector<std::vector<float>> term(3, std::vector<float>(rows * columns));
  std::mt19937 random(3);
  std::uniform_real_distribution<float> number(-1e6F, 1e6F);
  for (std::vector<float>& t : term)
    for (float& x : t) x = number(random) * (random() % 4 == 0 ? 1e-6F : 1.0F);
  const std::byte* sources[3];
  for (std::size_t i = 0; i < 3; ++i) sources[i] = reinterpret_cast<const std::byte*>(term[i].data());
  for (const hp::copy_way stores : all_ways)
    for (const int threads : {1, 2, 5}) {
      std::vector<std::vector<float>> target(4, std::vector<float>(rows * width));
      std::vector<hp::fold_record> folds;
      const auto part = [&](std::int64_t i) {
        return hp::flatten({2, 4, {rows, width}, {rows, columns}, {0, i % 3 * width}, {rows, width}, {0, 0}});
      };
      const auto to = [&](std::size_t i) { return reinterpret_cast<std::byte*>(target[i].data()); };
      for (std::size_t i = 0; i < 3; ++i)
        folds.push_back({part(static_cast<std::int64_t>(i)), sources, to(i), {hp::f32, hp::reduce_op::avg, 3}});
      const hp::copy_record copy{part(0), sources[1], to(3)};
      const hp::copy_schedule schedule({&copy, 1}, folds);
      for (int w = 0; w < threads; ++w) schedule.run(schedule.part(w, threads), stores, go_on);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
          const auto at = static_cast<std::size_t>(r * columns + c);
          const auto place = static_cast<std::size_t>(r * width + c % width);
          ASSERT_EQ(target[static_cast<std::size_t>(c / width)][place],
                    ((term[0][at] + term[1][at]) + term[2][at]) / 3);
          if (c < width) {
            ASSERT_EQ(target[3][place], term[1][at]);
          }
        }
    }
}

}  // namespace
