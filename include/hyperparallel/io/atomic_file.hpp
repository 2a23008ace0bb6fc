// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that is there in full or not at all.
//
// Bytes go to a temporary file beside the target; `commit` makes them durable and renames it. Laws: before `commit` the
// target is what it was; after it the target holds every byte written; after an error, or when destroyed without
// `commit`, the temporary is gone. Everything that can be known early (a missing or unwritable directory, a target that
// is a directory or write-protected) is thrown by the constructor, so a long run does not fail at its end.
//
// What `path` may be:
//   nothing yet                    made
//   a regular file                 replaced, its mode kept; a file without permission to write is refused
//   a link to one of these         the file that it leads to is made or replaced, the link stays; links of links too
//   a link that leads nowhere      made where it leads, if the folder is there
//   a directory, a link to one     refused, as is a circle of links
//   a pipe, a device, /dev/stdout  written directly: it cannot be replaced; a pipe without a reader waits for one
// Other names of the same file (hard links) keep what it was.
//
// A process that is killed leaves its temporary behind; the next writer of the same target removes it. Its name,
// .CHECKSUM-PROCESS-SERIAL.partial, tells the target and the process, and its writer holds a lock on it: what belongs
// to another target, to a process that lives, or to a lock that somebody holds (a process of another machine or
// container that shares the folder) stays. O(files in the folder) per writer.

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Locks an open file for its writer alone; false when somebody else holds it or the file system knows no locks.
bool lock_file(int file, int how);

/// Whether an open file has no name any more.
bool is_unlinked(int file);

/// The process that wrote `name`, when it is a temporary whose name begins with `prefix`; otherwise 0.
pid_t partial_writer(std::string_view name, std::string_view prefix);

/// Removes `path` if nobody writes it. The lock is held meanwhile, so that a writer that has just made a file of that
/// name notices and makes another one.
void remove_unlocked(const std::string& path);

/// Removes the temporaries in `folder` that begin with `prefix` and whose process has ended. What cannot be examined
/// stays: to tidy up is no reason to fail.
void remove_stale_partials(const std::string& folder, std::string_view prefix);

}  // namespace detail

class atomic_file {
 public:
  /// Opens the temporary. Throws io_error when `path` can never be written. The mode is that of a new file, or the
  /// replaced file's.
  explicit atomic_file(std::string path);
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() { discard(); }

  /// Appends. Throws io_error, and removes the temporary, when the bytes cannot be kept.
  void write(std::string_view text);

  /// Makes the target what was written. Throws io_error, and removes the temporary, when that cannot be; call once.
  void commit();

  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

  /// The file that symbolic links lead to is the target, whether it is there or not. False for an open descriptor:
  /// what it leads to is no name that could be replaced. Domain: the links end, as `stat` has found.
  bool follow_links();

  void open_temporary();

  void flush();

  void put(std::string_view text);

  [[noreturn]] void fail(int number);

  void discard() noexcept;

  std::string path_;       ///< as the caller named it
  std::string target_;     ///< what will be replaced
  std::string temporary_;  ///< empty: the target is written directly, or nothing is left to remove
  std::string buffer_;
  int file_ = -1;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/io/atomic_file.ipp>
#endif
