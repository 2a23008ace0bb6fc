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

namespace hyperparallel {

namespace detail {

/// Locks an open file for its writer alone; false when somebody else holds it or the file system knows no locks.
inline bool lock_file(int file, int how) {
  while (::flock(file, how) != 0)
    if (errno != EINTR) return false;
  return true;
}

/// Whether an open file has no name any more.
inline bool is_unlinked(int file) {
  struct stat now{};
  return ::fstat(file, &now) == 0 && now.st_nlink == 0;
}

/// The process that wrote `name`, when it is a temporary whose name begins with `prefix`; otherwise 0.
inline pid_t partial_writer(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(".partial")) return 0;
  name.remove_prefix(prefix.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  return error == std::errc{} && *end == '-' && process > 0 ? process : 0;
}

/// Removes `path` if nobody writes it. The lock is held meanwhile, so that a writer that has just made a file of that
/// name notices and makes another one.
inline void remove_unlocked(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  struct stat found{};
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && lock_file(file, LOCK_EX | LOCK_NB) && !is_unlinked(file))
    ::unlink(path.c_str());
  ::close(file);
}

/// Removes the temporaries in `folder` that begin with `prefix` and whose process has ended. What cannot be examined
/// stays: to tidy up is no reason to fail.
inline void remove_stale_partials(const std::string& folder, std::string_view prefix) {
  DIR* const names = ::opendir(folder.empty() ? "." : folder.c_str());
  if (names == nullptr) return;
  while (const dirent* found = ::readdir(names)) {
    const pid_t process = partial_writer(found->d_name, prefix);
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) remove_unlocked(folder + found->d_name);
  }
  ::closedir(names);
}

}  // namespace detail

class atomic_file {
 public:
  /// Opens the temporary. Throws io_error when `path` can never be written. The mode is that of a new file, or the
  /// replaced file's.
  explicit atomic_file(std::string path) : path_(std::move(path)), target_(path_) {
    if (path_.empty()) throw io_error("write", path_, ENOENT);
    struct stat before{};
    const bool exists = ::stat(path_.c_str(), &before) == 0;
    if (!exists && errno != ENOENT) throw io_error("write", path_, errno);
    if (!exists && path_.back() == '/') throw io_error("write", path_, EISDIR);
    if (exists && S_ISDIR(before.st_mode)) throw io_error("write", path_, EISDIR);
    if (exists && ::access(path_.c_str(), W_OK) != 0) throw io_error("write", path_, errno);
    if (!follow_links() || (exists && !S_ISREG(before.st_mode))) {
      file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
      if (file_ < 0) throw io_error("write", path_, errno);
      return;
    }
    if (target_.back() == '/') throw io_error("write", path_, EISDIR);
    open_temporary();
    if (exists && ::fchmod(file_, before.st_mode & 07777) != 0) fail(errno);
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() { discard(); }

  /// Appends. Throws io_error, and removes the temporary, when the bytes cannot be kept.
  void write(std::string_view text) {
    if (file_ < 0) throw io_error("write", path_, EBADF);
    if (buffer_.size() + text.size() < buffer_bytes) {
      buffer_ += text;
      return;
    }
    flush();
    if (text.size() < buffer_bytes)
      buffer_ = text;
    else
      put(text);
  }

  /// Makes the target what was written. Throws io_error, and removes the temporary, when that cannot be; call once.
  void commit() {
    if (file_ < 0) throw io_error("write", path_, EBADF);
    flush();
    if (temporary_.empty()) {
      if (::close(std::exchange(file_, -1)) != 0) fail(errno);
      return;
    }
    // Closed last: the lock guards the name until it is the target's, and after fsync nothing is left to go wrong.
    if (::fsync(file_) != 0 || std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
    ::close(std::exchange(file_, -1));
  }

  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

  /// The file that symbolic links lead to is the target, whether it is there or not. False for an open descriptor:
  /// what it leads to is no name that could be replaced. Domain: the links end, as `stat` has found.
  bool follow_links() {
    char text[PATH_MAX];
    for (;;) {
      const ssize_t length = ::readlink(target_.c_str(), text, sizeof text);
      if (length < 0) return true;
      if (target_.starts_with("/proc/")) return false;
      const std::string_view next(text, static_cast<std::size_t>(length));
      if (next.starts_with('/')) target_.clear();
      target_.resize(target_.rfind('/') + 1);
      target_ += next;
    }
  }

  void open_temporary() {
    const std::size_t name = target_.rfind('/') + 1;  // 0 where there is no slash
    const std::string folder = target_.substr(0, name);
    const std::string prefix = "." + checksum_text(checksum_of(target_.substr(name))) + "-";
    detail::remove_stale_partials(folder, prefix);
    for (int serial = 0;; ++serial) {
      temporary_ = folder + prefix + std::to_string(::getpid()) + "-" + std::to_string(serial) + ".partial";
      file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && errno == EEXIST) continue;
      if (file_ < 0) break;
      detail::lock_file(file_, LOCK_EX);
      if (!detail::is_unlinked(file_)) return;
      ::close(std::exchange(file_, -1));  // taken for a stale one before it was locked
    }
    const int number = errno;
    temporary_.clear();
    throw io_error("write", target_, number);
  }

  void flush() {
    put(buffer_);
    buffer_.clear();
  }

  void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  [[noreturn]] void fail(int number) {
    discard();
    throw io_error("write", path_, number);
  }

  void discard() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  std::string path_;       ///< as the caller named it
  std::string target_;     ///< what will be replaced
  std::string temporary_;  ///< empty: the target is written directly, or nothing is left to remove
  std::string buffer_;
  int file_ = -1;
};

}  // namespace hyperparallel
