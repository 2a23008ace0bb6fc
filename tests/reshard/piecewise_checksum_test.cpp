// SPDX-License-Identifier: Apache-2.0
// Pieces in any order give the checksum of the whole.

#include "reshard/piecewise_checksum.hpp"

#include <hyperparallel/io/checksum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace hp = hyperparallel;

TEST(PiecewiseChecksum, DoesNotDependOnPiecesOrTheirOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::byte> all(random() % 3000);
    for (std::byte& b : all) b = static_cast<std::byte>(random());
    std::vector<std::size_t> cuts = {0, all.size()};
    for (std::size_t n = random() % 6; n > 0; --n) cuts.push_back(random() % (all.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::pair<std::size_t, std::size_t>> pieces;
    for (std::size_t i = 1; i < cuts.size(); ++i) pieces.push_back({cuts[i - 1], cuts[i]});
    std::shuffle(pieces.begin(), pieces.end(), random);
    hp_tool::reshard::piecewise_checksum even(static_cast<std::int64_t>(all.size())), odd = even;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      (i % 2 == 0 ? even : odd)
          .add(static_cast<std::int64_t>(pieces[i].first),
               std::span(all).subspan(pieces[i].first, pieces[i].second - pieces[i].first));
    even.combine(odd.part());
    EXPECT_EQ(even.value(), hp::detail::checksum_of(std::span<const std::byte>(all))) << all.size();
  }
}

TEST(PiecewiseChecksum, OfNothingAndOfTheKnownText) {
  EXPECT_EQ(hp_tool::reshard::piecewise_checksum(0).value(), hp::detail::checksum_of(std::string_view("")));
  hp_tool::reshard::piecewise_checksum sum(9);
  sum.add(0, std::as_bytes(std::span("123456789", 9)));
  EXPECT_EQ(sum.value(), 0x995DC9BBDF1939FAu);  // the check value of CRC-64/XZ
}
