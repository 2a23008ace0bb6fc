// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all units of a stage have in common, worked out once: which events it waits for and signals, which slots it
// uses. The event of unit u is then a sum of two numbers, so a run costs a constant evaluation some hundred steps.
//
// Law: waits and accesses are those that the stage's reads and writes imply and no others. A stage that updates a
// tensor in place, or folds into it, only writes it: the write covers the read.

#include <hyperparallel/mpmd/chain_places.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The numbers of a unit, from which events and slots are counted. By grain: its place in its group, the unit, its group,
/// 0. Then the buffer that its group has in the window.
inline constexpr int unit_numbers = grain_count + 1, number_of_buffer = grain_count;

/// What the units of a stage have in common; events and slots are those of rank 0 and unit 0.
struct prepared_event {
  int first;
  int by;         ///< which number of the unit is added, times `count`
  int count = 1;  ///< consecutive events
};
struct prepared_access {
  int first_slot;
  int by;     ///< which number of the unit is added, times `slots`
  int slots;  ///< consecutive slots, each used alike
  int end;    ///< units [0, end) of a slot; of a write, all tiles together
  int place;  ///< which number of the unit is its place inside the slot
  int moved;  ///< units from place to place
  access_mode mode;
};
struct stage_lists {
  prepared_event wait[max_stage_reads] = {};
  prepared_event signal[max_stage_reads + max_stage_writes * grain_count] =
      {};  ///< results first, of which a tile's own is the last
  prepared_access access[max_stage_reads + max_stage_writes] = {};  ///< reads first
};
/// The numbers of a stage and the lengths of its lists. `emit` copies them once for each unit: in a constant evaluation
/// a copy costs as much as two reads of a member of the chain.
struct stage_facts {
  int operation = 0;
  tile_work work{}, stay{};
  stage_route route = stage_route::local;
  bool folds = false;
  bool scales = false;                     ///< takes its share of the rows
  bool windowed = false;                   ///< uses a windowed tensor
  int fills = -1;                          ///< the windowed tensor that it fetches
  int units = 1, per_group = 1;            ///< of the stage, and how many of them a group has
  int stride = 1;                          ///< numbers of a task's `item` from unit to unit
  int units_in_a_sum = 1;                  ///< of a fold: consecutive units that add to one result
  int result_tile = -1, before_tile = -1;  ///< first events of single tiles that it signals and waits for
  int waits = 0, results = 0, signals = 0, reads = 0, accesses = 0;
  int wait_total = 0, access_total = 0;  ///< events and slots, each counted
};

/// Prepares the stages of a chain whose events and slots are numbered.
struct stage_preparation {
  const tile_chain& c;
  const chain_numbering& numbers;
  stage_facts facts[max_chain_stages] = {};
  stage_lists lists[max_chain_stages] = {};
  int section[max_chain_stages] = {};       ///< consecutive stages with lags over one space share a number
  int last_reader[max_chain_tensors] = {};  ///< of windowed tensors: the stage whose use of a group is the last

  constexpr explicit stage_preparation(const chain_numbering& n) : c(n.c), numbers(n) {
    for (int t = 0; t < c.tensors; ++t) last_reader[t] = -1;
    for (int s = 0; s < c.stages; ++s) {
      section[s] = s == 0 ? 0 : section[s - 1] + (continues_section(c, s) ? 0 : 1);
      prepare(s);
    }
  }

  static constexpr int number_by(const chain_tensor& x, grain g) {
    return x.windowed ? number_of_buffer : static_cast<int>(g);
  }
  static constexpr int place_by(const chain_tensor& x, grain g) {
    return static_cast<int>(x.held == grain::group ? grain::tile : g);
  }

  constexpr void prepare_write(const tile_stage& k, stage_facts& p, stage_lists& list, int w) {
    const int t = k.write[w];
    const chain_tensor& x = c.tensor[t];
    const int places = chain_writers::places_in(c, k, w), each = numbers.writers.units(c, t) / places;
    list.access[p.accesses++] = {numbers.at.slot[t],     number_by(x, x.held), 1, each, place_by(x, k.per),
                                 places == 1 ? 0 : each, access_mode::write};
    if (x.windowed) p.fills = t;
    p.windowed = p.windowed || x.windowed;
  }

