// SPDX-License-Identifier: Apache-2.0
// processes: 1
#include <gtest/gtest.h>

#include <numeric>

#include <hyperparallel/mpi/byte_type.hpp>

namespace hp = hyperparallel;

namespace {

/// Sends the bytes that `from` describes and receives them where `to` does, in this process.
void send_to_self(const unsigned char* source, const hp::detail::byte_type& from, unsigned char* target,
                  const hp::detail::byte_type& to) {
  MPI_Sendrecv(source, 1, from.get(), 0, 0, target, 1, to.get(), 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/// Every box of a 3 x 4 block to every place of a 4 x 5 block, with 3-byte elements: as the copy does it.
TEST(byte_type, moves_what_a_strided_copy_moves) {
  std::vector<unsigned char> source(3 * 4 * 3);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  int boxes = 0;
  for (int rows = 1; rows <= 3; ++rows)
    for (int columns = 1; columns <= 4; ++columns)
      for (int r = 0; r + rows <= 3; ++r)
        for (int c = 0; c + columns <= 4; ++c) {
          hp::box_copy box{2, 3, {rows, columns}, {3, 4}, {r, c}, {4, 5}, {4 - rows, 5 - columns}};
          const hp::strided_copy copy = hp::flatten(box);
          std::vector<unsigned char> copied(4 * 5 * 3), sent(copied.size());
          hp::copy_strided(copy, reinterpret_cast<const std::byte*>(source.data()),
                           reinterpret_cast<std::byte*>(copied.data()));
          hp::detail::byte_type from = hp::detail::loops_type(copy, copy.source_step);
          hp::detail::byte_type to = hp::detail::loops_type(copy, copy.target_step);
          from.commit();
          to.commit();
          send_to_self(source.data() + copy.source_start, from, sent.data() + copy.target_start, to);
          ASSERT_EQ(sent, copied);
          ++boxes;
        }
  EXPECT_EQ(boxes, 60);
}

TEST(byte_type, strings_pieces_together_in_order) {
  const std::vector<unsigned char> source{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<hp::detail::byte_type> pieces;
  pieces.push_back(hp::detail::run_type(2));
  pieces.push_back(hp::detail::run_type(3));
  hp::detail::byte_type from = hp::detail::struct_type(pieces, {5, 1}), to = hp::detail::run_type(5);
  from.commit();
  to.commit();
  std::vector<unsigned char> target(5);
  send_to_self(source.data(), from, target.data(), to);
  EXPECT_EQ(target, (std::vector<unsigned char>{6, 7, 2, 3, 4}));
}

/// Longer than any count of MPI: described only, not sent.
TEST(byte_type, counts_runs_beyond_int) {
  for (const std::int64_t bytes : {std::int64_t{1} << 30, std::int64_t{5} << 30, (std::int64_t{5} << 30) + 7}) {
    const hp::detail::byte_type type = hp::detail::run_type(bytes);
    MPI_Count size = 0, lower = 0, extent = 0;
    MPI_Type_size_x(type.get(), &size);
    MPI_Type_get_extent_x(type.get(), &lower, &extent);
    EXPECT_EQ(size, bytes);
    EXPECT_EQ(extent, bytes);
  }
}

}  // namespace
