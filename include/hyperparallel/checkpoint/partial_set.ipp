// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of partial_set.hpp; see support/compiled.hpp.

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/partial_set.hpp>
#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

HYPERPARALLEL_JSON_BODY void sync_folder(const std::string& path) {
  const int file = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace detail

HYPERPARALLEL_JSON_BODY partial_set::partial_set(std::string target, const std::string& plan, bool is_file)
    : target_(std::move(target)), is_file_(is_file) {
  namespace fs = std::filesystem;
  while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
  const fs::path path(target_);
  const fs::path parent = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  if (path.filename().empty() || path.filename() == "." || path.filename() == "..")
    throw io_error("write", target_, "it names no new folder or file");
  folder_ = (parent / ("." + path.filename().string() + ".reshard")).string();
  refuse_target();
  for (;;) {
    if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) throw io_error("write", target_, errno);
    lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (lock_ < 0 && errno == ENOENT) continue;
    if (lock_ < 0) throw io_error("write", folder_, errno);
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      ::close(lock_);
      throw io_error("write", target_, "another process writes it (" + quoted_path(folder_) + " is locked)");
    }
    struct stat held{}, named{};
    if (::fstat(lock_, &held) == 0 && ::stat(folder_.c_str(), &named) == 0 && held.st_ino == named.st_ino) break;
    ::close(lock_);  // finished by its writer meanwhile
  }
  try {
    refuse_target();
    open_journal(plan);
  } catch (...) {
    ::rmdir(folder_.c_str());  // where it is new and empty
    close_all();
    throw;
  }
}

HYPERPARALLEL_JSON_BODY std::int64_t partial_set::free_bytes() const {
  struct statvfs found{};
  if (::fstatvfs(lock_, &found) != 0) return INT64_MAX;
  return static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_frsize);
}

HYPERPARALLEL_JSON_BODY void partial_set::keep(const std::string& line) {
  std::string text = line + " " + hyperparallel::detail::checksum_text(hyperparallel::detail::checksum_of(line)) + "\n";
  for (std::string_view left = text; !left.empty();) {
    const ssize_t n = ::write(journal_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw io_error("write", folder_ + "/journal", errno);
    left.remove_prefix(static_cast<std::size_t>(n));
  }
}

HYPERPARALLEL_JSON_BODY void partial_set::finish() {
  const std::string made = is_file_ ? path_of("model.safetensors") : folder_ + "/set";
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) throw io_error("write", target_, errno);
    refuse_target();  // a file system without such a rename
    if (::rename(made.c_str(), target_.c_str()) != 0) throw io_error("write", target_, errno);
  }
  detail::sync_folder(std::filesystem::path(folder_).parent_path().string());
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

HYPERPARALLEL_JSON_BODY void partial_set::refuse_target() const {
  struct stat found{};
  if (::lstat(target_.c_str(), &found) == 0)
    throw io_error("write", target_, "it is there already, and nothing is overwritten");
  if (errno != ENOENT) throw io_error("write", target_, errno);
}

HYPERPARALLEL_JSON_BODY std::string partial_set::boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id.empty() ? "unknown" : id;
}

HYPERPARALLEL_JSON_BODY void partial_set::open_journal(const std::string& plan) {
  const std::string path = folder_ + "/journal", first = "hp reshard 1 " + plan, second = "boot " + boot();
  journal_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (journal_ < 0) throw io_error("write", path, errno);
  const std::vector<unsigned char> bytes = read_bytes(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t good = 0;
  std::vector<std::string> lines;
  for (std::size_t end; (end = text.find('\n', good)) != std::string_view::npos; good = end + 1) {
    const std::string_view line = text.substr(good, end - good);
    if (line.size() < 17 ||
        line.substr(line.size() - 16) !=
            hyperparallel::detail::checksum_text(hyperparallel::detail::checksum_of(line.substr(0, line.size() - 17))))
      break;
    lines.emplace_back(line.substr(0, line.size() - 17));
  }
  if (!lines.empty() && lines[0] != first)
    throw io_error("write", target_,
                   quoted_path(folder_) + " holds the beginning of another conversion; remove it to begin this one");
  const bool goes_on = lines.size() >= 2 && lines[1] == second;
  if (::ftruncate(journal_, static_cast<off_t>(goes_on ? good : 0)) != 0) throw io_error("write", path, errno);
  if (goes_on) {
    done_.assign(lines.begin() + 2, lines.end());
    return;
  }
  std::error_code error;
  std::filesystem::remove_all(folder_ + "/set", error);
  std::filesystem::create_directories(folder_ + "/set", error);
  if (error) throw io_error("write", folder_ + "/set", error.value());
  keep(first);
  keep(second);
}

HYPERPARALLEL_JSON_BODY void partial_set::close_all() {
  if (journal_ >= 0) ::close(std::exchange(journal_, -1));
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
}

}}}  // namespace hyperparallel::v0_2::reshard
