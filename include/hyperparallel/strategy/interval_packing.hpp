// SPDX-License-Identifier: Apache-2.0
#pragma once
// Offsets for blocks of memory of which each is in use for an interval of steps: what is alive together never overlaps.
//
// One sweep over the steps frees what died and places what is born, the largest first, each into the smallest hole that
// takes it. Where that needs a twentieth more than the most bytes alive in one step, another sweep goes from the last
// step to the first, and the better one counts. Where that still needs a twentieth more than these bytes and those of
// residents, or more than a budget allows, blocks are placed one by one in a few orders instead, each into the smallest
// gap that is free throughout its life; where a budget asks for it, in hundreds of orders. A block that leaves and comes
// back to its address is placed by orders alone. Finding the least high water is NP-hard.
//
// Laws: no two blocks alive in the same step overlap; offsets are multiples of `storage_alignment`; alive maximum ≤ high
// water ≤ the sum of all bytes, sizes rounded up; the same blocks always get the same offsets. Complexity: the sweep
// O(blocks · (log blocks + holes)), an order O(blocks²).

#include <hyperparallel/strategy/hole_list.hpp>
#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr extent_t storage_alignment = 64;

constexpr extent_t aligned(extent_t bytes) {
  return (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
}

}  // namespace detail

/// A block of memory in use from step `first` to step `last`.
struct memory_interval {
  int first = 0;
  int last = -1;
  extent_t bytes = 0;
  life_gap away{};  ///< steps in between for which it is not needed

  /// Of one that is not, the offset is 0.
  constexpr bool is_placed() const { return first <= last && bytes > 0; }
  constexpr bool leaves() const { return away.first <= away.last; }
};

namespace detail {

struct interval_packing {
  growing_array<extent_t> offset;
  extent_t high_water = 0;
};

}  // namespace detail

/// The most bytes that are in use in one step, sizes rounded up. Domain: steps in [0, steps). O(blocks + steps).
constexpr extent_t alive_maximum(const growing_array<memory_interval>& block, int steps) {
  growing_array<extent_t> change(steps + 1, 0);
  for (int i = 0; i < block.size; ++i) {
    if (block.item[i].first > block.item[i].last) continue;
    change.item[block.item[i].first] += detail::aligned(block.item[i].bytes);
    change.item[block.item[i].last + 1] -= detail::aligned(block.item[i].bytes);
    if (!block.item[i].leaves()) continue;
    change[block[i].away.first] -= detail::aligned(block[i].bytes);
    change[block[i].away.last + 1] += detail::aligned(block[i].bytes);
  }
  extent_t alive = 0, most = 0;
  for (int i = 0; i < steps; ++i) most = larger(most, alive += change.item[i]);
  return most;
}

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
        to[i] = a < middle && (b == high || key.item[from[a]] >= key.item[from[b]]) ? from[a++] : from[b++];
    }
    int* const swapped = from;
    from = to;
    to = swapped;
  }
  if (from != number.item)
    for (int i = 0; i < n; ++i) number.item[i] = from[i];
}

/// Blocks that are placed, by falling `key`.
template <class Key>
constexpr growing_array<int> falling(const growing_array<memory_interval>& block, const Key& key_of) {
  growing_array<int> order;
  growing_array<extent_t> key(block.size, 0);
  for (int i = 0; i < block.size; ++i) {
    if (!block.item[i].is_placed()) continue;
    order.push(i);
    key.item[i] = key_of(block.item[i]);
  }
  sort_by_falling(order, key);
  return order;
}

struct placed_block {
  extent_t begin = 0, end = 0;
  int block = 0;
};

