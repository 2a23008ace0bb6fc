// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file of which a part is printed by the tool: what stands between two marks is replaced.

#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/text_file.hpp>

#include "../opened_file.hpp"

namespace truth {

/// Replaces what is behind `begin` and before the next `end`. Throws bad_input where the file cannot be read or written, or lacks the marks; the
/// message then says that it has no `part`.
inline void print_into(const std::string& option, const std::string& path, std::string_view begin, std::string_view end,
                       const std::string& fresh, const std::string& part) {
  std::string text;
  try {
    const std::vector<unsigned char> bytes = hp::read_bytes(path, {hp::empty_file::refused, std::int64_t{1} << 20});
    text.assign(bytes.begin(), bytes.end());
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
  const std::size_t at = text.find(begin);
  const std::size_t first = at == std::string::npos ? at : at + begin.size();
  const std::size_t last = first == std::string::npos ? first : text.find(end, first);
  if (last == std::string::npos) throw hp_tool::bad_input(option + ": " + hp::quoted_path(path) + " has no " + part);
  hp::atomic_file file = hp_tool::opened(path, true);
  file.write(text.replace(first, last - first, fresh));
  file.commit();
}

}  // namespace truth
