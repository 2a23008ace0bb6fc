// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/chain_stages.hpp>

#include <gtest/gtest.h>

#include <set>

#include "chains.hpp"

namespace {

using namespace chain_test;

/// Items [first, last) of a unit of grain `g`.
struct item_range {
  int first, last;
  bool meets(const item_range& o) const { return first < o.last && o.first < last; }
};
item_range items_of(const hp::tile_space& s, hp::grain g, int unit) {
  const int each = s.items / hp::units_of(s, g);
  return {unit * each, (unit + 1) * each};
}

/// The rank whose unit `u` of stage `w` writes the tensor that `rank` holds.
int writer_rank(const hp::tile_chain& c, const hp::tile_stage& w, int rank, int u) {
  if (w.route == hp::stage_route::to_receiver) return hp::source_of(c, rank, u);
  if (w.route == hp::stage_route::to_source) return hp::receiver_of(c, rank, u);
  return rank;
}

int writer_of(const hp::tile_chain& c, int tensor) {
  for (int s = 0; s < c.stages; ++s)
    for (int w = 0; w < c.stage[s].writes; ++w)
      if (c.stage[s].write[w] == tensor) return s;
  return -1;
}

/// The units of the writer, of the tensor on its own rank, that a unit of `k` has to do with, straight from the words:
/// those that share an item with what is asked for, all of another space, and the whole slot of a fold.
std::set<int> met_units(const hp::tile_chain& c, const hp::tile_stage& k, int unit, int tensor, hp::grain asked) {
  const hp::tile_stage& w = c.stage[writer_of(c, tensor)];
  const hp::tile_space& space = c.space[k.space];
  std::set<int> met;
  const bool foreign = c.tensor[tensor].space != k.space || w.space != c.tensor[tensor].space;
  item_range wanted = items_of(space, k.per, unit);
  hp::grain wide = asked;
  if (w.folds && w.write[0] == tensor && wide < c.tensor[tensor].held) wide = c.tensor[tensor].held;
  if (!foreign && wide > k.per)
    wanted = items_of(space, wide, wanted.first / (space.items / hp::units_of(space, wide)));
  for (int v = 0; v < hp::units_of(c.space[w.space], w.per); ++v)
    if (foreign || items_of(space, w.per, v).meets(wanted)) met.insert(v);
  return met;
}

/// Every task that `l.flow.task[t]` must wait for, derived from the chain alone.
std::set<int> expected_predecessors(const hp::tile_chain& c, const lowered& l, int t) {
  const chain_task own = part_of(c, l.flow.task[t]);
  const hp::tile_stage& k = c.stage[own.stage];
  std::set<int> expected;
  const auto add = [&](int stage, int unit, int rank, int tile) {
    for (int a = 0; a < l.size.tasks; ++a) {
      const chain_task p = part_of(c, l.flow.task[a]);
      if (p.stage == stage && p.unit == unit && p.rank == rank && (tile < 0 || p.tile == tile)) expected.insert(a);
    }
  };
  for (int r = 0; r < k.reads; ++r) {
    const int tensor = k.read[r].tensor, writer = writer_of(c, tensor);
    if (k.read[r].waits == hp::grain::tile) {
      const int fold = c.tensor[tensor].held == hp::grain::group ? c.space[k.space].per_group : c.space[k.space].items;
      if (own.unit % fold != 0) add(own.stage, own.unit - 1, own.rank, own.tile);
    } else if (writer >= 0) {
      for (const int v : met_units(c, k, own.unit, tensor, k.read[r].waits))
        add(writer, v, writer_rank(c, c.stage[writer], own.rank, v), -1);
    }
  }
  for (int w = 0; w < k.writes; ++w) {
    const int tensor = k.write[w];
    if (!c.tensor[tensor].windowed || c.window.previous[own.unit] < 0) continue;
    const int tenant = c.window.previous[own.unit], per_group = c.space[k.space].per_group;
    for (int s = 0; s < c.stages; ++s)
      for (int r = 0; r < c.stage[s].reads; ++r)
        if (c.stage[s].read[r].tensor == tensor)
          for (int u = 0; u < hp::units_of(c.space[k.space], c.stage[s].per); ++u)
            if ((c.stage[s].per == hp::grain::item ? u / per_group : u) == tenant) add(s, u, own.rank, -1);
  }
  return expected;
}

TEST(chain_stages, a_task_waits_for_what_its_reads_imply_and_for_nothing_else) {
  std::mt19937 random(21);
  int waits = 0;
  for (int i = 0, wanted = exhaustive() ? 3000 : 300; i < wanted; ++i) {
    const hp::tile_chain c = accepted_chain(random, 100);
    const lowered l(c);
    std::vector<std::set<int>> signallers(static_cast<std::size_t>(l.size.events));
    for (int t = 0; t < l.size.tasks; ++t)
      for (int g = l.flow.task[t].signal_begin; g < l.flow.task[t].signal_end; ++g)
        signallers[static_cast<std::size_t>(l.flow.signal[g])].insert(t);
    for (int t = 0; t < l.size.tasks; ++t) {
      std::set<int> found;
      for (int w = l.flow.task[t].wait_begin; w < l.flow.task[t].wait_end; ++w) {
        const auto& all = signallers[static_cast<std::size_t>(l.flow.wait[w].event)];
        found.insert(all.begin(), all.end());
        EXPECT_EQ(static_cast<std::size_t>(l.flow.wait[w].threshold), all.size());
        ++waits;
      }
      EXPECT_EQ(found, expected_predecessors(c, l, t)) << "stage " << l.flow.task[t].operation;
    }
  }
  EXPECT_GT(waits, 1000);
}

TEST(chain_stages, accesses_say_all_that_is_taken) {
  std::mt19937 random(22);
  int taken = 0;
  for (int i = 0, wanted = exhaustive() ? 3000 : 300; i < wanted; ++i) {
    const hp::tile_chain c = accepted_chain(random, 100);
    const lowered l(c);
    for (int b = 0; b < l.size.tasks; ++b) {
      const chain_task reader = part_of(c, l.flow.task[b]);
      const hp::tile_stage& k = c.stage[reader.stage];
      for (int r = 0; r < k.reads; ++r) {
        const int tensor = k.read[r].tensor, writer = writer_of(c, tensor);
        if (writer < 0 || k.read[r].takes == hp::grain::tile) continue;
        bool updated = false;  // then tile by tile
        for (int w = 0; w < k.writes; ++w) updated = updated || c.tensor[k.write[w]].shares == tensor;
        const std::set<int> units = met_units(c, k, reader.unit, tensor, k.read[r].takes);
        for (int a = 0; a < b && !updated; ++a) {
          const chain_task from = part_of(c, l.flow.task[a]);
          if (from.stage != writer || units.count(from.unit) == 0 ||
              from.rank != writer_rank(c, c.stage[writer], reader.rank, from.unit))
            continue;
          EXPECT_TRUE(conflicting(l.flow, a, b)) << "stage " << from.stage << " and stage " << reader.stage;
          ++taken;
        }
      }
    }
  }
  EXPECT_GT(taken, 1000);
}

TEST(chain_stages, tiles_and_units_of_a_stage_write_apart_unless_they_fold) {
  std::mt19937 random(23);
  for (int i = 0, wanted = exhaustive() ? 3000 : 300; i < wanted; ++i) {
    const hp::tile_chain c = accepted_chain(random, 100);
    const lowered l(c);
    for (int b = 0; b < l.size.tasks; ++b)
      for (int a = 0; a < b; ++a) {
        const chain_task x = part_of(c, l.flow.task[a]), y = part_of(c, l.flow.task[b]);
        if (x.stage != y.stage) continue;
        const bool folded = c.stage[x.stage].folds && x.rank == y.rank && x.tile == y.tile;
        const bool tenants = c.tensor[c.stage[x.stage].write[0]].windowed;
        if (!folded && !tenants) {
          EXPECT_FALSE(conflicting(l.flow, a, b)) << "stage " << x.stage;
        }
      }
  }
}

}  // namespace
