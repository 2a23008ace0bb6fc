// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that is there in full or not at all.
//
// Bytes go to a temporary file beside the target; `commit` makes them durable and renames it. Laws: before `commit` the
// target is what it was; after it the target holds every byte written; after an error, or when destroyed without
// `commit`, the temporary is gone. Everything that can be known early (a missing or unwritable directory, a target that
// is a directory or write-protected) is thrown by the constructor, so a long run does not fail at its end.
// A target that is no regular file (a pipe, /dev/null) cannot be replaced and is written directly.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel {

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
    if (exists && !S_ISREG(before.st_mode)) {
      file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (file_ < 0) throw io_error("write", path_, errno);
      return;
    }
    follow_links();
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
    if (!temporary_.empty() && ::fsync(file_) != 0) fail(errno);
    if (::close(std::exchange(file_, -1)) != 0) fail(errno);
    if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
  }

  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

  /// The file that a symbolic link leads to is the one to replace.
  void follow_links() {
    if (char* real = ::realpath(path_.c_str(), nullptr)) {
      target_ = real;
      std::free(real);
    }
  }

  void open_temporary() {
    const std::size_t slash = target_.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : target_.substr(0, slash + 1);
    int serial = 0;
    do {
      temporary_ = folder + "." + std::to_string(::getpid()) + "-" + std::to_string(serial++) + ".partial";
      file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    if (file_ >= 0) return;
    const int number = errno;
    temporary_.clear();
    throw io_error("write", path_, number);
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
