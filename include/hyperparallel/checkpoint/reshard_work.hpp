// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the tensors of a plan are cut into tiles within a cap of memory, and what memory a run then takes.
//
// Tiles are small enough for a processor's cache, and larger where runs of the target's files would be short. Laws: the buffers of all
// threads are within the cap, as long as one element of each is; the cut depends on the plan, the cap and the threads alone.
// O(tensors · boxes).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/checkpoint/box_transfer.hpp>
#include <hyperparallel/checkpoint/reshard_plan.hpp>
#include <hyperparallel/checkpoint/tensor_tiles.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

struct reshard_limits {
  std::int64_t max_memory = std::int64_t{1} << 30;  ///< bytes of all buffers
  int threads = 1;
};

namespace detail {

/// Bytes that a tile is cut to where more brings nothing: it stays in the processor's cache.
inline constexpr std::int64_t handy_tile = std::int64_t{1} << 21;
/// Tensors are journalled in parts of about so many bytes.
inline constexpr std::int64_t journalled_bytes = std::int64_t{1} << 26;
/// Where runs of a target's file are shorter, its checksum is made by reading it again.
inline constexpr std::int64_t short_run = 4096;

/// Bytes of buffers that a unit of a tile takes.
inline std::int64_t cost_of_unit(const tensor_plan& t) {
  const std::int64_t source = unit_of(t.source_dtype).bytes, target = unit_of(t.target_dtype).bytes;
  return source + (t.source_dtype == t.target_dtype ? 0 : target) + std::max(source, target);
}

struct tensor_work {
  tensor_tiles tiles;
  std::int64_t units = 1;       ///< most of a tile
  bool has_short_runs = false;  ///< in the target
};

/// Bytes of the shortest run of a file that a full tile has in these boxes.
inline std::int64_t shortest_run(const std::vector<file_box>& boxes, const tensor_tiles& tiles, std::int64_t unit) {
  if (tiles.count() == 0) return INT64_MAX;
  std::int64_t shortest = INT64_MAX;
  for (const file_box& b : boxes) {
    const std::int64_t units = volume_of(b.place.box);
    index_box first = tiles.box(0);
    for (std::size_t d = 0; d < first.size(); ++d) {  // the tile moved to where the box begins
      const std::int64_t n = std::min(first[d].extent(), b.place.box[d].extent());
      first[d] = {b.place.box[d].begin, b.place.box[d].begin + n};
    }
    const transfer_shape s(first, b.place.stride, tensor_tiles::strides(first));
    if (s.run < units) shortest = std::min(shortest, s.run * unit);
  }
  return shortest;
}

/// Tiles within the memory of one thread: handy ones, larger where runs of the target are short otherwise.
inline tensor_work work_of(const tensor_plan& t, std::int64_t memory) {
  const std::int64_t most = std::max<std::int64_t>(1, memory / cost_of_unit(t));
  std::int64_t units = std::min(most, std::max<std::int64_t>(1, handy_tile / unit_of(t.source_dtype).bytes));
  tensor_work w{tensor_tiles(t.dims, units), units, false};
  while (units < most && w.tiles.count() > 1 &&
         shortest_run(t.targets, w.tiles, unit_of(t.target_dtype).bytes) < 4 * short_run &&
         units * unit_of(t.source_dtype).bytes < 64 * handy_tile) {
    units = std::min(most, units * 2);
    w = {tensor_tiles(t.dims, units), units, false};
  }
  w.units = std::min(units, std::max<std::int64_t>(1, t.volume()));
  w.has_short_runs = shortest_run(t.targets, w.tiles, unit_of(t.target_dtype).bytes) < short_run;
  return w;
}

/// Bytes of the scales of a tensor, which are there while it is worked on.
inline std::int64_t scale_bytes(const tensor_plan& t) { return t.scales ? 4 * t.scales->volume() : 0; }

inline std::vector<tensor_work> works_of(const reshard_plan& p, const reshard_limits& l) {
  std::vector<tensor_work> all;
  for (const tensor_plan& t : p.tensors)
    all.push_back(work_of(t, l.max_memory / std::max(1, l.threads) - scale_bytes(t)));
  return all;
}

}  // namespace detail

/// Bytes of the buffers of a run.
inline std::int64_t peak_bytes(const reshard_plan& p, const reshard_limits& l) {
  std::int64_t peak = 0;
  const std::vector<detail::tensor_work> works = detail::works_of(p, l);
  for (std::size_t i = 0; i < p.tensors.size(); ++i)
    peak = std::max(peak, works[i].units * detail::cost_of_unit(p.tensors[i]) + detail::scale_bytes(p.tensors[i]));
  return peak * std::max(1, l.threads);
}

}}}  // namespace hyperparallel::v0_2::reshard
