// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a tile of a step lies: in the block of a value, along the loops of an operator, in a box that a move transfers.
//
// A tile is the points whose coordinates along one or two named dims lie in intervals that repeat (strategy/step_tile.hpp).
// Law: the tiles of a step partition its loops, and the blocks of values that have the dims. Where a block holds whole shards,
// a tile is one interval of each, the same bytes on every device; a value without a dim belongs to each part of it whole.
//
// The folder tiles/: steps of a program in parts, so that moves of one part hide behind operators of another. Where a part
// lies (tile_box.hpp), which steps become parts (tile_program.hpp) and in which order (section_order.hpp).

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The interval of [0, shard) that belongs to a part of one cut. Domain: `count` divides `shard`.
constexpr interval part_of_shard(const step_tile& t) {
  const extent_t part = t.shard / t.count;
  return {t.index * part, (t.index + 1) * part};
}

/// Elements of a value's block along dim `d`, the same on every device. Domain: not padded.
constexpr extent_t local_extent(const sharded_program& p, int value, int d) {
  const program_value& v = p.value.item[value];
  return p.graph.tensor.item[v.tensor].shape.extent[d] / count_shards(v.layout).of[d];
}

/// Whether every device holds whole shards of the tile's dims, or all of a value without them.
constexpr bool holds_whole_shards(const sharded_program& p, int value, const step_tile& t) {
  const program_value& v = p.value.item[value];
  const tile_parts parts(t);
  for (const step_tile& cut : parts.cut) {
    const int d = cut.dim < 0 ? -1 : place_of_dim(p.graph.tensor.item[v.tensor], cut.dim);
    if (d >= 0 && (is_padded(v.layout, d) || v.rotation.axis >= 0 || local_extent(p, value, d) % cut.shard != 0))
      return false;
  }
  return true;
}

/// Calls visit(first index, index behind) for each interval that a part of one cut has of [begin, end) along its dim; of all
/// of it without a dim. Rising and disjoint.
template <class Visit>
constexpr void visit_intervals(const step_tile& t, extent_t begin, extent_t end, const Visit& visit) {
  if (t.dim < 0) return visit(begin, end);
  const interval part = part_of_shard(t);
  for (extent_t first = begin - begin % t.shard; first < end; first += t.shard) {
    const extent_t from = larger(begin, first + part.begin), to = smaller(end, first + part.end);
    if (from < to) visit(from, to);
  }
}

/// The dims of a value along which a tile cuts its block, the outer one of the block first, and the parts of these cuts.
struct cut_dims {
  int dim[2] = {-1, -1};
  step_tile part[2] = {};
  int count = 0;

  constexpr cut_dims(const graph_tensor& t, const step_tile& tile) {
    const tile_parts parts(tile);
    for (const step_tile& cut : parts.cut)
      if (const int d = cut.dim < 0 ? -1 : place_of_dim(t, cut.dim); d >= 0) {
        const int at = count++ > 0 && dim[0] < d ? 1 : 0;
        if (count == 2 && at == 0) dim[1] = dim[0], part[1] = part[0];
        dim[at] = d;
        part[at] = cut;
      }
  }
};

/// How many runs of bytes the tile has in the value's block. Domain: it holds whole shards.
constexpr extent_t runs_in(const sharded_program& p, int value, const step_tile& t) {
  const detail::cut_dims cut(p.graph.tensor.item[p.value.item[value].tensor], t);
  if (cut.count == 0) return 1;
  const int last = cut.dim[cut.count - 1];
  extent_t runs = local_extent(p, value, last) / cut.part[cut.count - 1].shard;
  for (int k = 0; k < last; ++k) runs *= local_extent(p, value, k) / (k == cut.dim[0] ? cut.part[0].count : 1);
  return runs;
}

/// Calls visit(first byte, byte behind) for each run of bytes that the tile has of the value's block: all of it where the
/// value lacks its dims. The same on every device, rising. Domain: it holds whole shards.
template <class Visit>
constexpr void visit_bytes(const sharded_program& p, int value, const step_tile& t, const Visit& visit) {
  const graph_tensor& tensor = p.graph.tensor.item[p.value.item[value].tensor];
  const detail::cut_dims cut(tensor, t);
  if (cut.count == 0) return visit(extent_t{0}, local_bytes(p, value));
  const int last = cut.dim[cut.count - 1], first = cut.count == 2 ? cut.dim[0] : last;
  extent_t outside = 1, between = 1, inside = bytes_of(tensor.type);  // of the first cut dim, of both, of the last
  for (int k = 0; k < tensor.shape.rank; ++k)
    if (k != first && k != last) (k < first ? outside : k < last ? between : inside) *= local_extent(p, value, k);
  const extent_t along = local_extent(p, value, last);
  const auto visit_row = [&](extent_t row) {  // of the last cut dim
    visit_intervals(cut.part[cut.count - 1], 0, along, [&](extent_t from, extent_t to) {
      visit((row * along + from) * inside, (row * along + to) * inside);
    });
  };
  if (cut.count == 1) {
    for (extent_t o = 0; o < outside; ++o) visit_row(o);
    return;
  }
  const extent_t above = local_extent(p, value, first);
  for (extent_t o = 0; o < outside; ++o)
    visit_intervals(cut.part[0], 0, above, [&](extent_t from, extent_t to) {
      for (extent_t row = (o * above + from) * between; row < (o * above + to) * between; ++row) visit_row(row);
    });
}

}}}  // namespace hyperparallel::v0_2::detail