  constexpr void prepare_read(const tile_stage& k, stage_facts& p, stage_lists& list, const chain_read& read) {
    const int t = read.tensor, writer = numbers.writers.stage[t];
    const chain_tensor& x = c.tensor[t];
    const grain takes = numbers.met_by(k, t, read.takes);
    for (int w = 0; w < k.writes; ++w)
      if (takes == grain::tile || (c.tensor[k.write[w]].shares == t && takes == k.per))
        return;  // the write says it all
    const tile_space& space = c.space[x.space];
    const bool part = writer >= 0 && takes < x.held;
    const int slots = takes <= x.held || x.windowed ? 1 : units_of(space, x.held) / units_of(space, takes);
    const int places = !part ? 1 : x.held == grain::group ? space.per_group : units_of(space, takes);
    const int each = numbers.writers.units(c, t) / places;
    list.access[p.accesses++] = {numbers.at.slot[t],
                                 number_by(x, takes > x.held ? takes : x.held),
                                 slots,
                                 each,
                                 place_by(x, takes),
                                 part ? each : 0,
                                 access_mode::read};
    p.windowed = p.windowed || x.windowed;
  }

  /// Inside a section the longest lag is the last to come to an item.
  constexpr void note_reader(int t, int s) {
    const int other = last_reader[t];
    if (other < 0 || section[other] != section[s] || c.stage[other].lag <= c.stage[s].lag) last_reader[t] = s;
  }

  constexpr void prepare(int s) {
    const tile_stage& k = c.stage[s];
    stage_facts& p = facts[s];
    stage_lists& list = lists[s];
    p.operation = k.operation;
    p.work = k.work;
    p.stay = k.stay;
    p.route = k.route;
    p.folds = k.folds;
    const tile_space& space = c.space[k.space];
    p.units = units_of(space, k.per);
    p.per_group = k.per == grain::item ? space.per_group : 1;
    p.stride = stride_of(k);
    p.scales = space.rows != nullptr && k.per != grain::whole;
    for (int w = 0; w < k.writes; ++w)
      for (int g = 1; g < grain_count; ++g)
        if (numbers.at.event[k.write[w]][g] >= 0) list.signal[p.signals++] = {numbers.at.event[k.write[w]][g], g};
    if (k.folds) {
      p.result_tile = numbers.at.event[k.write[0]][static_cast<int>(grain::tile)];
      list.signal[p.signals++] = {p.result_tile, static_cast<int>(grain::whole)};
      p.units_in_a_sum = c.tensor[k.write[0]].held == grain::group ? space.per_group : space.items;
    }
    p.results = p.signals;
    for (int r = 0; r < k.reads; ++r) {
      const int t = k.read[r].tensor;
      const grain waits = numbers.met_by(k, t, k.read[r].waits);
      if (waits == grain::tile)
        p.before_tile = numbers.at.event[t][static_cast<int>(waits)];
      else if (numbers.writers.stage[t] >= 0 && numbers.joins_items(t, waits))
        list.wait[p.waits++] = {numbers.at.event[t][static_cast<int>(grain::item)], static_cast<int>(waits),
                                c.space[c.tensor[t].space].per_group};
      else if (numbers.writers.stage[t] >= 0)
        list.wait[p.waits++] = {numbers.at.event[t][static_cast<int>(waits)], static_cast<int>(waits)};
      if (c.tensor[t].windowed) {
        list.signal[p.signals++] = {numbers.at.freed[t], static_cast<int>(grain::group)};
        note_reader(t, s);
      }
      prepare_read(k, p, list, k.read[r]);
    }
    p.reads = p.accesses;
    for (int w = 0; w < k.writes; ++w) prepare_write(k, p, list, w);
    for (int w = 0; w < p.waits; ++w) p.wait_total += list.wait[w].count;
    for (int a = 0; a < p.accesses; ++a) p.access_total += list.access[a].slots;
  }
};

}}}  // namespace hyperparallel::v0_2::detail
