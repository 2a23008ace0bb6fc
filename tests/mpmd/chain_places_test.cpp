// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/chain_places.hpp>

#include <gtest/gtest.h>

#include <set>

#include "chains.hpp"

namespace {

using namespace chain_test;

TEST(chain_places, every_rank_has_the_same_places_so_many_numbers_further) {
  std::mt19937 random(31);
  for (int i = 0; i < 300; ++i) {
    const hp::tile_chain c = accepted_chain(random);
    const lowered l(c);
    EXPECT_EQ(l.size.events, c.ranks * l.places.events_per_rank);
    EXPECT_EQ(l.size.slots, c.ranks * l.places.slots_per_rank);
    for (int e = 0; e < l.size.events; ++e) EXPECT_EQ(l.flow.event[e].rank, e / l.places.events_per_rank);
    for (int n = 0; n < l.size.slots; ++n) {
      const hp::slot &own = l.flow.slot[n], &first = l.flow.slot[n % l.places.slots_per_rank];
      EXPECT_EQ(own.rank, n / l.places.slots_per_rank);
      EXPECT_EQ(own.tier, first.tier);
      EXPECT_EQ(own.offset, first.offset);
      EXPECT_EQ(own.bytes, first.bytes);
    }
  }
}

TEST(chain_places, each_unit_of_each_tensor_has_its_slot_and_updates_and_tenants_share_them) {
  std::mt19937 random(32);
  for (int i = 0; i < 300; ++i) {
    const hp::tile_chain c = accepted_chain(random);
    const lowered l(c);
    std::set<int> used;
    std::size_t expected = 0;
    for (int t = 0; t < c.tensors; ++t) {
      const hp::chain_tensor& x = c.tensor[t];
      const int units = hp::units_of(c.space[x.space], x.held);
      for (int rank = 0; rank < c.ranks; ++rank)
        for (int u = 0; u < units; ++u) {
          const int slot = hp::slot_of(c, l.places, rank, t, u);
          EXPECT_EQ(l.flow.slot[slot].rank, rank);
          EXPECT_EQ(l.flow.slot[slot].bytes, x.bytes);
          if (x.shares >= 0) {
            EXPECT_EQ(slot, hp::slot_of(c, l.places, rank, x.shares, u));
          } else if (!x.windowed) {
            EXPECT_TRUE(used.insert(slot).second);
          }
        }
      if (x.shares < 0) expected += static_cast<std::size_t>(c.ranks * (x.windowed ? c.window.buffers : units));
    }
    EXPECT_EQ(static_cast<std::size_t>(l.size.slots), expected);
  }
}

TEST(chain_places, who_signals_an_event_is_its_tensors_unit) {
  // An event of grain g at unit u counts the tiles of the writer's units inside u; without readers there is no event.
  std::mt19937 random(33);
  int events = 0;
  for (int i = 0; i < 300; ++i) {
    const hp::tile_chain c = accepted_chain(random);
    const lowered l(c);
    for (int t = 0; t < c.tensors; ++t)
      for (int s = 0; s < c.stages; ++s)
        for (int w = 0; w < c.stage[s].writes; ++w) {
          const hp::tile_stage& k = c.stage[s];
          if (k.write[w] != t || c.tensor[t].space != k.space || k.route != hp::stage_route::local) continue;
          for (int g = 1; g < hp::grain_count; ++g) {
            const int first = l.places.event[t][g];
            const int units = hp::units_of(c.space[k.space], static_cast<hp::grain>(g));
            const int each = hp::units_of(c.space[k.space], k.per) / units;
            for (int u = 0; u < units && first >= 0; ++u, ++events)
              EXPECT_EQ(l.flow.event[first + u].signals, each * k.work.tiles);
          }
        }
    for (int t = 0; t < c.tensors; ++t) {
      bool read = false;
      for (int s = 0; s < c.stages; ++s)
        for (int r = 0; r < c.stage[s].reads; ++r) read = read || c.stage[s].read[r].tensor == t;
      for (int g = 0; g < hp::grain_count && !read; ++g) EXPECT_EQ(l.places.event[t][g], -1);
    }
  }
  EXPECT_GT(events, 300);
}

/// `items` items in one group: a reader of items and one of the group.
hp::tile_chain joined(int items, int joins) {
  hp::tile_chain c;
  const int space = hp::add_space(c, items, items);
  int made[4] = {};
  for (int i = 0; i < joins; ++i) {
    made[i] = hp::add_tensor(c, space, hp::grain::item, 64);
    hp::add_write(hp::add_stage(c, c.stages, space, hp::grain::item, {hp::resource::aic, 1, 1}), made[i]);
    hp::add_read(hp::add_stage(c, c.stages, space, hp::grain::item, {hp::resource::aiv, 1, 1}), made[i]);
  }
  hp::tile_stage& all = hp::add_stage(c, c.stages, space, hp::grain::group, {hp::resource::aiv, 1, 1});
  for (int i = 0; i < joins; ++i) hp::add_read(all, made[i], hp::grain::group);
  return c;
}

TEST(chain_places, a_group_joins_the_events_of_its_items_as_long_as_a_task_may_wait_for_them) {
  for (int joins = 1; joins <= 4; ++joins) {
    const int most = (hp::max_stage_waits - hp::max_stage_reads - 2) / joins;
    for (const int items : {1, 2, most, most + 1}) {
      lowered l(joined(items, joins));
      const bool fits = items <= most;
      EXPECT_EQ(l.size.events, joins * (fits ? items : items + 1));
      const hp::task& last = l.flow.task[l.size.tasks - 1];
      EXPECT_EQ(last.wait_end - last.wait_begin, joins * (fits ? items : 1));
      EXPECT_EQ(l.exact().code, hp::exact_code::safe);
      EXPECT_EQ(first_unordered(l.flow, ancestors(l.flow)), -1);
    }
  }
}

TEST(chain_places, units_of_a_slot_are_divided_evenly_by_all_its_writers) {
  for (int first = 1; first <= 6; ++first)
    for (int second = 1; second <= 6; ++second) {
      hp::tile_chain c;
      const int space = hp::add_space(c, 4, 2), x = hp::add_tensor(c, space, hp::grain::group, 4096);
      hp::add_write(hp::add_stage(c, 0, space, hp::grain::item, {hp::resource::aic, first, 1}), x);
      hp::tile_stage& update = hp::add_stage(c, 1, space, hp::grain::group, {hp::resource::aic, second, 1});
      hp::add_read(update, x, hp::grain::group);
      hp::add_write(update, hp::add_update(c, x));
      ASSERT_EQ(hp::check(c).code, hp::chain_code::ok);
      lowered l(c);
      EXPECT_EQ(l.exact().code, hp::exact_code::safe);
      int units = 0;  // of a slot: each writer covers all of them, each unit once
      for (int t = 0; t < l.size.tasks; ++t) {
        const hp::access& a = l.flow.access[l.flow.task[t].access_begin];
        if (l.flow.task[t].operation == 0) units += a.end - a.begin;
        if (l.flow.task[t].operation == 1) units -= a.end - a.begin;
      }
      EXPECT_EQ(units, 0);
    }
}

}  // namespace
