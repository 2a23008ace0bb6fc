// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements of a box between a file and memory, by calls on runs that are contiguous in the file.
//
// What lies in one run of the file and in order in memory is read or written in place, else through a buffer of one run. Laws: each
// byte of the box is read or written once, no other byte is touched. Errors: io_error of one line. O(bytes + runs).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "library.hpp"

namespace hp_tool::reshard {

/// One dim of a box: units, and strides in the file and in memory, in units.
struct transfer_dim {
  std::int64_t extent, in_file, in_memory;
};

/// Dims of more than one unit by falling stride in the file; those that continue one another in both are one. The first `outer` are
/// walked, the rest are a run of the file.
struct transfer_shape {
  std::vector<transfer_dim> dims;
  std::size_t outer = 0;
  std::int64_t run = 1;      ///< units
  bool is_in_place = false;  ///< a run lies in order in memory, too
  transfer_shape(const index_box& box, const std::vector<std::int64_t>& in_file,
                 const std::vector<std::int64_t>& in_memory);
};

/// All bytes from the file's byte `at` on.
void read_all(int file, const std::string& path, std::byte* to, std::size_t count, std::int64_t at);

void write_all(int file, const std::string& path, const std::byte* from, std::size_t count, std::int64_t at);

/// Called for each run with its first byte of the file.
using run_visitor = std::function<void(std::int64_t, const std::byte*, std::size_t)>;

/// Reads the box. `at` is the byte of its first unit in the file, `memory` its place in memory. Precondition: `buffer` has the bytes of a
/// run that is not in place.
void read_box(int file, const std::string& path, std::int64_t at, const transfer_shape& s, std::int64_t unit,
              std::byte* memory, std::byte* buffer, const run_visitor& read);

/// Writes the box.
void write_box(int file, const std::string& path, std::int64_t at, const transfer_shape& s, std::int64_t unit,
               std::byte* memory, std::byte* buffer, const run_visitor& wrote);

}  // namespace hp_tool::reshard
