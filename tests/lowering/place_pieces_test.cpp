// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/place_pieces.hpp>

#include <lowering/broken_tables.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

hp::growing_array<int> pieces_of(const hp::detail::place_pieces& pieces, int place, const hp::step_tile& tile) {
  hp::growing_array<int> places, list;
  places.push(place);
  pieces.list(places, tile, list);
  return list;
}

TEST(PlacePieces, AStorageThatTilesWriteHasOneForEach) {
  const hp::sharded_program p = programs::tiled_program_of("ep", 2);
  ASSERT_FALSE(p.step.empty());
  const int places = p.storage.size + 3;
  const hp::detail::place_pieces pieces(p, places);
  int cut = 0;
  for (const hp::program_step& s : p.step)
    hp::detail::visit_values(p, s, [&](int v, bool writes) {
      const int place = p.value[v].storage;
      const hp::growing_array<int> all = pieces_of(pieces, place, {});
      EXPECT_EQ(all[0], pieces.first(place));
      if (s.tile.dim < 0 || !writes) return;
      ++cut;
      EXPECT_EQ(all.size, s.tile.count);
      const hp::growing_array<int> own = pieces_of(pieces, place, s.tile);
      ASSERT_EQ(own.size, 1);
      EXPECT_EQ(own[0], all[s.tile.index]);
      hp::step_tile other = s.tile;
      other.shard *= 2;
      EXPECT_EQ(pieces_of(pieces, place, other).size, s.tile.count);  // of another cut: all of them
    });
  EXPECT_GT(cut, 20);
  for (int place = p.storage.size; place < places; ++place) EXPECT_EQ(pieces_of(pieces, place, {}).size, 1);
  EXPECT_EQ(pieces.count(), pieces.first(places - 1) + 1);
}

// Two cuts of one storage: one piece, so that everything there stands in order.
TEST(PlacePieces, AStorageOfTwoCutsIsOnePiece) {
  hp::sharded_program p = programs::tiled_program_of("ep", 2);
  int last = -1;
  for (int i = 0; i < p.step.size; ++i)
    if (p.step[i].tile.dim >= 0 && !p.step[i].is_move) last = i;
  ASSERT_GE(last, 0);
  const int storage = p.value[p.compute[p.step[last].index].result[0]].storage;
  EXPECT_GT(pieces_of(hp::detail::place_pieces(p, p.storage.size), storage, {}).size, 1);
  p.step[last].tile.shard *= 2;
  EXPECT_EQ(pieces_of(hp::detail::place_pieces(p, p.storage.size), storage, {}).size, 1);
}

}  // namespace
