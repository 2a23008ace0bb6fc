// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading a whole file, with an answer for everything a path can turn out to be: missing, a directory, not readable,
// empty where there must be something, endless.
//
// Law: the result holds every byte of the file in order, or an io_error says on one line why not. Pipes and terminals
// are read to their end like files.

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class empty_file : unsigned char { allowed, refused };

struct read_options {
  empty_file empty = empty_file::allowed;
  std::int64_t largest = std::int64_t{1} << 30;  ///< bytes; a longer file is refused, so that an endless one ends
};

namespace detail {

/// A descriptor that closes itself.
struct open_file {
  int number;
  ~open_file() { ::close(number); }
};

/// Bytes asked of the operating system in one call.
inline constexpr std::int64_t read_step = std::int64_t{1} << 16;

}  // namespace detail

/// All bytes of `path`. Throws io_error when the file cannot be opened or read, is a directory, is larger than
/// `options.largest`, or is empty where that is refused. O(bytes).
std::vector<unsigned char> read_bytes(const std::string& path, const read_options& options = {});

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/io/text_file.ipp>
#endif
