// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a chain of operators over tiles to a taskflow: one run of tasks for each unit of each stage.
//
// Laws: stages of one section are interleaved by their lags, the others run one after the other; a tensor that comes
// back to its source or goes to its receiver is written and signalled there; a windowed tensor's next tenant is fetched
// right behind the last use of the tenant before. Source: software pipelining of a loop over blocks (Lam 1988), with
// the lags as its stages.

#include <hyperparallel/mpmd/chain_stages.hpp>

namespace hyperparallel::inline v0_2 {

namespace detail {

template <class Flow>
struct chain_emitter {
  const tile_chain& c;
  Flow& f;
  chain_numbering numbers;
  stage_preparation stages;
  const chain_places& at;
  task_draft draft{};

  constexpr chain_emitter(const tile_chain& chain, Flow& target)
      : c(chain), f(target), numbers(chain), stages(numbers), at(numbers.at) {
    for (int rank = 0; rank < c.ranks; ++rank) numbers.declare(f, rank);
  }
  chain_emitter(const chain_emitter&) = delete;
  chain_emitter& operator=(const chain_emitter&) = delete;

  /// Picoseconds of a tile of unit `u`: its share of rows, above the overhead.
  constexpr std::int64_t scaled(const tile_stage& k, std::int64_t full, int u) const {
    const tile_space& space = c.space[k.space];
    if (space.rows == nullptr || k.per == grain::whole || full <= c.overhead) return full;
    const int items = k.per == grain::item ? 1 : space.per_group;
    std::int64_t rows = 0;
    for (int i = u * items; i < (u + 1) * items; ++i) rows += space.rows[i];
    const double share = static_cast<double>(rows) / (static_cast<double>(items) * space.row_block);
    return c.overhead + static_cast<std::int64_t>(static_cast<double>(full - c.overhead) * share);
  }

  /// All accesses of a unit, into the draft; where it has no room for them, they are added to the last task, as those
  /// of tile `tile`.
  constexpr void add_accesses(const prepared_stage& p, const int* number, int tiles, int own, int there, int tile) {
    for (int a = 0; a < p.accesses; ++a) {
      const prepared_access& x = p.access[a];
      const int moved = number[static_cast<int>(x.place)] * x.moved;
      const int step = a < p.reads ? 0 : x.end / tiles, end = a < p.reads ? x.end : step;
      const int first = x.first_slot + (a < p.reads ? own : there) +
                        (x.windowed ? c.window.buffer[number[2]] : number[static_cast<int>(x.by)] * x.slots);
      for (int i = 0; i < x.slots; ++i)
        if (tile >= 0)
          add_access(f, first + i, moved + tile * step, moved + tile * step + end, x.mode);
        else
          draft.access[draft.accesses++] = {first + i, moved, moved + end, x.mode, step};
    }
  }

  /// Whether the tile `u` of a fold follows one of the unit before.
  constexpr bool follows_a_tile(const tile_stage& k, const prepared_stage& p, int u) const {
    const tile_space& space = c.space[k.space];
    return p.before_tile >= 0 && u % (c.tensor[k.write[0]].held == grain::group ? space.per_group : space.items) != 0;
  }

  /// The sizing pass: what `emit` adds, without its numbers. A tenth of its steps.
  constexpr void count(const tile_stage& k, const prepared_stage& p, int tiles, int u, int group) {
    const int lists = k.folds || p.access_total > max_draft_accesses ? tiles : 1;
    const bool waits_for_buffer = p.fills >= 0 && c.window.previous[group] >= 0;
    const int waits = p.wait_total + (waits_for_buffer ? 1 : 0) + (follows_a_tile(k, p, u) ? 1 : 0);
    taskflow_size& n = f.size;
    n.tasks += tiles;
    n.runs += lists;
    n.waits += lists * waits;
    n.signals += lists * p.signals;
    n.accesses += lists * p.access_total;
    n.signal_uses += tiles * p.signals;
    n.access_uses += tiles * p.access_total;
  }

