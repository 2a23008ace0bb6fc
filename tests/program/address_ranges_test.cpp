// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/address_ranges.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct range {
  hp::extent_t begin = 0, end = 0;
};

// All sets of up to five ranges of one or two addresses with gaps of none or one between them, by looking at each range.
TEST(address_ranges, the_first_behind_an_address_is_found) {
  for (int count = 0; count <= 5; ++count)
    for (int shape = 0; shape < 1 << (2 * count); ++shape) {
      hp::growing_array<range> ranges;
      hp::extent_t at = 0;
      for (int i = 0; i < count; ++i) {
        at += shape >> (2 * i) & 1;
        ranges.push({at, at + 1 + (shape >> (2 * i + 1) & 1)});
        at = ranges.last().end;
      }
      for (hp::extent_t address = 0; address <= at + 1; ++address) {
        int expected = 0;
        while (expected < count && ranges[expected].end <= address) ++expected;
        ASSERT_EQ(hp::first_behind(ranges, address), expected);
      }
    }
}

}  // namespace
