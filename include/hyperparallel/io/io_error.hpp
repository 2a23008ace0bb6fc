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

namespace hyperparallel { inline namespace v0_2 {

/// The path between quotes, each control character shown as '?'.
std::string quoted_path(std::string_view path);

struct io_error : std::runtime_error {
  std::string path;
  int number;  ///< errno; 0 where the operating system had no complaint

  /// `deed` is what failed, as in "read"; `reason` is the rest of the line.
  io_error(const char* deed, std::string path_, const std::string& reason, int number_ = 0);

  /// The reason in the operating system's words.
  io_error(const char* deed, std::string path_, int number_);
};

/// A file that may be right and says what the library does not know: an architecture, a field, a value of a field.
struct unsupported_model : io_error {
  using io_error::io_error;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/io/io_error.ipp>
#endif
