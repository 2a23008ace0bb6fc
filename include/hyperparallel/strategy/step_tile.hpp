// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of a step of a program: points whose coordinates along one or two named dims lie in intervals that repeat.
//
// A cut takes each shard of a dim into equal parts: point x is in part `index` of `count` where x mod shard is in that
// interval of [0, shard). A tile is a part of one cut, or of two, the inner one within each part of the outer one; numbers
// count inner parts first. Where every device holds whole shards of both dims, a tile is the same part of each of them on
// every device.
//
// Laws: the tiles of a cut partition the points. A value that lacks one of the dims sees the cut along the other one alone
// (`tile_in`); one that lacks both sees no cut. O(1).

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct dim_cut {
  int dim = -1;  ///< of the graph; -1: none
  extent_t shard = 0;
  int count = 1;  ///< divides `shard`
  friend constexpr bool operator==(const dim_cut&, const dim_cut&) = default;
};

struct step_tile {
  int dim = -1;  ///< of the graph; -1: all of the step
  extent_t shard = 0;
  int index = 0;
  int count = 1;  ///< tiles of the step, of which the inner cut makes `inner.count` of each part of the outer one
  dim_cut inner{};
  friend constexpr bool operator==(const step_tile&, const step_tile&) = default;
};

namespace detail {

/// The part of the outer cut, or of the inner one, that a tile lies in.
constexpr step_tile outer_of(const step_tile& t) {
  return {t.dim, t.shard, t.index / t.inner.count, t.count / t.inner.count, {}};
}
constexpr step_tile inner_of(const step_tile& t) {
  return {t.inner.dim, t.inner.shard, t.index % t.inner.count, t.inner.count, {}};
}
/// Both parts.
struct tile_parts {
  step_tile cut[2];
  constexpr explicit tile_parts(const step_tile& t) : cut{outer_of(t), inner_of(t)} {}
};
/// The tile of the same cut with this number.
constexpr step_tile tile_at(step_tile t, int index) {
  t.index = index;
  return t;
}

/// Whether both are tiles of one cut: the same parts, whatever their numbers.
constexpr bool are_of_one_cut(const step_tile& a, const step_tile& b) { return a.dim >= 0 && tile_at(a, b.index) == b; }

struct tile_span {
  int begin = 0, end = 0;
  friend constexpr bool operator==(const tile_span&, const tile_span&) = default;
};

/// The tiles of the cut of `cut` among which all are that share points with `t`. Law: none besides where one of the cuts is
/// the outer cut of the other, or both are one; all of them where the outer cuts differ.
constexpr tile_span tiles_met(const step_tile& cut, const step_tile& t) {
  if (are_of_one_cut(cut, t)) return {t.index, t.index + 1};
  if (!are_of_one_cut(outer_of(cut), outer_of(t))) return {0, cut.count};
  const int part = outer_of(t).index;
  return {part * cut.inner.count, (part + 1) * cut.inner.count};
}

/// The place of a named dim among those of a tensor, or -1.
constexpr int place_of_dim(const graph_tensor& t, int dim) {
  for (int d = 0; d < t.shape.rank; ++d)
    if (t.dim[d] == dim) return d;
  return -1;
}

/// What a tensor sees of a tile.
constexpr step_tile tile_in(const graph_tensor& t, const step_tile& tile) {
  if (tile.dim < 0) return {};
  if (place_of_dim(t, tile.dim) < 0) return tile_in(t, inner_of(tile));
  return tile.inner.dim < 0 || place_of_dim(t, tile.inner.dim) < 0 ? outer_of(tile) : tile;
}

/// The one loop over the outer dim of a tile, or -1: none or several.
constexpr int loop_of_tile(const graph_operator& o, const step_tile& t) {
  int found = -1;
  for (int l = 0; l < o.loop_count; ++l) {
    if (o.loop[l].dim != t.dim) continue;
    if (found >= 0) return -1;
    found = l;
  }
  return found;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
