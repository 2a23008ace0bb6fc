// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a chain of operators over tiles to a taskflow: one run of tasks for each unit of each stage.
//
// Laws: stages of one section are interleaved by their lags, the others run one after the other; a tensor that comes
// back to its source or goes to its receiver is written and signalled there; a windowed tensor's next tenant is fetched
// right behind the last use of the tenant before. Source: software pipelining of a loop over blocks (Lam 1988), with
// the lags as its stages.

#include <hyperparallel/mpmd/chain_stages.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Writes the tasks of a chain. A unit's waits, signals and accesses go straight into the flow, with the flow and what
/// the stage has in common as local names: a constant evaluation pays for each step from `this`.
template <class Flow>
struct chain_emitter {
  const tile_chain& c;
  Flow& f;
  chain_numbering numbers;
  stage_preparation stages;
  const chain_places& at;

  constexpr chain_emitter(const tile_chain& chain, Flow& target)
      : c(chain), f(target), numbers(chain), stages(numbers), at(numbers.at) {
    for (int rank = 0; rank < c.ranks; ++rank) numbers.declare(f, rank);
  }
  chain_emitter(const chain_emitter&) = delete;
  chain_emitter& operator=(const chain_emitter&) = delete;

  /// Picoseconds of a tile of unit `u` of a space that has `rows`: its share of them, above the overhead.
  constexpr std::int64_t scaled(const tile_stage& k, std::int64_t full, int u) const {
    const tile_space& space = c.space[k.space];
    const int items = k.per == grain::item ? 1 : space.per_group;
    std::int64_t rows = 0;
    for (int i = u * items; i < (u + 1) * items; ++i) rows += space.rows[i];
    const double share = static_cast<double>(rows) / (static_cast<double>(items) * space.row_block);
    return c.overhead + static_cast<std::int64_t>(static_cast<double>(full - c.overhead) * share);
  }

  /// The sizing pass: what `emit` adds for all units of a stage on all ranks.
  constexpr void count(const stage_facts& k) {
    int staying = 0, refilled = 0;
    if (k.route != stage_route::local && k.stay.tiles > 0)
      for (int u = 0; u < k.units; ++u) staying += rotation_of(c, u) == 0 ? 1 : 0;
    if (k.fills >= 0)
      for (int g = 0; g < k.units; ++g) refilled += c.window.previous[g] >= 0 ? 1 : 0;
    const int tiles = (k.units - staying) * k.work.tiles + staying * k.stay.tiles, lists = k.folds ? tiles : k.units;
    const int followers = k.before_tile < 0 ? 0 : k.units - (k.units + k.units_in_a_sum - 1) / k.units_in_a_sum;
    taskflow_size& n = f.size;
    n.tasks += c.ranks * tiles;
    n.runs += c.ranks * lists;
    n.waits += c.ranks * (lists * k.wait_total + (k.folds ? k.work.tiles : 1) * (refilled + followers));
    n.signals += c.ranks * lists * k.signals;
    n.accesses += c.ranks * lists * k.access_total;
    n.signal_uses += c.ranks * tiles * k.signals;
    n.access_uses += c.ranks * tiles * k.access_total;
  }

