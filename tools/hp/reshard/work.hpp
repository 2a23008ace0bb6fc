// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the tensors of a plan are cut into tiles within a cap of memory, and what memory a run then takes.
//
// Tiles are small enough for a processor's cache, and larger where runs of the target's files would be short. Laws: the buffers of all
// threads are within the cap, as long as one element of each is; the cut depends on the plan, the cap and the threads alone.
// O(tensors · boxes).

#include <cstdint>
#include <vector>

#include "plan.hpp"
#include "tensor_tiles.hpp"

namespace hp_tool::reshard {

struct reshard_limits {
  std::int64_t max_memory = std::int64_t{1} << 30;  ///< bytes of all buffers
  int threads = 1;
};

/// Tensors are journalled in parts of about so many bytes.
inline constexpr std::int64_t journalled_bytes = std::int64_t{1} << 26;

/// Where runs of a target's file are shorter, its checksum is made by reading it again.
inline constexpr std::int64_t short_run = 4096;

struct tensor_work {
  tensor_tiles tiles;
  std::int64_t units = 1;       ///< most of a tile
  bool has_short_runs = false;  ///< in the target
};

/// Bytes of the shortest run of a file that a full tile has in these boxes.
std::int64_t shortest_run(const std::vector<file_box>& boxes, const tensor_tiles& tiles, std::int64_t unit);

std::vector<tensor_work> works_of(const reshard_plan& p, const reshard_limits& l);

/// Bytes of the buffers of a run.
std::int64_t peak_bytes(const reshard_plan& p, const reshard_limits& l);

}  // namespace hp_tool::reshard
