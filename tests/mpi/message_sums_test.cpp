// SPDX-License-Identifier: Apache-2.0
// processes: 1
// Sums of pieces are those of their bytes, however these lie on the two sides; each bit that differs is found.
#include <hyperparallel/mpi/message_sums.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using hp::detail::message_sums;

/// A piece of `rows` x 3 bytes in rows of `width`, from `begin` on, beside its dense form.
hp::strided_copy out_of(int rows, int width, int begin) {
  return hp::flatten({2, 1, {rows, 3}, {rows + 1, width}, {1, begin}, {rows, 3}, {0, 0}});
}
hp::strided_copy into(int rows, int width, int begin) {
  return hp::flatten({2, 1, {rows, 3}, {rows, 3}, {0, 0}, {rows + 1, width}, {1, begin}});
}

TEST(MessageSums, FindEachBitOfEachPiece) {
  std::vector<std::byte> sent(60), dense(12), come(80);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(37 * i + 1);
  for (const int width : {3, 5, 9})
    for (const int begin : {0, 2}) {
      if (begin + 3 > width) continue;
      const hp::strided_copy pack = out_of(4, 6, 1), unpack = into(4, width, begin);
      hp::copy_strided(pack, sent.data(), dense.data());
      hp::copy_strided(unpack, dense.data(), come.data());
      message_sums from, to;
      from.add(pack, sent.data(), 3);
      from.add(out_of(2, 7, 0), sent.data(), 5);
      std::vector<std::byte> second(6);
      hp::copy_strided(out_of(2, 7, 0), sent.data(), second.data());
      hp::strided_copy whole;
      whole.run = 6;
      to.add(message_sums::reversed(unpack), come.data(), 3);
      to.add(message_sums::reversed(whole), second.data(), 5);
      from.take();
      ASSERT_EQ(from.bytes(), to.bytes());
      std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
      ASSERT_EQ(to.first_damaged(), -1);
      const auto flips = [&](std::byte* at, std::size_t bytes, auto&& expected) {
        for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
          at[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
          ASSERT_EQ(to.first_damaged(), expected(bit / 8)) << bit;
          at[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        }
      };
      flips(second.data(), second.size(), [](std::size_t) { return 5; });
      flips(to.data(), static_cast<std::size_t>(to.bytes()), [](std::size_t byte) { return byte < 8 ? 3 : 5; });
      flips(come.data(), come.size(), [&](std::size_t byte) {
        const int row = static_cast<int>(byte) / width, column = static_cast<int>(byte) % width;
        return row >= 1 && row <= 4 && column >= begin && column < begin + 3 ? 3 : -1;
      });
    }
}

}  // namespace
