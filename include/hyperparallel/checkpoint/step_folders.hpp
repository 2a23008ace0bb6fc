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

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

class step_folders {
 public:
  explicit step_folders(std::string folder);
  step_folders(const step_folders&) = delete;
  step_folders& operator=(const step_folders&) = delete;
  ~step_folders();

  const std::string& path() const { return folder_; }
  std::string path_of(std::int64_t step) const { return folder_ + "/" + name_of_step(step); }
  std::string partial_path(std::int64_t step) const { return folder_ + "/." + name_of_step(step) + ".partial"; }

  /// Steps whose sets have a manifest, rising. None where there is no folder or a file. Throws io_error where it cannot be read.
  std::vector<std::int64_t> steps() const;

  /// The step that was kept last, or else the latest; -1 where there is none.
  std::int64_t newest() const;

  /// Makes the folder, in one that is there, and holds its lock from here on.
  void open();

  /// Makes an empty hidden folder for a set, and removes what others left that were killed.
  void begin(std::int64_t step);

  /// Writes the manifest and makes the hidden folder the set of the step; then keeps the last `keep` sets alone. Precondition: every
  /// file of the set is durable.
  void commit(std::int64_t step, const std::string& manifest, int keep);

  /// Removes what was begun.
  void discard(std::int64_t step) noexcept;

 private:
  static std::string name_of_step(std::int64_t step);

  static void place(const std::string& partial, const std::string& target);

  /// Hides a set, so that it is gone whole before its files are.
  static void retire(const std::string& path);

  /// Removes hidden folders of sets. To tidy up is no reason to fail.
  void remove_hidden() const;

  std::string folder_;
  int lock_ = -1;
};

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/step_folders.ipp>
#endif
