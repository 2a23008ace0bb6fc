// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that a user names for output, see io/atomic_file.hpp.

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <hyperparallel/io/atomic_file.hpp>

#include "refusals.hpp"

namespace hp_tool {

/// An option that names a file for output, and the file; empty: none.
using named_output = std::pair<std::string, std::string>;

/// What a file for output at `path` would replace, however it is spelt and through whatever links; empty of a pipe or device,
/// which takes what comes one after the other.
inline std::filesystem::path replaced_by(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) return {};
  fs::path target = path;
  constexpr int most_links = 40;
  for (int links = 0; links < most_links && fs::is_symlink(fs::symlink_status(target, error)); ++links)
    target = target.parent_path() / fs::read_symlink(target, error);
  const fs::path whole = fs::weakly_canonical(fs::absolute(target, error), error);
  return error ? target : whole;
}

/// Refuses outputs of which one would replace another, or an input, which without --force is refused as what exists.
inline void hold_apart(const std::vector<named_output>& outputs, const std::vector<std::string>& inputs, bool force) {
  std::error_code ignored;
  std::vector<std::filesystem::path> target;
  for (const auto& [option, path] : outputs) {
    target.push_back(path.empty() ? std::filesystem::path() : replaced_by(path));
    if (target.back().empty()) continue;
    for (std::size_t other = 0; other + 1 < target.size(); ++other)
      if (target[other] == target.back()) throw bad_input(outputs[other].first + " and " + option + " name one file");
    for (const std::string& input : inputs)
      if (force && std::filesystem::is_regular_file(input, ignored) && replaced_by(input) == target.back())
        throw bad_input(option + " names " + hyperparallel::quoted_path(input) + ", which is read");
  }
}

/// Says on the error stream, since the output may be a document, what was written.
inline void say_written(const hyperparallel::atomic_file& file) {
  std::fprintf(stderr, "wrote %s\n", hyperparallel::quoted_path(file.path()).c_str());
}

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
