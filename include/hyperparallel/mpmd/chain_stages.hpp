// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all units of a stage have in common, worked out once: which events it waits for and signals, which slots it
// uses. The event of unit u is then a sum of two numbers, so a run costs a constant evaluation some hundred steps.
//
// Law: waits and accesses are those that the stage's reads and writes imply and no others. A stage that updates a
// tensor in place, or folds into it, only writes it: the write covers the read.

#include <hyperparallel/mpmd/chain_places.hpp>

namespace hyperparallel {

namespace detail {

/// What the units of a stage have in common; numbers are those of rank 0 and unit 0.
struct prepared_event {
  int first;
  grain by;       ///< which number of the unit is added, times `count`
  int count = 1;  ///< consecutive events
};
struct prepared_access {
  int first_slot;
  grain by;
  int slots;  ///< consecutive slots, each used alike
  int end;    ///< units [0, end) of a slot
  int moved;  ///< and so many further for each place of the unit inside its slot
  access_mode mode;
  int step;
  bool windowed;
};
struct prepared_stage {
  int waits = 0, results = 0, signals = 0, reads = 0, accesses = 0;
  prepared_event wait[max_stage_reads] = {};
  prepared_event signal[max_stage_reads + max_stage_writes * grain_count] = {};  ///< results first
  prepared_access access[max_stage_reads + max_stage_writes] = {};               ///< reads first
  int result_tile = -1, before_tile = -1;  ///< first events of single tiles that it signals and waits for
  int fills = -1;                          ///< the windowed tensor that it fetches
};

/// Prepares the stages of a chain whose events and slots are numbered.
struct stage_preparation {
  const tile_chain& c;
  const chain_numbering& numbers;
  prepared_stage prepared[max_chain_stages] = {};
  int last_reader[max_chain_tensors] = {};  ///< of windowed tensors: the stage

  constexpr explicit stage_preparation(const chain_numbering& n) : c(n.c), numbers(n) {
    for (int s = 0; s < c.stages; ++s) prepare(s);
  }

  constexpr void prepare_write(const tile_stage& k, prepared_stage& p, int w) {
    const int t = k.write[w];
    const chain_tensor& x = c.tensor[t];
    const bool owns_all = k.per == grain::whole && stride_of(k) == 1;
    p.access[p.accesses++] = {numbers.at.slot[t],
                              x.held,
                              1,
                              owns_all ? numbers.writers.units(c, t) : 1,
                              chain_writers::shares_place(k, x.held, w) ? 0 : stride_of(k),
                              access_mode::write,
                              1,
                              x.windowed};
    if (x.windowed) p.fills = t;
  }

  constexpr void prepare_read(const tile_stage& k, prepared_stage& p, const chain_read& read) {
    const int t = read.tensor, writer = numbers.writers.stage[t];
    const chain_tensor& x = c.tensor[t];
    const grain takes = met_by(c, k, t, read.takes);
    for (int w = 0; w < k.writes; ++w)
      if (takes == grain::tile || c.tensor[k.write[w]].shares == t) return;  // the write says it all
    const bool part =
        takes == grain::item && x.held != grain::item && writer >= 0 && c.stage[writer].per == grain::item;
    const int slots =
        takes <= x.held || x.windowed ? 1 : units_of(c.space[x.space], x.held) / units_of(c.space[x.space], takes);
    const int each = part ? stride_of(c.stage[writer]) : numbers.writers.units(c, t);
    p.access[p.accesses++] = {
        numbers.at.slot[t], takes > x.held ? takes : x.held, slots, each, part ? each : 0, access_mode::read, 0,
        x.windowed};
  }

  constexpr void prepare(int s) {
    const tile_stage& k = c.stage[s];
    prepared_stage& p = prepared[s];
    for (int w = 0; w < k.writes; ++w)
      for (int g = 1; g < grain_count; ++g)
        if (numbers.at.event[k.write[w]][g] >= 0)
          p.signal[p.signals++] = {numbers.at.event[k.write[w]][g], static_cast<grain>(g)};
    p.results = p.signals;
    if (k.folds) p.result_tile = numbers.at.event[k.write[0]][static_cast<int>(grain::tile)];
    for (int r = 0; r < k.reads; ++r) {
      const int t = k.read[r].tensor;
      const grain waits = met_by(c, k, t, k.read[r].waits);
      if (waits == grain::tile)
        p.before_tile = numbers.at.event[t][static_cast<int>(waits)];
      else if (numbers.writers.stage[t] >= 0 && numbers.joins_items(t, waits))
        p.wait[p.waits++] = {numbers.at.event[t][static_cast<int>(grain::item)], waits,
                             c.space[c.tensor[t].space].per_group};
      else if (numbers.writers.stage[t] >= 0)
        p.wait[p.waits++] = {numbers.at.event[t][static_cast<int>(waits)], waits};
      if (c.tensor[t].windowed) {
        p.signal[p.signals++] = {numbers.at.freed[t], grain::group};
        last_reader[t] = s;
      }
      prepare_read(k, p, k.read[r]);
    }
    p.reads = p.accesses;
    for (int w = 0; w < k.writes; ++w) prepare_write(k, p, w);
  }
};

}  // namespace detail
}  // namespace hyperparallel
