// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pieces of places that tasks wait for: a storage that tiles write has one for each tile, any other place is one piece.
//
// Laws: a tile of the cut that wrote a storage touches its own piece there, one of a cut within or around that what it meets
// (strategy/step_tile.hpp), everything else all pieces; pieces of a place are numbered one after the other. A storage that
// two cuts write is one piece: its tasks wait for more than they need, and stand in order. What a plan with pieces is worth
// says its proof, which knows of bytes. O(places + steps · accesses).

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/strategy/lifetimes.hpp>
#include <hyperparallel/tiles/tile_box.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class place_pieces {
 public:
  constexpr place_pieces(const sharded_program& p, int places) : cut_(p.storage.size) {
    for (const program_step& s : p.step) {
      if (s.tile.dim < 0) continue;
      visit_values(p, s, [&](int v, bool writes) {
        if (writes) note(p, v, s.tile);
      });
    }
    for (int i = 0, next = 0; i <= places; ++i) {
      first_.push(next);
      next += i < cut_.size ? cut_.item[i].count : 1;
    }
  }

  constexpr int count() const { return first_.last(); }
  constexpr int first(int place) const { return first_.item[place]; }
  /// Lists those that a step of this tile touches in the places.
  constexpr void list(const growing_array<int>& places, const step_tile& tile, growing_array<int>& pieces) const {
    pieces.clear();
    for (const int place : places) {
      const int first = first_.item[place];
      const tile_span met = place < cut_.size ? tiles_met(cut_.item[place], tile) : tile_span{0, 1};
      for (int i = met.begin; i < met.end; ++i) pieces.push(first + i);
    }
  }

 private:
  constexpr void note(const sharded_program& p, int value, const step_tile& tile) {
    const program_value& v = p.value.item[value];
    step_tile& cut = cut_.item[v.storage];
    if (cut.dim == shared) return;
    const bool first = cut.dim < 0;
    if (first) cut = tile_at(tile, 0);
    if (!are_of_one_cut(cut, tile) || !(tile_in(p, value, tile) == tile)) cut = {shared, 0, 0, 1, {}};
  }

  static constexpr int shared = -2;
  growing_array<step_tile> cut_;  // of each storage
  growing_array<int> first_;      // piece of each place
};

}}}  // namespace hyperparallel::v0_2::detail
