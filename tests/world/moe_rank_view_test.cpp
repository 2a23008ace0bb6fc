// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include <hyperparallel/world/moe_rank_view.hpp>

#include "moe_small_world.hpp"

namespace {

using namespace moe_test;

/// Counts how often each of `n` is in the parts [first, first + count).
struct cover {
  std::vector<int> times;
  explicit cover(int n) : times(static_cast<std::size_t>(n)) {}
  void add(std::int64_t first, std::int64_t count) {
    ASSERT_GE(first, 0);
    ASSERT_GE(count, 0);
    for (std::int64_t i = first; i < first + count; ++i) ++times.at(static_cast<std::size_t>(i));
  }
  bool exact() const {
    return std::ranges::all_of(times, [](int n) { return n == 1; });
  }
};

TEST(moe_rank_view, column_tiles_cover_an_extent_once) {
  for (int extent = 0; extent <= 20; ++extent)
    for (int width = 1; width <= 7; ++width)
      for (int more = 0; more < 3; ++more) {
        cover columns(extent);
        for (int tile = 0; tile < hp::tiles_of(extent, width) + more; ++tile) {
          const hp::detail::column_tile t(extent, width, tile);
          columns.add(t.first, t.count);
        }
        ASSERT_TRUE(columns.exact()) << extent << " by " << width;
      }
}

TEST(moe_rank_view, pieces_of_an_activation_cover_the_rows_that_came) {
  const small_world w;
  for (int rows = 0; rows <= row_block; ++rows) {
    w.header(1, 3) = rows;
    cover all(rows);
    for (int piece = 0; piece < hp::swiglu_pieces(w.plan()); ++piece) {
      const hp::detail::row_piece part(w.view(1), w.tensor().received, 3, piece);
      all.add(part.first, part.count);
    }
    ASSERT_TRUE(all.exact());
  }
}

TEST(moe_rank_view, shares_of_a_put_cover_the_rows_and_only_blocks_that_stay_are_cut) {
  hp::moe_plan p = small_plan(false, hp::moe_pass::forward);
  for (const bool even : {false, true})
    for (const int copy_rows : {1, 2, 3}) {
      p.even_exchange = even;
      p.tiling.row_block = 5;
      p.tiling.copy_rows = copy_rows;
      const int pieces = hp::detail::put_pieces(p);
      for (int block = 0; block < hp::blocks_per_rank(p); ++block)
        for (int rows = 0; rows <= 5; ++rows) {
          const bool stays = hp::block_at(p, block).rotation == 0 && !even;
          cover all(rows);
          for (int piece = 0; piece < (stays ? pieces : 1); ++piece) {
            const hp::detail::put_share share(p, block * pieces + piece, rows);
            ASSERT_EQ(share.number, block);
            ASSERT_EQ(share.piece, piece);
            all.add(share.first, share.last - share.first);
          }
          ASSERT_TRUE(all.exact()) << "block " << block << " with " << rows << " rows";
        }
    }
}

TEST(moe_rank_view, tiles_of_tokens_cover_those_of_the_step_on_each_rank) {
  small_world w;
  for (int valid = 0; valid <= ranks * tokens; ++valid) {
    w.set_valid_tokens(valid);
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(w.view(rank).valid_tokens(), valid_on(rank, valid));
      cover all(valid_on(rank, valid));
      for (int tile = 0; tile < hp::route_tiles(w.plan()); ++tile) {
        const auto [first, last] = hp::detail::tile_tokens(w.view(rank), tile);
        all.add(first, last - first);
      }
      ASSERT_TRUE(all.exact());
    }
  }
}

TEST(moe_rank_view, a_tensors_units_are_its_slots_and_a_blocks_rows_lie_behind_its_header) {
  const small_world w(false, hp::moe_pass::training);
  for (int rank = 0; rank < ranks; ++rank) {
    const hp::detail::moe_rank_view v = w.view(rank);
    EXPECT_EQ(v.data<float>(v.t.output), w.data(w.at(rank).output).data());
    for (int e = 0; e < experts / ranks; ++e)
      EXPECT_EQ(v.data<float>(v.t.down_weight, e), w.data(w.at(rank).down_weight + e).data());
    for (int b = 0; b < hp::blocks_per_rank(w.plan()); ++b)
      for (int hp::moe_tensors::* const tensor : {&hp::moe_tensors::received, &hp::moe_tensors::received_gradient}) {
        EXPECT_EQ(v.header(v.t.*tensor, b), &w.header(w.at(rank).*tensor + b));
        EXPECT_EQ(v.arrived(v.t.*tensor, b), w.rows(w.at(rank).*tensor + b).data());
      }
  }
}

}  // namespace
