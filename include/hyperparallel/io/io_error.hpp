// SPDX-License-Identifier: Apache-2.0
#pragma once
// What reading and writing throw: one line that names the deed, the path and the reason,
//
//   cannot read 'input.txt': No such file or directory
//
// Law: what() holds no line break, whatever bytes the path is made of.

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace hyperparallel {

/// The path between quotes, each control character shown as '?'.
inline std::string quoted_path(std::string_view path) {
  std::string text = "'";
  for (const char c : path) text += static_cast<unsigned char>(c) < 0x20 || c == '\x7f' ? '?' : c;
  return text + "'";
}

struct io_error : std::runtime_error {
  std::string path;
  int number;  ///< errno; 0 where the operating system had no complaint

  /// `deed` is what failed, as in "read"; `reason` is the rest of the line.
  io_error(const char* deed, std::string path_, const std::string& reason, int number_ = 0)
      : std::runtime_error("cannot " + std::string(deed) + " " + quoted_path(path_) + ": " + reason),
        path(std::move(path_)),
        number(number_) {}

  /// The reason in the operating system's words.
  io_error(const char* deed, std::string path_, int number_)
      : io_error(deed, std::move(path_), std::generic_category().message(number_), number_) {}
};

}  // namespace hyperparallel
