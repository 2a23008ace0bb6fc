// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last word of a program that prints: what cannot be written, to a full disk say, is a failure and no silence.

#include <cerrno>
#include <cstdio>
#include <cstring>

/// The exit status of a program that ends with `status`: 1, after one line on the error stream, where standard output
/// has not taken everything that was printed.
inline int finished(const char* program, int status = 0) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "%s: cannot write to standard output%s%s\n", program, errno != 0 ? ": " : "",
               errno != 0 ? std::strerror(errno) : "");
  return status == 0 ? 1 : status;
}
