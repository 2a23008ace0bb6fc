// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of files that is there in full or not at all, and whose making goes on where it was stopped.
//
//   .NAME.reshard/          beside the target NAME, locked by its writer
//     journal               what is done, a line each
//     set/                  the files
//
// Laws: the target appears by one rename, when every byte is durable; what is there is never overwritten. A writer that is killed leaves
// the folder, and the next one of the same plan goes on from the journal; one of another plan is refused by name. What a machine's loss
// of power took is made again: the journal counts for the boot that wrote it. Two writers of one target: the second is refused.
// Errors: io_error of one line.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/io/io_error.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

/// Makes the names in a folder durable, where the file system can.
void sync_folder(const std::string& path);

}  // namespace detail

class partial_set {
 public:
  /// Makes the folder, or goes on with one of the same `plan`, which is a text that no other plan has.
  partial_set(std::string target, const std::string& plan, bool is_file);
  partial_set(const partial_set&) = delete;
  partial_set& operator=(const partial_set&) = delete;
  ~partial_set() { close_all(); }

  /// Lines that were kept, in order.
  const std::vector<std::string>& done() const { return done_; }
  std::string path_of(const std::string& name) const { return folder_ + "/set/" + name; }

  /// Bytes that the file system has left.
  std::int64_t free_bytes() const;

  /// Keeps a line without line breaks; after that what it says is done holds for the next writer. Not for several threads at once.
  void keep(const std::string& line);

  /// Makes the target of what is in the folder. Precondition: the files are closed or durable.
  void finish();

 private:
  void refuse_target() const;

  static std::string boot();

  void open_journal(const std::string& plan);

  void close_all();

  std::string target_, folder_;
  bool is_file_;
  int lock_ = -1, journal_ = -1;
  std::vector<std::string> done_;
};

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/partial_set.ipp>
#endif
