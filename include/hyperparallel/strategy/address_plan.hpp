// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses: where each storage of a program lies in its tier of a device's memory, so that what is alive together
// never overlaps.
//
// Each tier is planned by itself. Whatever is alive always (homes) lies at the bottom, one after the other. Above it
// the rest is placed one by one, each into the smallest gap that is free throughout its life, the lowest of equals; the
// best of a few orders counts, and the first that needs no more than is alive at once ends the search. Blocks between
// the steps of a move are placed like storages that live in the move's step.
//
// Laws: no two blocks alive in the same step overlap; offsets are multiples of `storage_alignment`; high water ≥ the
// most bytes alive in one step, sizes rounded up. It is the same on every device, since blocks of all devices are
// equally large. A runner that lets steps overlap has to keep the order of steps on common addresses.
// Finding the least high water is NP-hard. O(orders · storages²); `alive_maximum` alone is O(steps + storages) and what
// a constant evaluation asks for.

#include <hyperparallel/strategy/lifetimes.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr extent_t storage_alignment = 64;

constexpr extent_t aligned(extent_t bytes) {
  return (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
}

/// A block of memory in use from step `first` to step `last`. One with first > last or without bytes needs none.
struct memory_interval {
  int first = 0;
  int last = -1;
  extent_t bytes = 0;
  life_gap away{};  ///< steps in between for which it is not needed
};

struct interval_packing {
  growing_array<extent_t> offset;
  extent_t high_water = 0;
};

struct program_addresses {
  growing_array<extent_t> storage;  ///< offset of each; 0 for those that no step uses
  growing_array<extent_t> between;  ///< of each move: offset of the block between its steps, or -1
  extent_t alive_maximum[max_memory_tiers] = {};
  extent_t high_water[max_memory_tiers] = {};

  /// Of a program that is refused: `not_counted` in every tier.
  static constexpr program_addresses of_nothing() {
    program_addresses a;
    for (int t = 0; t < max_memory_tiers; ++t) a.alive_maximum[t] = a.high_water[t] = not_counted;
    return a;
  }
};

namespace detail {

/// Sorts numbers by falling key, equal keys by number. O(n log n).
constexpr void sort_by_falling(growing_array<int>& number, const growing_array<extent_t>& key) {
  growing_array<int> other = number;
  int *from = number.item, *to = other.item;
  const int n = number.size;
  for (int width = 1; width < n; width *= 2) {
    for (int low = 0; low < n; low += 2 * width) {
      const int middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
      int a = low, b = middle;
      for (int i = low; i < high; ++i)
        to[i] = a < middle && (b == high || key[from[a]] >= key[from[b]]) ? from[a++] : from[b++];
    }
    int* const swapped = from;
    from = to;
    to = swapped;
  }
  if (from != number.item)
    for (int i = 0; i < n; ++i) number.item[i] = from[i];
}

struct placed_block {
  extent_t begin = 0, end = 0;
  int block = 0;
};

/// Places blocks in the given order. O(n²).
constexpr interval_packing pack_in_order(const growing_array<memory_interval>& block, const growing_array<int>& order) {
  interval_packing r;
  r.offset.resize(block.size, 0);
  growing_array<placed_block> placed;  // by rising begin
  placed.resize(order.size);
  int count = 0;
  for (int i = 0; i < order.size; ++i) {
    const memory_interval& b = block[order[i]];
    const extent_t bytes = aligned(b.bytes);
    extent_t edge = 0, chosen = -1, tightest = 0;
    for (int k = 0; k < count; ++k) {
      const placed_block& other = placed.item[k];
      const memory_interval& o = block.item[other.block];
      if (!alive_together(o.first, o.last, o.away, b.first, b.last, b.away)) continue;
      const extent_t gap = other.begin - edge;
      if (gap >= bytes && (chosen < 0 || gap < tightest)) {
        chosen = edge;
        tightest = gap;
      }
      if (other.end > edge) edge = other.end;
    }
    if (chosen < 0) chosen = edge;
    r.offset[order[i]] = chosen;
    r.high_water = larger(r.high_water, chosen + bytes);
    int at = count++;
    for (; at > 0 && placed.item[at - 1].begin > chosen; --at) placed.item[at] = placed.item[at - 1];
    placed.item[at] = {chosen, chosen + bytes, order[i]};
  }
  return r;
}

}  // namespace detail

/// The most bytes that are in use in one step, sizes rounded up. Domain: steps in [0, steps). O(blocks + steps).
constexpr extent_t alive_maximum(const growing_array<memory_interval>& block, int steps) {
  growing_array<extent_t> change;
  change.resize(steps + 1, 0);
  for (int i = 0; i < block.size; ++i) {
    if (block[i].first > block[i].last) continue;
    change[block[i].first] += aligned(block[i].bytes);
    change[block[i].last + 1] -= aligned(block[i].bytes);
    if (block[i].away.first > block[i].away.last) continue;
    change[block[i].away.first] -= aligned(block[i].bytes);
    change[block[i].away.last + 1] += aligned(block[i].bytes);
  }
  extent_t alive = 0, most = 0;
  for (int i = 0; i < steps; ++i) most = larger(most, alive += change[i]);
  return most;
}

namespace detail {

/// Packs again and again with the highest block, or one chosen by a fixed sequence of numbers, moved towards the front
/// of the order, and keeps what is not worse, until it is within half a per cent of the least.
constexpr void improve_packing(const growing_array<memory_interval>& block, growing_array<int>& order, extent_t least,
                               interval_packing& best) {
  constexpr extent_t visits = 200'000'000;  // of placed blocks
  constexpr extent_t most_rounds = 600;
  const extent_t rounds = smaller(most_rounds, visits / (extent_t{order.size} * order.size + 1));
  const extent_t enough = least + least / 200;
  unsigned number = 1;
  for (extent_t round = 0; round < rounds && best.high_water > enough; ++round) {
    int highest = 0;
    for (int i = 0; i < order.size; ++i)
      if (best.offset[order[i]] + aligned(block[order[i]].bytes) == best.high_water) highest = i;
    number = number * 1664525u + 1013904223u;
    const int from = round % 3 == 2 ? static_cast<int>((number >> 8) % static_cast<unsigned>(order.size)) : highest;
    number = number * 1664525u + 1013904223u;
    const int to = from > 0 ? static_cast<int>((number >> 8) % static_cast<unsigned>(from)) : 0;
    growing_array<int> tried = order;
    for (int i = from; i > to; --i) tried[i] = tried[i - 1];
    tried[to] = order[from];
    interval_packing one = pack_in_order(block, tried);
    if (one.high_water > best.high_water) continue;
    best = static_cast<interval_packing&&>(one);
    order = static_cast<growing_array<int>&&>(tried);
  }
}

}  // namespace detail

/// Places blocks from address 0 on. `least` is their alive maximum.
constexpr interval_packing pack_intervals(const growing_array<memory_interval>& block, extent_t least) {
  growing_array<int> needed, best_order;
  for (int i = 0; i < block.size; ++i)
    if (block[i].first <= block[i].last && block[i].bytes > 0) needed.push(i);
  growing_array<extent_t> key;
  key.resize(block.size, 0);
  interval_packing best;
  for (int way = 0; way < 4; ++way) {
    for (int i = 0; i < block.size; ++i) {
      const extent_t lives = extent_t{block[i].last} - block[i].first + 1;
      key[i] = way == 0 ? block[i].bytes : way == 1 ? lives : way == 2 ? block[i].bytes * lives : -block[i].first;
    }
    growing_array<int> order = needed;
    detail::sort_by_falling(order, key);
    interval_packing one = detail::pack_in_order(block, order);
    if (way > 0 && one.high_water >= best.high_water) continue;
    best = static_cast<interval_packing&&>(one);
    best_order = static_cast<growing_array<int>&&>(order);
    if (best.high_water <= least) break;
  }
  detail::improve_packing(block, best_order, least, best);
  return best;
}

/// What needs an address above the homes of a tier: storages, then the blocks between the steps of moves, in tier 0.
constexpr growing_array<memory_interval> temporaries_of(const sharded_program& p,
                                                        const growing_array<storage_lifetime>& lives,
                                                        const program_moves& moves) {
  growing_array<memory_interval> block;
  block.resize(p.storage.size + p.move.size);
  for (int s = 0; s < p.storage.size; ++s)
    if (!lives[s].always) block[s] = {lives[s].first, lives[s].last, p.storage[s].bytes, lives[s].away};
  for (int i = 0; i < p.step.size; ++i) {
    if (!p.step[i].is_move) continue;
    const int m = p.step[i].index;
    const data_type type = p.graph.tensor[p.value[p.move[m].source].tensor].type;
    block[p.storage.size + m] = {i, i, kind_of(moves, m).between * bytes_of(type)};
  }
  return block;
}

/// Of these blocks, storages first, those of one tier; the others need nothing.
constexpr growing_array<memory_interval> blocks_in(const sharded_program& p,
                                                   const growing_array<memory_interval>& block, int tier) {
  growing_array<memory_interval> own = block;
  for (int i = 0; i < own.size; ++i)
    if ((i < p.storage.size ? p.storage[i].tier : 0) != tier) own[i] = {};
  return own;
}

/// Tiers that the program uses, at least one.
constexpr int tiers_of(const sharded_program& p) {
  int tiers = 1;
  for (const program_storage& s : p.storage)
    if (s.tier >= tiers) tiers = s.tier + 1;
  return tiers;
}

/// Bytes of what is alive always in a tier, each rounded up.
constexpr extent_t resident_bytes(const sharded_program& p, const growing_array<storage_lifetime>& lives, int tier) {
  extent_t bytes = 0;
  for (int s = 0; s < p.storage.size; ++s)
    if (lives[s].always && p.storage[s].tier == tier) bytes += aligned(p.storage[s].bytes);
  return bytes;
}

/// The most bytes of tier 0 alive in one step: what every address plan needs at least. `not_counted` of a refused program.
constexpr extent_t alive_maximum(const sharded_program& p) {
  if (p.status.code != strategy_code::ok) return not_counted;
  const growing_array<storage_lifetime> lives = lifetimes_of(p);
  return resident_bytes(p, lives, 0) +
         alive_maximum(blocks_in(p, temporaries_of(p, lives, kinds_of_moves(p)), 0), p.step.size);
}

/// Addresses of everything whose lifetimes are `lives`, with what `temporaries_of` says of them, or longer ones. Of a
/// refused program `program_addresses::of_nothing()`.
constexpr program_addresses plan_addresses(const sharded_program& p, const growing_array<storage_lifetime>& lives,
                                           const growing_array<memory_interval>& block) {
  if (p.status.code != strategy_code::ok) return program_addresses::of_nothing();
  program_addresses a;
  a.storage.resize(p.storage.size, 0);
  a.between.resize(p.move.size, -1);
  for (int tier = 0, tiers = tiers_of(p); tier < tiers; ++tier) {
    const growing_array<memory_interval> own = blocks_in(p, block, tier);
    const extent_t least = alive_maximum(own, p.step.size), bottom = resident_bytes(p, lives, tier);
    const interval_packing packed = pack_intervals(own, least);
    extent_t resident = 0;
    for (int s = 0; s < p.storage.size; ++s) {
      if (p.storage[s].tier != tier) continue;
      if (lives[s].always) {
        a.storage[s] = resident;
        resident += aligned(p.storage[s].bytes);
      } else if (lives[s].first <= lives[s].last) {
        a.storage[s] = bottom + packed.offset[s];
      }
    }
    for (int m = 0; tier == 0 && m < p.move.size; ++m)
      if (own[p.storage.size + m].bytes > 0) a.between[m] = bottom + packed.offset[p.storage.size + m];
    a.alive_maximum[tier] = bottom + least;
    a.high_water[tier] = bottom + packed.high_water;
  }
  return a;
}

/// Addresses of everything. Domain: no segment of the program repeats.
constexpr program_addresses plan_addresses(const sharded_program& p) {
  const growing_array<storage_lifetime> lives = lifetimes_of(p);
  return plan_addresses(p, lives, temporaries_of(p, lives, kinds_of_moves(p)));
}

/// Whether the planned addresses of tier 0 lie within so many bytes, alignment and gaps included. Domain: as
/// `plan_addresses`. Law: then what is alive at once fits too.
constexpr bool fits(const sharded_program& p, extent_t bytes) { return plan_addresses(p).high_water[0] <= bytes; }

}}  // namespace hyperparallel::v0_2
