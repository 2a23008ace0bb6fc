// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the events and slots of a chain are: which grains of a tensor somebody waits for, and the numbers.
//
// An event exists for each unit of a tensor at each grain that a reader waits for, on the rank where the tensor lives;
// a slot for each unit as the tensor is held. Every rank has the same ones in the same order, so a number on rank r is
// the number on rank 0 plus r times their count. Law: a reader of a group whose items have events of their own waits
// for those, so that one signal of a tile serves both; a group has an event only where nobody reads its items.
//
// A slot's units of access are the least number that the tiles of each of its writers divide evenly. So whatever a
// stage writes is said in full, also where the writers of a slot, or what travels and what stays, differ in their
// tiles.

#include <hyperparallel/mpmd/tile_chain.hpp>
#include <hyperparallel/support/integer.hpp>
#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Numbers on rank 0 of the first event (by grain; -1: nobody waits) and slot of each tensor.
struct chain_places {
  int events_per_rank = 0, slots_per_rank = 0;
  int event[max_chain_tensors][grain_count] = {};
  int freed[max_chain_tensors] = {};  ///< of a windowed tensor: group 0's buffer is used up
  int slot[max_chain_tensors] = {};
};

/// The slot of unit `unit` (item, group or 0, as the tensor is held) of `tensor` on `rank`.
constexpr int slot_of(const tile_chain& c, const chain_places& p, int rank, int tensor, int unit) {
  return p.slot[tensor] + rank * p.slots_per_rank + (c.tensor[tensor].windowed ? c.window.buffer[unit] : unit);
}

namespace detail {

constexpr int common_multiple(int a, int b) { return a / static_cast<int>(greatest_common_divisor(a, b)) * b; }

/// Who writes each tensor and when it is written, and how many units of access each of its slots has.
struct chain_writers {
  int stage[max_chain_tensors] = {};       ///< -1 for an input
  grain complete[max_chain_tensors] = {};  ///< the least of it that is written for good while the rest is not
  int slot_units[max_chain_tensors] = {};  ///< of the tensor whose slots it takes over

  constexpr explicit chain_writers(const tile_chain& c) {
    for (int t = 0; t < c.tensors; ++t) {
      stage[t] = -1;
      complete[t] = grain::item;
      slot_units[t] = 1;
    }
    for (int s = 0; s < c.stages; ++s)
      for (int w = 0; w < c.stage[s].writes; ++w) {
        const tile_stage& from = c.stage[s];
        const int t = from.write[w], first = first_holder(c, t);
        const chain_tensor& x = c.tensor[t];
        stage[t] = s;
        complete[t] = x.space != from.space                       ? grain::whole
                      : from.folds && w == 0 && from.per < x.held ? x.held
                                                                  : from.per;
        const int stays = from.route != stage_route::local && from.stay.tiles > 0 ? from.stay.tiles : 1;
        slot_units[first] =
            common_multiple(slot_units[first], common_multiple(from.work.tiles, stays) * places_in(c, from, w));
      }
  }
  constexpr int units(const tile_chain& c, int t) const { return slot_units[first_holder(c, t)]; }

  static constexpr int first_holder(const tile_chain& c, int t) {
    while (c.tensor[t].shares >= 0) t = c.tensor[t].shares;
    return t;
  }
  /// Parts of a slot that units of the stage write each for itself: one where each has its own slot or adds to what is
  /// there.
  static constexpr int places_in(const tile_chain& c, const tile_stage& from, int w) {
    const grain held = c.tensor[from.write[w]].held;
    if (held == from.per || (from.folds && w == 0)) return 1;
    return held == grain::group ? c.space[from.space].per_group : units_of(c.space[from.space], from.per);
  }
};

/// Numbers of events and slots of a chain on rank 0.
struct chain_numbering {
  const tile_chain& c;
  chain_writers writers;
  chain_places at{};

  int most_joined_items = 0;  ///< of one tensor: a stage that joins several waits for `max_stage_waits` at most
  bool by_item[max_chain_tensors] = {};  ///< some stage waits for its items

