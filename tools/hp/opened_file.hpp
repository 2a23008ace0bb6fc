// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that a user names for output, see io/atomic_file.hpp.

#include <filesystem>
#include <string>
#include <system_error>

#include <hyperparallel/io/atomic_file.hpp>

#include "subcommand.hpp"

namespace hp_tool {

/// Opens the file at `path`: what is wrong with the path is bad input.
inline hyperparallel::atomic_file opened(const std::string& path, bool force) {
  std::error_code ignored;
  if (!force && std::filesystem::is_regular_file(path, ignored))
    throw bad_input(hyperparallel::quoted_path(path) + " exists; --force overwrites it");
  try {
    return hyperparallel::atomic_file(path);
  } catch (const hyperparallel::io_error& e) {
    throw bad_input(e.what());
  }
}

}  // namespace hp_tool