  /// The tasks of unit `u` of stage `s` on `rank`: one run, or where the stage folds one for each tile, which follows
  /// the same tile of the unit before.
  constexpr void emit(int s, int u, int rank) {
    Flow& flow = f;
    const stage_facts k = stages.facts[s];
    const stage_lists& list = stages.lists[s];
    const int group = u / k.per_group;
    tile_work work = k.work;
    int target = rank, buffer = 0, filled_after = -1;
    if (k.route != stage_route::local) {
      if (k.stay.tiles > 0 && rotation_of(c, u) == 0) work = k.stay;
      target = k.route == stage_route::to_receiver ? receiver_of(c, rank, u) : source_of(c, rank, u);
    }
    if (k.scales && work.duration > c.overhead) work.duration = scaled(c.stage[s], work.duration, u);
    if (k.windowed) buffer = c.window.buffer[group];
    if (k.fills >= 0) filled_after = c.window.previous[group];
    const bool follows = k.before_tile >= 0 && u % k.units_in_a_sum != 0;
    const int number[unit_numbers] = {u - group * k.per_group, u, group, 0, buffer};
    const int own = rank == 0 ? 0 : rank * at.events_per_rank, there = target == 0 ? 0 : target * at.events_per_rank;
    const int own_slots = rank == 0 ? 0 : rank * at.slots_per_rank;
    const int their_slots = target == 0 ? 0 : target * at.slots_per_rank;
    const int tiles = k.folds ? 1 : work.tiles;
    task t{};
    t.kind = work.kind;
    t.rank = rank;
    t.duration = work.duration;
    t.operation = k.operation;
    for (int tile = 0; tile < work.tiles; tile += tiles) {
      taskflow_size n = flow.size;
      int next = n.waits;
      t.item = u * k.stride + tile;
      t.part = tile;
      t.wait_begin = next;
      for (int w = 0; w < k.waits; ++w) {
        const prepared_event x = list.wait[w];
        for (int e = own + x.first + number[x.by] * x.count, end = e + x.count; e < end; e = e + 1) {
          flow.wait[next] = {e, all_signals};
          next = next + 1;
        }
      }
      if (filled_after >= 0) flow.wait[next++] = {own + at.freed[k.fills] + filled_after, all_signals};
      if (follows) flow.wait[next++] = {own + k.before_tile + t.item - k.stride, all_signals};
      n.waits = next;
      next = n.signals;
      t.signal_begin = next;
      for (int g = 0; g < k.signals; ++g) {
        const prepared_event x = list.signal[g];
        const int e = k.folds && g + 1 == k.results ? own + k.result_tile + t.item
                                                    : (g < k.results ? there : own) + x.first + number[x.by];
        flow.signal[next] = e;
        flow.event[e].signals += tiles;
        next = next + 1;
      }
      n.signals = next;
      next = n.accesses;
      t.access_begin = next;
      for (int a = 0; a < k.accesses; ++a) {
        const prepared_access x = list.access[a];
        const int begin = number[x.place] * x.moved, step = a < k.reads ? 0 : x.end / work.tiles;
        const int end = begin + (a < k.reads ? x.end : step);
        int slot = x.first_slot + (a < k.reads ? own_slots : their_slots) + number[x.by] * x.slots;
        for (int past = slot + x.slots; slot < past; slot = slot + 1) {
          flow.access[next] = {slot, begin, end, x.mode, step};
          next = next + 1;
        }
      }
      n.accesses = next;
      add_run(flow, n, t, tiles);
    }
  }

  /// One unit on every rank, and what may be fetched once it is through.
  constexpr void emit_unit(int s, int u) {
    for (int rank = 0; rank < c.ranks; ++rank) emit(s, u, rank);
    if (c.window.buffers == 0) return;
    const int per_group = c.stage[s].per == grain::item ? c.space[c.stage[s].space].per_group : 1;
    if ((u + 1) % per_group != 0) return;
    for (int filler = 0; filler < c.stages; ++filler) {
      const int t = stages.facts[filler].fills;
      if (t < 0 || stages.last_reader[t] != s) continue;
      for (int g = u / per_group + 1; g < groups_of(c.space[c.tensor[t].space]); ++g)
        if (c.window.previous[g] == u / per_group)
          for (int rank = 0; rank < c.ranks; ++rank) emit(filler, g, rank);
    }
  }

  /// Stages [begin, end) interleaved by their lags over the items of their space.
  constexpr void emit_section(int begin, int end) {
    const int items = c.space[c.stage[begin].space].items;
    int longest = 0;
    for (int s = begin; s < end; ++s)
      if (longest < c.stage[s].lag) longest = c.stage[s].lag;
    for (int step = 0; step < items + longest; ++step)
      for (int s = begin; s < end; ++s) {
        const int item = step - c.stage[s].lag, unit_items = items / stages.facts[s].units;
        if (item >= 0 && item < items && (item + 1) % unit_items == 0) emit_unit(s, item / unit_items);
      }
  }

  constexpr void emit_all() {
    for (int g = 0; g < max_chain_groups && c.window.buffers > 0; ++g)
      for (int s = 0; s < c.stages; ++s)
        if (stages.facts[s].fills >= 0 && g < stages.facts[s].units && c.window.previous[g] < 0)
          for (int rank = 0; rank < c.ranks; ++rank) emit(s, g, rank);
    for (int s = 0, end = 0; s < c.stages; s = end) {
      end = s + 1;
      if (stages.facts[s].fills >= 0) continue;
      if (c.stage[s].lag == at_once) {
        for (int u = 0, units = stages.facts[s].units; u < units; ++u) emit_unit(s, u);
        continue;
      }
      while (end < c.stages && stages.section[end] == stages.section[s]) ++end;
      emit_section(s, end);
    }
  }
};

}  // namespace detail

/// Writes the taskflow of `c` into `f`, which is empty; call `seal` after it. Domain: `check(c)` is ok. Returns where
/// each tensor's events and slots are. O(tasks + accesses); O(stages · units) to size.
template <class Flow>
constexpr chain_places lower_chain(const tile_chain& c, Flow& f) {
  detail::chain_emitter<Flow> emit(c, f);
  if constexpr (Flow::stores) {
    emit.emit_all();
  } else {
    for (int s = 0; s < c.stages; ++s) emit.count(emit.stages.facts[s]);
  }
  return emit.at;
}

/// Any chain as a callable for `measure`, `build_fixed` and `planned_flow`.
struct chain_builder {
  tile_chain chain;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    lower_chain(chain, f);
  }
};

}}  // namespace hyperparallel::v0_2