/// Places blocks in the given order. O(n²).
constexpr interval_packing pack_in_order(const growing_array<memory_interval>& block, const growing_array<int>& order) {
  interval_packing r;
  r.offset.resize(block.size, 0);
  growing_array<placed_block> placed(order.size);  // by rising begin
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

/// Blocks by their steps: those of step s are head[s], next[head[s]] …
struct blocks_by_step {
  growing_array<int> head, next;
  constexpr blocks_by_step(int steps, int blocks) {
    head.resize(steps, -1);
    next.resize(blocks, -1);
  }
  constexpr void add(int step, int block) {
    next.item[block] = head.item[step];
    head.item[step] = block;
  }
};

/// One sweep over the steps, from the first or from the last one. Domain: no block leaves.
constexpr interval_packing pack_by_sweep(const growing_array<memory_interval>& block, int steps, bool from_last) {
  interval_packing r;
  r.offset.resize(block.size, 0);
  const auto enters = [&](const memory_interval& b) { return from_last ? steps - 1 - b.last : b.first; };
  const auto ends = [&](const memory_interval& b) { return from_last ? steps - 1 - b.first : b.last; };
  const growing_array<int> by_bytes = falling(block, [](const memory_interval& b) { return b.bytes; });
  blocks_by_step born(steps, block.size), dead(steps, block.size);
  for (int i = by_bytes.size - 1; i >= 0; --i) born.add(enters(block.item[by_bytes.item[i]]), by_bytes.item[i]);
  hole_list holes;
  for (int s = 0; s < steps; ++s) {
    for (int b = s > 0 ? dead.head.item[s - 1] : -1; b >= 0; b = dead.next.item[b])
      holes.give_back(r.offset.item[b], aligned(block.item[b].bytes));
    for (int b = born.head.item[s]; b >= 0; b = born.next.item[b]) {
      r.offset.item[b] = holes.take(aligned(block.item[b].bytes));
      dead.add(ends(block.item[b]), b);
    }
    r.high_water = larger(r.high_water, holes.top());
  }
  return r;
}

/// Packs again and again with the highest block, or one chosen by a fixed sequence of numbers, moved towards the front
/// of the order, and keeps what is not worse, until `enough` bytes do.
constexpr void improve_packing(const growing_array<memory_interval>& block, growing_array<int>& order, extent_t enough,
                               extent_t most_rounds, interval_packing& best) {
  constexpr extent_t visits = 200'000'000;  // of placed blocks
  const extent_t rounds = smaller(most_rounds, visits / (extent_t{order.size} * order.size + 1));
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

/// By falling bytes, steps of life, their product, and by rising births: the best of these orders, then better ones.
constexpr interval_packing pack_by_orders(const growing_array<memory_interval>& block, extent_t enough,
                                          extent_t most_rounds) {
  growing_array<int> best_order;
  interval_packing best;
  for (int way = 0; way < 4; ++way) {
    growing_array<int> order = falling(block, [way](const memory_interval& b) {
      const extent_t lives = extent_t{b.last} - b.first + 1;
      return way == 0 ? b.bytes : way == 1 ? lives : way == 2 ? b.bytes * lives : -extent_t{b.first};
    });
    interval_packing one = pack_in_order(block, order);
    if (way > 0 && one.high_water >= best.high_water) continue;
    best = static_cast<interval_packing&&>(one);
    best_order = static_cast<growing_array<int>&&>(order);
    if (best.high_water <= enough) return best;
  }
  improve_packing(block, best_order, enough, most_rounds, best);
  return best;
}

/// Places blocks from address 0 on: within `budget` bytes where that is found, and by a long search only then; without a
/// budget, or with one below the least, within a twentieth of the least, and of what is `resident` beside these blocks,
/// where that is found soon. Domain: steps in [0, steps).
constexpr interval_packing pack_intervals(const growing_array<memory_interval>& block, int steps, extent_t budget = 0,
                                          extent_t resident = 0) {
  const extent_t least = alive_maximum(block, steps);
  const bool asked = budget > 0 && budget >= least;
  const extent_t enough = asked ? budget : least + (least + resident) / 20;
  bool leaves = false;
  for (const memory_interval& b : block) leaves = leaves || (b.is_placed() && b.leaves());
  interval_packing swept;
  if (!leaves) {
    swept = detail::pack_by_sweep(block, steps, false);
    if (swept.high_water <= (asked ? budget : least + least / 20)) return swept;
    interval_packing back = detail::pack_by_sweep(block, steps, true);
    if (back.high_water < swept.high_water) swept = static_cast<interval_packing&&>(back);
    if (swept.high_water <= enough) return swept;
  }
  interval_packing ordered = detail::pack_by_orders(block, enough, asked ? 600 : 24);
  return leaves || ordered.high_water < swept.high_water ? ordered : swept;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