  constexpr explicit chain_numbering(const tile_chain& chain) : c(chain), writers(chain) {
    find_joins();
    number_events();
    number_slots();
  }

  /// What of `asked` a unit of `s` has to do with: never less than the unit itself or than what its writer is done with
  /// at a time, all of a tensor of another space.
  constexpr grain met_by(const tile_stage& s, int t, grain asked) const {
    if (asked == grain::tile) return asked;
    if (c.tensor[t].space != s.space || s.per == grain::whole) return grain::whole;
    const grain least = asked < s.per ? s.per : asked;
    return least < writers.complete[t] ? writers.complete[t] : least;
  }

  constexpr void find_joins() {
    int most = 1;
    for (int s = 0; s < c.stages; ++s)
      for (int r = 0; r < c.stage[s].reads; ++r) {
        const chain_read& read = c.stage[s].read[r];
        if (writers.stage[read.tensor] >= 0 && met_by(c.stage[s], read.tensor, read.waits) == grain::item)
          by_item[read.tensor] = true;
      }
    for (int s = 0; s < c.stages; ++s) {
      int joined = 0;
      for (int r = 0; r < c.stage[s].reads; ++r) {
        const chain_read& read = c.stage[s].read[r];
        if (by_item[read.tensor] && met_by(c.stage[s], read.tensor, read.waits) == grain::group) ++joined;
      }
      if (most < joined) most = joined;
    }
    most_joined_items = (max_stage_waits - max_stage_reads - 2) / most;  // besides other reads, a window and a fold
  }

  /// Whether a group's readers wait for the events of its items, which some other stage waits for anyway.
  constexpr bool joins_items(int t, grain g) const {
    return g == grain::group && by_item[t] && c.space[c.tensor[t].space].per_group <= most_joined_items;
  }

  constexpr void number_events() {
    for (int t = 0; t < c.tensors; ++t)
      for (int g = 0; g < grain_count; ++g) at.event[t][g] = -1;
    for (int s = 0; s < c.stages; ++s)
      for (int r = 0; r < c.stage[s].reads; ++r) {
        const int t = c.stage[s].read[r].tensor;
        const grain g = met_by(c.stage[s], t, c.stage[s].read[r].waits);
        int& first = at.event[t][static_cast<int>(g)];
        if (first >= 0 || writers.stage[t] < 0 || joins_items(t, g)) continue;
        const tile_stage& writer = c.stage[writers.stage[t]];
        first = at.events_per_rank;
        at.events_per_rank += g == grain::tile ? units_of(c.space[writer.space], writer.per) * stride_of(writer)
                                               : units_of(c.space[c.tensor[t].space], g);
      }
  }

  constexpr int slots_of(const chain_tensor& x) const {
    return x.shares >= 0 ? 0 : x.windowed ? c.window.buffers : units_of(c.space[x.space], x.held);
  }

  constexpr void number_slots() {
    for (int t = 0; t < c.tensors; ++t) {
      const chain_tensor& x = c.tensor[t];
      at.slot[t] = x.shares >= 0 ? at.slot[x.shares] : at.slots_per_rank;
      at.slots_per_rank += slots_of(x);
      if (!x.windowed) continue;
      at.freed[t] = at.events_per_rank;
      at.events_per_rank += groups_of(c.space[x.space]);
    }
  }

  /// The events and slots of one rank.
  template <class Flow>
  constexpr void declare(Flow& f, int rank) const {
    std::int64_t used[2] = {};
    add_event(f, rank, at.events_per_rank);
    for (int t = 0; t < c.tensors; ++t) {
      const chain_tensor& x = c.tensor[t];
      const std::int64_t stride = ceil_divide(x.bytes, 64) * 64;
      add_slot(f, rank, x.tier, used[x.tier], x.bytes, slots_of(x), stride);
      used[x.tier] += slots_of(x) * stride;
    }
  }
};

}  // namespace detail
}}  // namespace hyperparallel::v0_2
