// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a program's memory lies on every device, and which parts of it take turns at one address.
//
// A *place* is a storage of the program, or a block that a move stages between its steps (program/move_pulls.hpp), in
// tier 0. Places that share addresses, directly or through others, lie in one slot of memory; any other place is a slot of
// its own. All ranks have the same places. Offsets and sizes are bytes, rounded to cache lines. Laws: slots are disjoint
// and in address order; two places overlap iff one is listed with the other. Complexity: O(places log places +
// overlapping pairs).

#include <hyperparallel/program/move_pulls.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_place {
  int tier = 0;
  extent_t offset = 0;
  extent_t bytes = 0;  ///< 0: never used
};

struct program_slots {
  growing_array<program_place> place;
  growing_array<slot> memory;        ///< of rank 0
  growing_array<int> overlap_begin;  ///< of each place: which others share addresses with it
  growing_array<int> overlap;
  int tiers = 1;
  extent_t bytes[max_memory_tiers] = {};  ///< of every rank
};

namespace detail {

constexpr bool lies_before(const program_place& a, const program_place& b) {
  return a.tier != b.tier ? a.tier < b.tier : a.offset < b.offset;
}

/// Places by tier and ascending offset: a merge sort of runs of doubling length.
constexpr growing_array<int> places_by_offset(const growing_array<program_place>& place) {
  growing_array<int> order, merged;
  for (int i = 0; i < place.size; ++i) order.push(i);
  merged.resize(place.size, 0);
  for (int run = 1; run < place.size; run *= 2) {
    for (int low = 0; low < place.size; low += 2 * run) {
      const int middle = low + run < place.size ? low + run : place.size;
      const int high = low + 2 * run < place.size ? low + 2 * run : place.size;
      for (int i = low, j = middle, k = low; k < high; ++k) {
        const bool right = j < high && (i == middle || lies_before(place[order[j]], place[order[i]]));
        merged[k] = right ? order[j++] : order[i++];
      }
    }
    for (int i = 0; i < place.size; ++i) order[i] = merged[i];
  }
  return order;
}

constexpr void find_overlaps(program_slots& s, const growing_array<int>& order) {
  growing_array<int> first, second;
  growing_array<int> live;  // places whose end is not yet behind
  s.overlap_begin.resize(s.place.size + 1, 0);
  for (const int i : order) {
    if (s.place[i].bytes == 0) continue;
    int kept = 0;
    for (const int k : live) {
      if (s.place[k].tier != s.place[i].tier || s.place[k].offset + s.place[k].bytes <= s.place[i].offset) continue;
      live[kept++] = k;
      first.push(i);
      second.push(k);
      ++s.overlap_begin[i + 1];
      ++s.overlap_begin[k + 1];
    }
    live.resize(kept);
    live.push(i);
  }
  growing_array<int> next;
  for (int i = 0; i < s.place.size; ++i) {
    s.overlap_begin[i + 1] += s.overlap_begin[i];
    next.push(s.overlap_begin[i]);
  }
  s.overlap.resize(2 * first.size, 0);
  for (int k = 0; k < first.size; ++k) {
    s.overlap[next[first[k]]++] = second[k];
    s.overlap[next[second[k]]++] = first[k];
  }
}

constexpr void find_slots(program_slots& s, const growing_array<int>& order) {
  extent_t end = -1;
  int tier = 0;
  for (const int i : order) {
    const program_place& one = s.place[i];
    if (one.bytes == 0) continue;
    if (end <= one.offset || tier != one.tier) {
      s.memory.push({0, one.tier, one.offset, 0});
      tier = one.tier;
      end = -1;
    }
    slot& home = s.memory.last();
    end = larger(end, one.offset + one.bytes);
    home.bytes = end - home.offset;
  }
}

}  // namespace detail

/// The places that `a` gives the program, whose moves are `moves`.
constexpr program_slots slots_of(const sharded_program& p, const program_moves& moves, const program_addresses& a) {
  program_slots s;
  const growing_array<storage_lifetime> lives = lifetimes_of(p);
  for (int i = 0; i < p.storage.size; ++i) {
    const bool used = lives[i].always || lives[i].first <= lives[i].last;
    s.place.push({p.storage[i].tier, a.storage[i], used ? aligned(p.storage[i].bytes) : 0});
  }
  for (int m = 0; m < p.move.size; ++m) {
    const bool staged = a.staged[m] >= 0;  // else the move is none of a step
    for (const staged_block& one : kind_of(moves, m).staged)
      s.place.push({0, staged ? a.staged[m] + one.offset : 0, staged ? aligned(one.bytes) : 0});
  }
  s.tiers = tiers_of(p);
  for (const program_place& one : s.place) s.bytes[one.tier] = larger(s.bytes[one.tier], one.offset + one.bytes);
  const growing_array<int> order = detail::places_by_offset(s.place);
  detail::find_overlaps(s, order);
  detail::find_slots(s, order);
  return s;
}
/// The same of the moves by fewest bytes.
constexpr program_slots slots_of(const sharded_program& p, const program_addresses& a) {
  return slots_of(p, kinds_of_moves(p), a);
}

}}  // namespace hyperparallel::v0_2
