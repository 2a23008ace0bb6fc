// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a tile of a step lies: in the block of a value, along the loops of an operator, in a box that a move transfers.
//
// A tile is the points whose coordinate x along one named dim has x mod shard in an interval (strategy/sharded_program.hpp).
// Law: the tiles of a step partition its loops, and the blocks of values that have the dim. Where a block holds whole shards,
// a tile is one interval of each, the same bytes on every device; a value without the dim belongs to each tile whole.
//
// The folder tiles/: steps of a program in parts, so that moves of one part hide behind operators of another. Where a part
// lies (tile_box.hpp), which steps become parts (tile_program.hpp) and in which order (section_order.hpp).

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The interval of [0, shard) that belongs to a tile. Domain: `count` divides `shard`.
constexpr interval part_of_shard(const step_tile& t) {
  const extent_t part = t.shard / t.count;
  return {t.index * part, (t.index + 1) * part};
}

/// Elements of a value's block along dim `d`, the same on every device. Domain: not padded.
constexpr extent_t local_extent(const sharded_program& p, int value, int d) {
  const program_value& v = p.value.item[value];
  return p.graph.tensor.item[v.tensor].shape.extent[d] / count_shards(v.layout).of[d];
}

/// Whether every device holds whole shards of the tile's dim, or all of a value without it.
constexpr bool holds_whole_shards(const sharded_program& p, int value, const step_tile& t) {
  const program_value& v = p.value.item[value];
  const int d = place_of_dim(p.graph.tensor.item[v.tensor], t.dim);
  return d < 0 || (!is_padded(v.layout, d) && v.rotation.axis < 0 && local_extent(p, value, d) % t.shard == 0);
}

/// Calls visit(first index, index behind) for each interval that the tile has of [begin, end) along its dim; of all of it
/// without a dim. Rising and disjoint.
template <class Visit>
constexpr void visit_intervals(const step_tile& t, extent_t begin, extent_t end, const Visit& visit) {
  if (t.dim < 0) return visit(begin, end);
  const interval part = part_of_shard(t);
  for (extent_t first = begin - begin % t.shard; first < end; first += t.shard) {
    const extent_t from = larger(begin, first + part.begin), to = smaller(end, first + part.end);
    if (from < to) visit(from, to);
  }
}

/// How many runs of bytes the tile has in the value's block. Domain: it holds whole shards.
constexpr extent_t runs_in(const sharded_program& p, int value, const step_tile& t) {
  const int d = place_of_dim(p.graph.tensor.item[p.value.item[value].tensor], t.dim);
  if (t.dim < 0 || d < 0) return 1;
  extent_t runs = local_extent(p, value, d) / t.shard;
  for (int k = 0; k < d; ++k) runs *= local_extent(p, value, k);
  return runs;
}

/// Calls visit(first byte, byte behind) for each run of bytes that the tile has of the value's block: all of it where the
/// value lacks the dim. The same on every device. Domain: it holds whole shards.
template <class Visit>
constexpr void visit_bytes(const sharded_program& p, int value, const step_tile& t, const Visit& visit) {
  const graph_tensor& tensor = p.graph.tensor.item[p.value.item[value].tensor];
  const int d = t.dim < 0 ? -1 : place_of_dim(tensor, t.dim);
  if (d < 0) return visit(extent_t{0}, local_bytes(p, value));
  extent_t outside = 1, inside = bytes_of(tensor.type);
  for (int k = 0; k < tensor.shape.rank; ++k) (k < d ? outside : inside) *= k == d ? 1 : local_extent(p, value, k);
  const extent_t along = local_extent(p, value, d);
  for (extent_t o = 0; o < outside; ++o)
    visit_intervals(t, 0, along,
                    [&](extent_t from, extent_t to) { visit((o * along + from) * inside, (o * along + to) * inside); });
}

}}  // namespace hyperparallel::v0_2
