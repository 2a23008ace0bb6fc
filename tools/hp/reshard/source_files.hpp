// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that a run reads, and the checksums of what it has read of them.
//
// Where a file has checksums and a run reads each byte of a tensor once, in runs that are not short, what was read is held against them.
// Laws: damage of a tensor that is held is named before the target appears. Errors: io_error of one line. O(bytes).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "journal.hpp"
#include "piecewise_checksum.hpp"
#include "work.hpp"

namespace hp_tool::reshard {

/// At least so many bytes of a buffer.
std::byte* room(std::vector<std::byte>& buffer, std::int64_t bytes);

class source_files {
 public:
  source_files(const std::vector<set_file>& files, const reshard_plan& plan, const std::vector<tensor_work>& works);
  source_files(const source_files&) = delete;
  source_files& operator=(const source_files&) = delete;
  ~source_files() { close_all(); }
  int number(int file) const { return open_[static_cast<std::size_t>(file)]; }
  const std::string& path(int file) const { return files_[static_cast<std::size_t>(file)].path; }
  const tensor_entry& entry(int file, int tensor) const;
  std::int64_t begin(int file, int tensor) const;
  bool is_held(int file, int tensor) const;

  /// Adds what was read. False where there is no such tensor.
  bool combine(std::int64_t file, std::int64_t tensor, std::uint64_t part) { return sums_.combine(file, tensor, part); }

  /// Reads a box of a tensor that lies in these boxes into `memory`, packed; runs that lie apart there go through `between`. Checksums
  /// of what is read go to `sums`.
  std::byte* read_boxes(const std::vector<file_box>& sources, std::string_view dtype, const index_box& box,
                        std::vector<std::byte>& memory, std::vector<std::byte>& between, item_sums* sums) const;

  /// Throws io_error where a tensor that is held is damaged. Precondition: all is read.
  void check() const;

 private:
  static void allow_many_files();

  /// Tensors that are read whole, in runs that are not short.
  void find_held(const reshard_plan& plan, const std::vector<tensor_work>& works);
  void close_all();
  const std::vector<set_file>& files_;
  std::vector<int> open_;
  set_checksums sums_;
  std::vector<std::vector<bool>> is_held_;
};

}  // namespace hp_tool::reshard
