// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder of sets, one for each step of a run that was kept.
//
//   runs/step_000000000100/     a set: files of ranks, hyperparallel_set.json
//   runs/step_000000000200/
//   runs/.step_000000000300.partial/     being written
//   runs/newest                 the number of the step that was kept last
//
// A set is written in a hidden folder, its manifest last, and appears by one rename when every byte is durable. One process at a time
// writes: it holds a lock on the folder from its first set on. What a killed writer left is removed by the next.
//
// Laws: a folder with the name of a step holds a whole set, at every moment; where a step is written again, the old set counts until the
// new one takes its place, in one exchange. The last sets that were kept stay: first those go whose steps are later than the one that is
// kept, as a run has that began anew, then those of earlier ones. Errors: io_error of one line, nothing lost. O(entries of the folder) a set.

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/checkpoint/partial_set.hpp>
#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

class step_folders {
 public:
  explicit step_folders(std::string folder) : folder_(std::move(folder)) {
    while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
    if (folder_.empty()) folder_ = ".";
  }
  step_folders(const step_folders&) = delete;
  step_folders& operator=(const step_folders&) = delete;
  ~step_folders() {
    if (lock_ >= 0) ::close(lock_);
  }

  const std::string& path() const { return folder_; }
  std::string path_of(std::int64_t step) const { return folder_ + "/" + name_of_step(step); }
  std::string partial_path(std::int64_t step) const { return folder_ + "/." + name_of_step(step) + ".partial"; }

  /// Steps whose sets have a manifest, rising. None where there is no folder or a file. Throws io_error where it cannot be read.
  std::vector<std::int64_t> steps() const {
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

  /// The step that was kept last, or else the latest; -1 where there is none.
  std::int64_t newest() const {
    const std::vector<std::int64_t> all = steps();
    if (all.empty()) return -1;
    std::ifstream file(folder_ + "/newest");
    std::string digits;
    file >> digits;
    const auto step = digits.empty() ? std::nullopt : detail::whole_number(digits);
    return step && std::binary_search(all.begin(), all.end(), *step) ? *step : all.back();
  }

  /// Makes the folder, in one that is there, and holds its lock from here on.
  void open() {
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

  /// Makes an empty hidden folder for a set, and removes what others left that were killed.
  void begin(std::int64_t step) {
    namespace fs = std::filesystem;
    std::error_code error;
    open();
    remove_hidden();
    fs::create_directory(partial_path(step), error);
    if (error) throw io_error("write", partial_path(step), error.value());
  }

  /// Writes the manifest and makes the hidden folder the set of the step; then keeps the last `keep` sets alone. Precondition: every
  /// file of the set is durable.
  void commit(std::int64_t step, const std::string& manifest, int keep) {
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

  /// Removes what was begun.
  void discard(std::int64_t step) noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(partial_path(step), ignored);
  }

 private:
  static std::string name_of_step(std::int64_t step) {
    std::string digits = std::to_string(step);
    digits.insert(0, digits.size() < 12 ? 12 - digits.size() : 0, '0');
    return "step_" + digits;
  }

  static void place(const std::string& partial, const std::string& target) {
    if (::rename(partial.c_str(), target.c_str()) == 0) return;
    if (errno != ENOTEMPTY && errno != EEXIST) throw io_error("write", target, errno);
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) throw io_error("write", target, errno);
    retire(target);  // a file system without an exchange
    if (::rename(partial.c_str(), target.c_str()) != 0) throw io_error("write", target, errno);
  }

  /// Hides a set, so that it is gone whole before its files are.
  static void retire(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path at(path);
    const std::string hidden = (at.parent_path() / ("." + at.filename().string() + ".old")).string();
    std::error_code ignored;
    fs::remove_all(hidden, ignored);
    if (::rename(path.c_str(), hidden.c_str()) != 0) throw io_error("remove", path, errno);
  }

  /// Removes hidden folders of sets. To tidy up is no reason to fail.
  void remove_hidden() const {
    namespace fs = std::filesystem;
    std::error_code error;
    std::vector<fs::path> old;
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with(".step_") && (name.ends_with(".partial") || name.ends_with(".old")))
        old.push_back(at->path());
    }
    for (const fs::path& p : old) fs::remove_all(p, error);
  }

  std::string folder_;
  int lock_ = -1;
};

}}}  // namespace hyperparallel::v0_2::reshard
