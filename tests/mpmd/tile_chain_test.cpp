// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/tile_chain.hpp>

#include <gtest/gtest.h>

#include <set>

namespace {

namespace hp = hyperparallel;

static_assert(hp::units_of({12, 3}, hp::grain::item) == 12 && hp::units_of({12, 3}, hp::grain::group) == 4 &&
              hp::units_of({12, 3}, hp::grain::whole) == 1 && hp::groups_of({12, 3}) == 4);

TEST(tile_chain, a_unit_has_numbers_for_the_tiles_that_travel_and_for_those_that_stay) {
  hp::tile_stage s;
  s.work.tiles = 2;
  s.stay.tiles = 5;
  EXPECT_EQ(hp::stride_of(s), 2);  // nothing stays of a local stage
  s.route = hp::stage_route::to_receiver;
  EXPECT_EQ(hp::stride_of(s), 5);
  s.stay.tiles = 1;
  EXPECT_EQ(hp::stride_of(s), 2);
}

TEST(tile_chain, what_is_added_is_numbered_in_order_and_starts_as_said) {
  hp::tile_chain c;
  EXPECT_EQ(hp::add_space(c, 6, 3), 0);
  EXPECT_EQ(hp::add_space(c, 1, 1), 1);
  EXPECT_EQ(hp::add_tensor(c, 0, hp::grain::item, 64), 0);
  EXPECT_EQ(hp::add_tensor(c, 1, hp::grain::whole, 128, 1), 1);
  EXPECT_EQ(hp::add_update(c, 0), 2);
  EXPECT_EQ(c.tensor[2].shares, 0);
  EXPECT_EQ(c.tensor[2].bytes, 64);
  EXPECT_EQ(c.tensor[1].shares, -1);
  hp::tile_stage& s = hp::add_stage(c, 7, 0, hp::grain::item, {hp::resource::aiv, 3, 9});
  hp::add_read(s, 1, hp::grain::whole);
  hp::add_write(s, 2);
  EXPECT_EQ(c.stage[0].operation, 7);
  EXPECT_EQ(c.stage[0].lag, hp::at_once);
  EXPECT_EQ(c.stage[0].read[0].waits, hp::grain::whole);
  EXPECT_EQ(c.stage[0].write[0], 2);
}

TEST(tile_chain, each_cycle_of_items_meets_every_peer_once_and_own_rows_are_last_or_first) {
  for (const hp::rotation_kind kind :
       {hp::rotation_kind::cyclic, hp::rotation_kind::nearest_first, hp::rotation_kind::farthest_first})
    for (int devices = 1; devices <= 12; ++devices)
      for (const bool own_first : {false, true}) {
        hp::tile_chain c;
        c.devices = c.ranks = devices;
        c.rotation = kind;
        c.own_first = own_first;
        for (int cycle = 0; cycle < 2; ++cycle)
          for (int rank = 0; rank < devices; ++rank) {
            std::set<int> receivers, sources;
            for (int i = cycle * devices; i < (cycle + 1) * devices; ++i) {
              const int to = hp::receiver_of(c, rank, i);
              receivers.insert(to);
              sources.insert(hp::source_of(c, rank, i));
              EXPECT_EQ(hp::source_of(c, to, i), rank);
              EXPECT_EQ(to == rank, hp::rotation_of(c, i) == 0);
            }
            EXPECT_EQ(receivers.size(), static_cast<std::size_t>(devices));
            EXPECT_EQ(sources.size(), static_cast<std::size_t>(devices));
            EXPECT_EQ(hp::rotation_of(c, cycle * devices + (own_first ? 0 : devices - 1)), 0);
          }
        c.ranks = 1;
        for (int i = 0; i < devices; ++i) EXPECT_EQ(hp::receiver_of(c, 0, i), 0);
      }
}

TEST(tile_chain, serialized_stages_wait_for_all_of_what_they_take_and_for_windows_by_group) {
  hp::tile_chain c;
  const int space = hp::add_space(c, 4, 2), x = hp::add_tensor(c, space, hp::grain::item, 64);
  const int weight = hp::add_tensor(c, space, hp::grain::group, 64),
            sum = hp::add_tensor(c, space, hp::grain::whole, 64);
  c.tensor[weight].windowed = true;
  hp::tile_stage& s = hp::add_stage(c, 0, space, hp::grain::item, {}, 3);
  hp::add_read(s, x);
  hp::add_read(s, weight, hp::grain::group);
  hp::add_read(s, sum, hp::grain::tile);
  hp::serialize(c);
  EXPECT_EQ(c.stage[0].lag, hp::at_once);
  EXPECT_EQ(c.stage[0].read[0].waits, hp::grain::whole);
  EXPECT_EQ(c.stage[0].read[0].takes, hp::grain::item);
  EXPECT_EQ(c.stage[0].read[1].waits, hp::grain::group);
  EXPECT_EQ(c.stage[0].read[2].waits, hp::grain::tile);
}

TEST(tile_chain, neighbours_with_lags_over_one_space_are_one_section) {
  hp::tile_chain c;
  hp::add_space(c, 2, 1);
  hp::add_space(c, 2, 1);
  const int lags[] = {0, 2, hp::at_once, 0, 1, 1}, spaces[] = {0, 0, 0, 0, 1, 1};
  for (int s = 0; s < 6; ++s) hp::add_stage(c, s, spaces[s], hp::grain::item, {}, lags[s]);
  const bool expected[] = {false, true, false, false, false, true};
  for (int s = 0; s < 6; ++s) EXPECT_EQ(hp::continues_section(c, s), expected[s]) << s;
}

}  // namespace
