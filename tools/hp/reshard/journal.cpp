// SPDX-License-Identifier: Apache-2.0
// The body of journal.hpp.

#include "journal.hpp"

#include <algorithm>
#include <charconv>

#include <hyperparallel/io/checksum.hpp>

namespace hp_tool::reshard {

std::string line_of_item(std::size_t number, const item_sums& read, const item_sums& written) {
  std::string line = "item " + std::to_string(number);
  const auto add = [&](const char* kind, const item_sums& all) {
    for (const auto& [place, sum] : all)
      line.append(kind)
          .append(std::to_string(place.first) + ":" + std::to_string(place.second) + ":")
          .append(hp::detail::checksum_text(sum.part()));
  };
  add(" r", read);
  add(" w", written);
  return line;
}

std::optional<journalled_item> read_item(std::string_view line) {
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

}  // namespace hp_tool::reshard
