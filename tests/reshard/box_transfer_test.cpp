// SPDX-License-Identifier: Apache-2.0
// Boxes between files and memory, element by element.

#include "reshard/box_transfer.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/model_files.hpp"

namespace rs = hp_tool::reshard;

TEST(BoxTransfer, EachUnitComesFromItsPlaceAndGoesBack) {
  const io_test::workplace at;
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t unit = std::int64_t{1} << random() % 4;
    const std::size_t rank = random() % 4;
    std::vector<std::int64_t> extents, file_order(rank), file(rank), memory(rank);
    for (std::size_t d = 0; d < rank; ++d) extents.push_back(1 + static_cast<std::int64_t>(random() % 5));
    // Any order of the dims in the file, with gaps; row-major in memory.
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::int64_t room = 1;
    for (const std::size_t d : order) {
      file[d] = room;
      room *= extents[d] + static_cast<std::int64_t>(random() % 2);
    }
    std::int64_t count = 1;
    for (std::size_t d = rank; d-- > 0;) {
      memory[d] = count;
      count *= extents[d];
    }
    rs::index_box box;
    for (const std::int64_t e : extents) box.push_back({0, e});
    const std::string bytes = checkpoint_test::random_bytes(random, room * unit);
    at.put("file", bytes);
    const int number = ::open(at.path("file").c_str(), O_RDWR);
    const rs::transfer_shape s(box, file, memory);
    std::vector<std::byte> got(static_cast<std::size_t>(count * unit)), run(static_cast<std::size_t>(s.run * unit));
    std::int64_t read = 0;
    rs::read_box(number, "file", 0, s, unit, got.data(), run.data(),
                 [&](std::int64_t, const std::byte*, std::size_t n) { read += static_cast<std::int64_t>(n); });
    EXPECT_EQ(read, count * unit);
    std::vector<std::int64_t> i(rank, 0);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < rank; ++d) place += i[d] * file[d];
      for (std::int64_t b = 0; b < unit; ++b)
        ASSERT_EQ(static_cast<char>(got[static_cast<std::size_t>(n * unit + b)]),
                  bytes[static_cast<std::size_t>(place * unit + b)])
            << round;
      for (std::size_t d = rank; d-- > 0;) {
        if (++i[d] < extents[d]) break;
        i[d] = 0;
      }
    }
    // Written back over inverted bytes: what is not in the box stays inverted.
    std::string expected = bytes, inverted = bytes;
    for (char& c : inverted) c = static_cast<char>(~c);
    at.put("file", inverted);
    const int again = ::open(at.path("file").c_str(), O_RDWR);
    rs::write_box(again, "file", 0, s, unit, got.data(), run.data(),
                  [](std::int64_t, const std::byte*, std::size_t) {});
    const std::string written = at.get("file");
    std::int64_t same = 0;
    for (std::size_t b = 0; b < bytes.size(); ++b) same += written[b] == bytes[b] ? 1 : 0;
    EXPECT_EQ(same, count * unit);
    ::close(number);
    ::close(again);
  }
}
