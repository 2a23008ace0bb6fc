// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of the journal of a run that converts: which item is done, with the checksums of what it read and wrote.
//
//   item 12 r0:3:CHECKSUM w0:5:CHECKSUM        file, tensor and sum of what was read, and written
//
// Law: what `line_of_item` writes, `read_item` reads. O(length of the line).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "piecewise_checksum.hpp"

namespace hp_tool::reshard {

/// Checksums of what an item reads or writes, by file and tensor.
using item_sums = std::map<std::pair<int, int>, piecewise_checksum>;

struct journalled_sum {
  bool is_read = false;
  std::int64_t file = -1, tensor = -1;  ///< -1: no number
  std::uint64_t part = 0;
};

struct journalled_item {
  std::int64_t number = 0;
  std::vector<journalled_sum> sums;
};

std::string line_of_item(std::size_t number, const item_sums& read, const item_sums& written);

/// Nothing where the line is of something else.
std::optional<journalled_item> read_item(std::string_view line);

}  // namespace hp_tool::reshard
