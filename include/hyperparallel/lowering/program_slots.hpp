// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a program's memory lies on every device.
//
// A *place* is a storage of the program, or a block that a move stages between its steps (lowering/move_pulls.hpp), in
// tier 0. All ranks of a part have the same places. Offsets and sizes are bytes, rounded to cache lines. Complexity: O(places).

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/strategy/address_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_place {
  int tier = 0;
  extent_t offset = 0;
  extent_t bytes = 0;  ///< 0: never used
  int part = 0;
};

struct program_slots {
  growing_array<program_place> place;
  int tiers = 1;
  extent_t bytes[max_memory_tiers] = {};  ///< of every rank: those of the part that needs most
};

namespace detail {

/// The places that `a` gives the program, whose moves are `moves`.
constexpr program_slots slots_of(const sharded_program& p, const program_moves& moves, const program_addresses& a) {
  program_slots s;
  const growing_array<storage_lifetime> lives = lifetimes_of(p);
  for (int i = 0; i < p.storage.size; ++i) {
    const bool used = lives[i].always || lives[i].first <= lives[i].last;
    s.place.push({p.storage[i].tier, a.storage[i], used ? aligned(p.storage[i].bytes) : 0, p.storage[i].part});
  }
  for (int m = 0; m < p.move.size; ++m) {
    const bool staged = a.staged[m] >= 0;  // else the move is none of a step
    for (const staged_block& one : kind_of(moves, m).staged)
      s.place.push({0, staged ? a.staged[m] + one.offset : 0, staged ? aligned(one.bytes) : 0,
                    part_of_value(p, p.move[m].target)});
  }
  s.tiers = tiers_of(p);
  for (const program_place& one : s.place) s.bytes[one.tier] = larger(s.bytes[one.tier], one.offset + one.bytes);
  return s;
}
/// The same of the moves by fewest bytes.
constexpr program_slots slots_of(const sharded_program& p, const program_addresses& a) {
  return slots_of(p, kinds_of_moves(p), a);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