  /// The tasks of unit `u` of stage `s` on `rank`.
  constexpr void emit(int s, int u, int rank) {
    const tile_stage& k = c.stage[s];
    const prepared_stage& p = stages.prepared[s];
    const bool routed = k.route != stage_route::local;
    const tile_work& work = routed && k.stay.tiles > 0 && rotation_of(c, u) == 0 ? k.stay : k.work;
    if constexpr (!Flow::stores) {
      count(k, p, work.tiles, u, k.per == grain::item ? u / c.space[k.space].per_group : u);
      return;
    }
    const int target = !routed                               ? rank
                       : k.route == stage_route::to_receiver ? receiver_of(c, rank, u)
                                                             : source_of(c, rank, u);
    const int per_group = c.space[k.space].per_group, group = k.per == grain::item ? u / per_group : u;
    const int number[grain_count] = {u - group * per_group, u, group, 0};  // the first: place in its group
    draft.task.kind = work.kind;
    draft.task.rank = rank;
    draft.task.duration = scaled(k, work.duration, u);
    draft.task.operation = k.operation;
    draft.task.item = u * stride_of(k);
    draft.waits = draft.signals = draft.accesses = 0;
    const int own = rank * at.events_per_rank, there = target * at.events_per_rank;
    for (int w = 0; w < p.waits; ++w) {
      const prepared_event& x = p.wait[w];
      for (int i = 0, first = own + x.first + number[static_cast<int>(x.by)] * x.count; i < x.count; ++i)
        draft.wait[draft.waits++].event = first + i;
    }
    if (p.fills >= 0 && c.window.previous[group] >= 0)
      draft.wait[draft.waits++].event = own + at.freed[p.fills] + c.window.previous[group];
    for (int g = 0; g < p.signals; ++g)
      draft.signal[draft.signals++] =
          (g < p.results ? there : own) + p.signal[g].first + number[static_cast<int>(p.signal[g].by)];
    const bool fits = p.access_total <= max_draft_accesses;
    const int own_slots = rank * at.slots_per_rank, their_slots = target * at.slots_per_rank;
    if (fits) add_accesses(p, number, work.tiles, own_slots, their_slots, -1);
    if (fits && !k.folds) {
      append(f, draft, work.tiles);
      return;
    }
    emit_tiles(
        k, p, work.tiles, u, own, [&](int tile) { add_accesses(p, number, work.tiles, own_slots, their_slots, tile); },
        fits);
  }

  /// Tile by tile, for a fold, where each tile follows that of the unit before, and for what a draft cannot hold.
  template <class Rest>
  constexpr void emit_tiles(const tile_stage& k, const prepared_stage& p, int tiles, int u, int own, const Rest& rest,
                            bool fits) {
    const int stride = stride_of(k), waits = draft.waits;
    const bool follows = follows_a_tile(k, p, u);
    for (int q = 0; q < tiles; ++q) {
      draft.task.part = q;
      draft.waits = waits;
      if (follows) draft.wait[draft.waits++].event = own + p.before_tile + (u - 1) * stride + q;
      if (p.result_tile >= 0) draft.signal[p.results - 1] = own + p.result_tile + u * stride + q;
      append(f, draft);
      if (!fits) rest(q);
      draft.task.item += 1;
    }
    draft.task.part = 0;
  }

  /// One unit on every rank, and what may be fetched once it is through.
  constexpr void emit_unit(int s, int u) {
    for (int rank = 0; rank < c.ranks; ++rank) emit(s, u, rank);
    if (c.window.buffers == 0) return;
    const int per_group = c.stage[s].per == grain::item ? c.space[c.stage[s].space].per_group : 1;
    if ((u + 1) % per_group != 0) return;
    for (int filler = 0; filler < c.stages; ++filler) {
      const int t = stages.prepared[filler].fills;
      if (t < 0 || stages.last_reader[t] != s) continue;
      for (int g = u / per_group + 1; g < groups_of(c.space[c.tensor[t].space]); ++g)
        if (c.window.previous[g] == u / per_group)
          for (int rank = 0; rank < c.ranks; ++rank) emit(filler, g, rank);
    }
  }

  /// Stages [begin, end) interleaved by their lags over the items of their space.
  constexpr void emit_section(int begin, int end) {
    const tile_space& space = c.space[c.stage[begin].space];
    int longest = 0;
    for (int s = begin; s < end; ++s)
      if (longest < c.stage[s].lag) longest = c.stage[s].lag;
    for (int step = 0; step < space.items + longest; ++step)
      for (int s = begin; s < end; ++s) {
        const int item = step - c.stage[s].lag;
        if (item < 0 || item >= space.items) continue;
        const int unit_items = space.items / units_of(space, c.stage[s].per);
        if ((item + 1) % unit_items == 0) emit_unit(s, item / unit_items);
      }
  }

  constexpr void emit_all() {
    for (int g = 0; g < max_chain_groups && c.window.buffers > 0; ++g)
      for (int s = 0; s < c.stages; ++s)
        if (stages.prepared[s].fills >= 0 && g < groups_of(c.space[c.stage[s].space]) && c.window.previous[g] < 0)
          for (int rank = 0; rank < c.ranks; ++rank) emit(s, g, rank);
    for (int s = 0, end = 0; s < c.stages; s = end) {
      end = s + 1;
      if (stages.prepared[s].fills >= 0) continue;
      if (c.stage[s].lag == at_once) {
        for (int u = 0, units = units_of(c.space[c.stage[s].space], c.stage[s].per); u < units; ++u) emit_unit(s, u);
        continue;
      }
      while (end < c.stages && stages.section[end] == stages.section[s]) ++end;
      emit_section(s, end);
    }
  }
};

}  // namespace detail

/// Writes the taskflow of `c` into `f`, which is empty; call `seal` after it. Domain: `check(c)` is ok. O(tasks +
/// accesses). Returns where each tensor's events and slots are.
template <class Flow>
constexpr chain_places lower_chain(const tile_chain& c, Flow& f) {
  detail::chain_emitter<Flow> emit(c, f);
  emit.emit_all();
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

}  // namespace hyperparallel::inline v0_2
