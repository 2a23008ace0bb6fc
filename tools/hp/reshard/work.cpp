// SPDX-License-Identifier: Apache-2.0
// The body of work.hpp.

#include "work.hpp"

#include <algorithm>
#include <cstddef>

#include "box_transfer.hpp"
#include "element_type.hpp"

namespace hp_tool::reshard {

namespace {

/// Bytes that a tile is cut to where more brings nothing: it stays in the processor's cache.
constexpr std::int64_t handy_tile = std::int64_t{1} << 21;

/// Bytes of buffers that a unit of a tile takes.
std::int64_t cost_of_unit(const tensor_plan& t) {
  const std::int64_t source = unit_of(t.source_dtype).bytes, target = unit_of(t.target_dtype).bytes;
  return source + (t.source_dtype == t.target_dtype ? 0 : target) + std::max(source, target);
}

/// Tiles within the memory of one thread: handy ones, larger where runs of the target are short otherwise.
tensor_work work_of(const tensor_plan& t, std::int64_t memory) {
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
std::int64_t scale_bytes(const tensor_plan& t) { return t.scales ? 4 * t.scales->volume() : 0; }

}  // namespace

std::int64_t shortest_run(const std::vector<file_box>& boxes, const tensor_tiles& tiles, std::int64_t unit) {
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

std::vector<tensor_work> works_of(const reshard_plan& p, const reshard_limits& l) {
  std::vector<tensor_work> all;
  for (const tensor_plan& t : p.tensors)
    all.push_back(work_of(t, l.max_memory / std::max(1, l.threads) - scale_bytes(t)));
  return all;
}

std::int64_t peak_bytes(const reshard_plan& p, const reshard_limits& l) {
  std::int64_t peak = 0;
  const std::vector<tensor_work> works = works_of(p, l);
  for (std::size_t i = 0; i < p.tensors.size(); ++i)
    peak = std::max(peak, works[i].units * cost_of_unit(p.tensors[i]) + scale_bytes(p.tensors[i]));
  return peak * std::max(1, l.threads);
}

}  // namespace hp_tool::reshard
