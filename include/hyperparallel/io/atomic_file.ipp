// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of atomic_file.hpp; see support/compiled.hpp.

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY bool lock_file(int file, int how) {
  while (::flock(file, how) != 0)
    if (errno != EINTR) return false;
  return true;
}

HYPERPARALLEL_BODY bool is_unlinked(int file) {
  struct stat now{};
  return ::fstat(file, &now) == 0 && now.st_nlink == 0;
}

HYPERPARALLEL_BODY pid_t partial_writer(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(".partial")) return 0;
  name.remove_prefix(prefix.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  return error == std::errc{} && *end == '-' && process > 0 ? process : 0;
}

HYPERPARALLEL_BODY void remove_unlocked(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  struct stat found{};
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && lock_file(file, LOCK_EX | LOCK_NB) && !is_unlinked(file))
    ::unlink(path.c_str());
  ::close(file);
}

HYPERPARALLEL_BODY void remove_stale_partials(const std::string& folder, std::string_view prefix) {
  DIR* const names = ::opendir(folder.empty() ? "." : folder.c_str());
  if (names == nullptr) return;
  while (const dirent* found = ::readdir(names)) {
    const pid_t process = partial_writer(found->d_name, prefix);
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) remove_unlocked(folder + found->d_name);
  }
  ::closedir(names);
}

}  // namespace detail

HYPERPARALLEL_BODY atomic_file::atomic_file(std::string path) : path_(std::move(path)), target_(path_) {
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

HYPERPARALLEL_BODY void atomic_file::write(std::string_view text) {
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

HYPERPARALLEL_BODY void atomic_file::commit() {
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

HYPERPARALLEL_BODY bool atomic_file::follow_links() {
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

HYPERPARALLEL_BODY void atomic_file::open_temporary() {
  const std::size_t name = target_.rfind('/') + 1;  // 0 where there is no slash
  const std::string folder = target_.substr(0, name);
  const std::string prefix =
      std::string(1, '.') + detail::checksum_text(detail::checksum_of(target_.substr(name))) + "-";
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

HYPERPARALLEL_BODY void atomic_file::flush() {
  put(buffer_);
  buffer_.clear();
}

HYPERPARALLEL_BODY void atomic_file::put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] HYPERPARALLEL_BODY void atomic_file::fail(int number) {
  discard();
  throw io_error("write", path_, number);
}

HYPERPARALLEL_BODY void atomic_file::discard() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

}}  // namespace hyperparallel::v0_2
