// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of the journal of a run that converts: which item is done, with the checksums of what it read and wrote.
//
//   item 12 r0:3:CHECKSUM w0:5:CHECKSUM        file, tensor and sum of what was read, and written
//
// Law: what `line_of_item` writes, `read_item` reads. O(length of the line).

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/checkpoint/piecewise_checksum.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

/// Checksums of what an item reads or writes, by file and tensor.
using item_sums = std::map<std::pair<int, int>, piecewise_checksum>;

namespace detail {

struct journalled_sum {
  bool is_read = false;
  std::int64_t file = -1, tensor = -1;  ///< -1: no number
  std::uint64_t part = 0;
};
struct journalled_item {
  std::int64_t number = 0;
  std::vector<journalled_sum> sums;
};

inline std::string line_of_item(std::size_t number, const item_sums& read, const item_sums& written) {
  std::string line = "item " + std::to_string(number);
  const auto add = [&](const char* kind, const item_sums& all) {
    for (const auto& [place, sum] : all)
      line.append(kind)
          .append(std::to_string(place.first) + ":" + std::to_string(place.second) + ":")
          .append(hyperparallel::detail::checksum_text(sum.part()));
  };
  add(" r", read);
  add(" w", written);
  return line;
}

/// Nothing where the line is of something else.
inline std::optional<journalled_item> read_item(std::string_view line) {
  const auto word = [&] {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view w = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return w;
  };
  if (word() != "item") return {};
  const auto number = whole_number(word());
  if (!number) return {};
  journalled_item item{*number, {}};
  while (!line.empty()) {
    const std::string_view one = word();
    const std::size_t a = one.find(':'), b = one.find(':', a + 1);
    journalled_sum sum;
    sum.is_read = one[0] == 'r';
    sum.file = whole_number(one.substr(1, a - 1)).value_or(-1);
    sum.tensor = whole_number(one.substr(a + 1, b - a - 1)).value_or(-1);
    std::from_chars(one.data() + b + 1, one.data() + one.size(), sum.part, 16);
    item.sums.push_back(sum);
  }
  return item;
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard
