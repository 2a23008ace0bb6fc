// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that a run writes, with their headers and checksums, in a partial set.
//
// Laws: a file has its size from the beginning, its header at the end; the checksum of a tensor is that of its bytes, whatever order they
// were written in. Errors: io_error of one line. O(bytes).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/partial_set.hpp>

#include "piecewise_checksum.hpp"

namespace hp_tool::reshard {

/// A text file beside the tensors: an index, a manifest.
struct side_file {
  std::string name, text;
};

class target_files {
 public:
  target_files(const std::vector<set_file>& files, const partial_set& partial);
  target_files(const target_files&) = delete;
  target_files& operator=(const target_files&) = delete;
  ~target_files() { close_all(); }
  int number(int file) const { return open_[static_cast<std::size_t>(file)]; }
  std::string path(int file) const { return partial_.path_of(files_[static_cast<std::size_t>(file)].name); }
  const tensor_entry& entry(int file, int tensor) const;

  /// The byte of the file at which a tensor begins.
  std::int64_t begin(int file, int tensor) const;

  /// The checksum of a tensor is made by reading it when all is written, as its runs are short.
  void read_again(int file, int tensor);
  bool is_read_again(int file, int tensor) const;

  /// Adds what was written. False where there is no such tensor.
  bool combine(std::int64_t file, std::int64_t tensor, std::uint64_t part) { return sums_.combine(file, tensor, part); }

  /// Writes headers with checksums, and texts beside them; all of it is durable then.
  void finish(const std::vector<side_file>& beside);

 private:
  static std::string header_text(const set_file& f, const std::vector<std::uint64_t>& checksums,
                                 const std::string& path);
  void open_all();
  std::uint64_t value_of(std::size_t f, std::size_t t) const;
  void write_side(const side_file& s) const;
  void close_all();
  const std::vector<set_file>& files_;
  const partial_set& partial_;
  std::vector<int> open_;
  std::vector<std::int64_t> data_;  ///< where the tensors of each file begin
  set_checksums sums_;
  std::vector<std::vector<bool>> is_read_again_;
};

}  // namespace hp_tool::reshard
