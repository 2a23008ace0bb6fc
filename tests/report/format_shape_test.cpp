// SPDX-License-Identifier: Apache-2.0
// Shapes and boxes read back from their texts.

#include <hyperparallel/report/format_shape.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// All numbers of a text, in order.
std::vector<std::int64_t> numbers(std::string text) {
  for (char& c : text)
    if (c != '-' && (c < '0' || c > '9')) c = ' ';
  std::istringstream in(text);
  std::vector<std::int64_t> found;
  for (std::int64_t n; in >> n;) found.push_back(n);
  return found;
}

TEST(format_shape, reads_back_for_every_rank) {
  hp::shape s;
  hp::box b;
  for (int rank = 0; rank <= hp::max_dims; ++rank) {
    const std::vector<std::int64_t> extents = numbers(to_text(s)), ends = numbers(to_text(b));
    ASSERT_EQ(extents.size(), static_cast<std::size_t>(rank));
    ASSERT_EQ(ends.size(), static_cast<std::size_t>(2 * rank));
    for (std::size_t d = 0; d < extents.size(); ++d) {
      EXPECT_EQ(extents[d], s.extent[d]);
      EXPECT_EQ((hp::interval{ends[2 * d], ends[2 * d + 1]}), b.dim[d]);
    }
    if (rank == hp::max_dims) break;
    s.extent[s.rank++] = std::int64_t{1} << (7 * rank);
    b.dim[b.rank++] = {rank * 3, rank * 1000 + 4};
  }
}

TEST(format_shape, golden) {
  EXPECT_EQ(fmt::format("{}", hp::shape{8, 4096, 7168}), "(8, 4096, 7168)");
  EXPECT_EQ(fmt::format("{}", hp::shape{}), "()");
  EXPECT_EQ(fmt::format("{}", hp::box{{0, 4}, {0, 4096}, {4480, 5376}}), "[0:4, 0:4096, 4480:5376]");
  EXPECT_EQ(fmt::format("{}", hp::interval{3, 5}), "3:5");
  EXPECT_EQ(fmt::format("{}", hp::bf16), "bf16");
}

}  // namespace
