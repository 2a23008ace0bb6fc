// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of io_error.hpp; see support/compiled.hpp.

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::string quoted_path(std::string_view path) {
  std::string text = "'";
  for (const char c : path) text += static_cast<unsigned char>(c) < 0x20 || c == '\x7f' ? '?' : c;
  return text + "'";
}

HYPERPARALLEL_BODY io_error::io_error(const char* deed, std::string path_, const std::string& reason, int number_)
    : std::runtime_error("cannot " + std::string(deed) + " " + quoted_path(path_) + ": " + reason),
      path(std::move(path_)),
      number(number_) {}

HYPERPARALLEL_BODY io_error::io_error(const char* deed, std::string path_, int number_)
    : io_error(deed, std::move(path_), std::generic_category().message(number_), number_) {}

}}  // namespace hyperparallel::v0_2
