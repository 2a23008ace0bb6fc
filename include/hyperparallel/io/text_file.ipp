// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of text_file.hpp; see support/compiled.hpp.

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::vector<unsigned char> read_bytes(const std::string& path, const read_options& options) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) throw io_error("read", path, errno);
  const detail::open_file file{number};
  std::vector<unsigned char> bytes;
  std::int64_t size = 0;
  for (;;) {
    bytes.resize(static_cast<std::size_t>(size + detail::read_step));
    const ssize_t got = ::read(file.number, bytes.data() + size, static_cast<std::size_t>(detail::read_step));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error("read", path, errno);
    if (got == 0) break;
    size += got;
    if (size > options.largest)
      throw io_error("read", path, "the file is larger than " + std::to_string(options.largest) + " bytes");
  }
  if (size == 0 && options.empty == empty_file::refused) throw io_error("read", path, "the file is empty");
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

}}  // namespace hyperparallel::v0_2
