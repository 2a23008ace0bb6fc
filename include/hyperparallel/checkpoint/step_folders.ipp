// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of step_folders.hpp; see support/compiled.hpp.

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/checkpoint/partial_set.hpp>
#include <hyperparallel/checkpoint/set_file.hpp>
#include <hyperparallel/checkpoint/step_folders.hpp>
#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

HYPERPARALLEL_JSON_BODY step_folders::step_folders(std::string folder) : folder_(std::move(folder)) {
  while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
  if (folder_.empty()) folder_ = ".";
}

HYPERPARALLEL_JSON_BODY step_folders::~step_folders() {
  if (lock_ >= 0) ::close(lock_);
}

HYPERPARALLEL_JSON_BODY std::vector<std::int64_t> step_folders::steps() const {
  std::vector<std::int64_t> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("step_")) continue;
    const std::size_t digit = std::min(name.find_first_not_of('0', 5), name.size() - 1);
    const auto step = detail::whole_number(std::string_view(name).substr(digit));
    std::error_code ignored;
    if (step && name == name_of_step(*step) && std::filesystem::exists(at->path() / detail::set_manifest, ignored))
      all.push_back(*step);
  }
  if (error && error.value() != ENOENT && error.value() != ENOTDIR) throw io_error("read", folder_, error.value());
  std::sort(all.begin(), all.end());
  return all;
}

HYPERPARALLEL_JSON_BODY std::int64_t step_folders::newest() const {
  const std::vector<std::int64_t> all = steps();
  if (all.empty()) return -1;
  std::ifstream file(folder_ + "/newest");
  std::string digits;
  file >> digits;
  const auto step = digits.empty() ? std::nullopt : detail::whole_number(digits);
  return step && std::binary_search(all.begin(), all.end(), *step) ? *step : all.back();
}

HYPERPARALLEL_JSON_BODY void step_folders::open() {
  if (lock_ < 0) {
    if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) throw io_error("write", folder_, errno);
    const int lock = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) throw io_error("write", folder_, errno);
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
      ::close(lock);
      throw io_error("write", folder_, "another process writes its sets");
    }
    lock_ = lock;
  }
  if (::faccessat(AT_FDCWD, folder_.c_str(), W_OK, AT_EACCESS) != 0) throw io_error("write", folder_, errno);
}

HYPERPARALLEL_JSON_BODY void step_folders::begin(std::int64_t step) {
  namespace fs = std::filesystem;
  std::error_code error;
  open();
  remove_hidden();
  fs::create_directory(partial_path(step), error);
  if (error) throw io_error("write", partial_path(step), error.value());
}

HYPERPARALLEL_JSON_BODY void step_folders::commit(std::int64_t step, const std::string& manifest, int keep) {
  const std::string partial = partial_path(step), target = path_of(step);
  {
    atomic_file file(partial + "/" + detail::set_manifest);
    file.write(manifest);
    file.commit();
  }
  detail::sync_folder(partial);
  place(partial, target);
  detail::sync_folder(folder_);
  {
    atomic_file file(folder_ + "/newest");
    file.write(std::to_string(step) + "\n");
    file.commit();
  }
  std::vector<std::int64_t> all = steps();
  std::rotate(all.begin(), std::upper_bound(all.begin(), all.end(), step), all.end());
  for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(1, keep)) < all.size(); ++i) retire(path_of(all[i]));
  remove_hidden();
}

HYPERPARALLEL_JSON_BODY void step_folders::discard(std::int64_t step) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(partial_path(step), ignored);
}

HYPERPARALLEL_JSON_BODY std::string step_folders::name_of_step(std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, digits.size() < 12 ? 12 - digits.size() : 0, '0');
  return "step_" + digits;
}

HYPERPARALLEL_JSON_BODY void step_folders::place(const std::string& partial, const std::string& target) {
  if (::rename(partial.c_str(), target.c_str()) == 0) return;
  if (errno != ENOTEMPTY && errno != EEXIST) throw io_error("write", target, errno);
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw io_error("write", target, errno);
  retire(target);  // a file system without an exchange
  if (::rename(partial.c_str(), target.c_str()) != 0) throw io_error("write", target, errno);
}

HYPERPARALLEL_JSON_BODY void step_folders::retire(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path at(path);
  const std::string hidden = (at.parent_path() / ("." + at.filename().string() + ".old")).string();
  std::error_code ignored;
  fs::remove_all(hidden, ignored);
  if (::rename(path.c_str(), hidden.c_str()) != 0) throw io_error("remove", path, errno);
}

HYPERPARALLEL_JSON_BODY void step_folders::remove_hidden() const {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(".step_") && (name.ends_with(".partial") || name.ends_with(".old"))) old.push_back(at->path());
  }
  for (const fs::path& p : old) fs::remove_all(p, error);
}

}}}  // namespace hyperparallel::v0_2::reshard
