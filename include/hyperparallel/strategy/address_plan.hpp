// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses: where each storage of a program lies in its tier of a device's memory, so that what is alive together
// never overlaps.
//
// Each tier of each part of the program is planned by itself. Whatever is alive always (homes) lies at the bottom, one after the other; above it the
// rest is packed by its intervals of life. What a move stages between its steps is placed like a storage that lives in
// the move's step, or longer where it is held.
//
// Laws: no two blocks alive in the same step overlap; offsets are multiples of `storage_alignment`; high water ≥ the
// most bytes alive in one step, sizes rounded up. It is the same on every device of a part, since blocks of all devices are
// equally large; figures of a program of several parts are those of the part that needs most. A runner that lets steps overlap has to keep the order of steps on common addresses. Complexity: that
// of `pack_intervals`; `alive_maximum` alone is O(steps + storages).

#include <hyperparallel/strategy/interval_packing.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct address_options {
  /// Bytes of tier 0 within which addresses are searched for long; 0: none.
  extent_t budget = 0;
  /// What a move reads and writes keeps its memory for so many more steps on either side, so that nobody else's turn at
  /// these addresses makes the move wait, or waits for it.
  int lookahead = 0;
};

struct program_addresses {
  growing_array<extent_t> storage;  ///< offset of each; 0 for those that no step uses
  growing_array<extent_t> staged;   ///< of each move: offset of what lies between its steps, or -1
  extent_t alive_maximum[max_memory_tiers] = {};
  extent_t high_water[max_memory_tiers] = {};
  growing_array<extent_t> of_part;  ///< high water of tier t of part k at k · max_memory_tiers + t

  constexpr extent_t high_water_of(int part, int tier = 0) const { return of_part[part * max_memory_tiers + tier]; }

  /// Of a program that is refused: `not_counted` in every tier.
  static constexpr program_addresses of_nothing() {
    program_addresses a;
    for (int t = 0; t < max_memory_tiers; ++t) a.alive_maximum[t] = a.high_water[t] = not_counted;
    return a;
  }
};

namespace detail {

/// What needs an address above the homes of a tier: storages, then the what lies between the steps of moves, in tier 0.
constexpr growing_array<memory_interval> temporaries_of(const sharded_program& p,
                                                        const growing_array<storage_lifetime>& lives,
                                                        const program_moves& moves) {
  growing_array<memory_interval> block(p.storage.size + p.move.size);
  for (int s = 0; s < p.storage.size; ++s)
    if (!lives.item[s].always)
      block.item[s] = {lives.item[s].first, lives.item[s].last, p.storage.item[s].bytes, lives.item[s].away};
  for (int i = 0; i < p.step.size; ++i) {
    if (!p.step.item[i].is_move) continue;
    const int m = p.step.item[i].index;
    block.item[p.storage.size + m] = {i, p.move.item[m].held > i ? p.move.item[m].held : i,
                                      kind_of(moves, m).staged_bytes};
  }
  return block;
}

/// The part of a storage, or of what a move stages, which lies with its target.
constexpr int part_of_block(const sharded_program& p, int block) {
  return block < p.storage.size ? p.storage.item[block].part
                                : part_of_value(p, p.move.item[block - p.storage.size].target);
}

/// Of these blocks, storages first, those of one tier of one part; the others need nothing.
constexpr growing_array<memory_interval> blocks_in(const sharded_program& p,
                                                   const growing_array<memory_interval>& block, int tier,
                                                   int part = 0) {
  growing_array<memory_interval> own = block;
  for (int i = 0; i < own.size; ++i) {
    const int lies_in = i < p.storage.size ? p.storage.item[i].tier : 0;
    if (lies_in != tier || part_of_block(p, i) != part) own[i] = {};
  }
  return own;
}

}  // namespace detail

/// Tiers that the program uses, at least one.
constexpr int tiers_of(const sharded_program& p) {
  int tiers = 1;
  for (const program_storage& s : p.storage)
    if (s.tier >= tiers) tiers = s.tier + 1;
  return tiers;
}

namespace detail {

/// Bytes of what is alive always in a tier of a part, each rounded up.
constexpr extent_t resident_bytes(const sharded_program& p, const growing_array<storage_lifetime>& lives, int tier,
                                  int part = 0) {
  extent_t bytes = 0;
  for (int s = 0; s < p.storage.size; ++s)
    if (lives.item[s].always && p.storage.item[s].tier == tier && p.storage.item[s].part == part)
      bytes += aligned(p.storage.item[s].bytes);
  return bytes;
}

}  // namespace detail

/// The most bytes of tier 0 alive in one step: what every address plan needs at least. `not_counted` of a refused program.
constexpr extent_t alive_maximum(const sharded_program& p, const program_moves& moves) {
  if (p.status.code != strategy_code::ok) return not_counted;
  const growing_array<storage_lifetime> lives = lifetimes_of(p);
  const growing_array<memory_interval> block = detail::temporaries_of(p, lives, moves);
  extent_t most = 0;
  for (int part = 0; part < parts_of(p); ++part)
    most = larger(most, detail::resident_bytes(p, lives, 0, part) +
                            alive_maximum(detail::blocks_in(p, block, 0, part), p.step.size));
  return most;
}
constexpr extent_t alive_maximum(const sharded_program& p) {
  return p.status.code != strategy_code::ok ? not_counted : alive_maximum(p, kinds_of_moves(p));
}

namespace detail {

/// Lengthens the lives of what moves read, write and stage.
constexpr void look_ahead(const sharded_program& p, int lookahead, growing_array<storage_lifetime>& lives,
                          growing_array<memory_interval>& block) {
  const auto from = [&](int step) { return step > lookahead ? step - lookahead : 0; };
  const auto to = [&](int step) { return step + lookahead < p.step.size ? step + lookahead : p.step.size - 1; };
  for (int i = 0; i < p.step.size; ++i)
    if (p.step[i].is_move)
      visit_values(p, p.step[i], [&](int v, bool) {
        storage_lifetime& l = lives[p.value[v].storage];
        if (from(i) < l.first) l.first = from(i);
        if (to(i) > l.last) l.last = to(i);
        if (i < l.away.first && to(i) >= l.away.first) l.away.first = to(i) + 1;
        if (i > l.away.last && from(i) <= l.away.last) l.away.last = from(i) - 1;
      });
  for (int s = 0; s < p.storage.size; ++s)
    if (!lives[s].always) block[s] = {lives[s].first, lives[s].last, p.storage[s].bytes, lives[s].away};
  for (int m = p.storage.size; m < block.size; ++m) {
    if (!block[m].is_placed()) continue;
    block[m].first = from(block[m].first);
    block[m].last = to(block[m].last);
  }
}

/// Of an unrolled program: what is handed over has memory of its own from the action before the one that needs it, and its
/// source keeps its memory up to the end of the sender's next action. So no hand-over waits for memory that the action before
/// it gives up, and none makes the sender wait: both sides have two buffers, as pipelines do. An action is a stretch of steps of
/// one part, stage and micro-batch, forward or backward.
constexpr void buffer_hand_overs(const sharded_program& p, growing_array<storage_lifetime>& lives,
                                 growing_array<memory_interval>& block) {
  growing_array<int> before, behind;  // of each step: where the action before its own begins; of a hand-over: where the
                                      // sender's next one ends
  growing_array<int> open, previous;  // of each part: the first step of its action, and of the one before
  before.resize(p.step.size, 0);
  behind.resize(p.step.size, p.step.size - 1);
  open.resize(parts_of(p), -1);
  previous.resize(parts_of(p), 0);
  const auto is_new = [&](int step, int since) {
    const program_step &a = p.step[since], &b = p.step[step];
    return a.stage != b.stage || a.micro_batch != b.micro_batch ||
           (a.phase == graph_phase::forward) != (b.phase == graph_phase::forward);
  };
  for (int i = 0; i < p.step.size; ++i) {
    const int part = part_of_step(p, p.step[i]);
    if (open[part] < 0 || is_new(i, open[part])) {
      previous[part] = open[part] < 0 ? i : open[part];
      open[part] = i;
    }
    before[i] = previous[part];
  }
  growing_array<int> end(parts_of(p), -1);  // of each part: the last step of the action at hand
  for (int i = p.step.size - 1; i >= 0; --i) {
    const int part = part_of_step(p, p.step[i]);
    if (end[part] < 0 || is_new(i, end[part])) end[part] = i;
    if (p.step[i].is_move && is_hand_over(p, p.move[p.step[i].index])) {
      const int sender = part_of_value(p, p.move[p.step[i].index].source);
      behind[i] = end[sender] < 0 ? i : end[sender];
    }
  }
  for (int i = 0; i < p.step.size; ++i) {
    if (!p.step[i].is_move || !is_in(p.step[i].phase, micro_phases)) continue;
    const program_move& m = p.move[p.step[i].index];
    if (!is_hand_over(p, m)) continue;
    storage_lifetime &source = lives[p.value[m.source].storage], &target = lives[p.value[m.target].storage];
    if (behind[i] > source.last) source.last = behind[i];
    if (before[i] < target.first) target.first = before[i];
  }
  for (int s = 0; s < p.storage.size; ++s)
    if (!lives[s].always) block[s] = {lives[s].first, lives[s].last, p.storage[s].bytes, lives[s].away};
}

program_addresses plan_addresses_in_library(const sharded_program& p, const program_moves& moves,
                                            const address_options& how);
constexpr program_addresses plan_addresses_here(const sharded_program& p, const program_moves& moves,
                                                const address_options& how) {
  if (p.status.code != strategy_code::ok) return program_addresses::of_nothing();
  growing_array<storage_lifetime> lives = lifetimes_of(p);
  growing_array<memory_interval> block = temporaries_of(p, lives, moves);
  if (how.lookahead > 0) detail::look_ahead(p, how.lookahead, lives, block);
  if (p.unrolled && !p.part.empty()) detail::buffer_hand_overs(p, lives, block);
  program_addresses a;
  a.storage.resize(p.storage.size, 0);
  a.staged.resize(p.move.size, -1);
  a.of_part.resize(parts_of(p) * max_memory_tiers, 0);
  const int tiers = tiers_of(p);
  for (int i = 0; i < parts_of(p) * tiers; ++i) {
    const int part = i / tiers, tier = i % tiers;
    const growing_array<memory_interval> own = blocks_in(p, block, tier, part);
    const extent_t bottom = resident_bytes(p, lives, tier, part);
    const extent_t budget = tier == 0 && how.budget > bottom ? how.budget - bottom : 0;
    const interval_packing packed = pack_intervals(own, p.step.size, budget, bottom);
    extent_t resident = 0;
    for (int s = 0; s < p.storage.size; ++s) {
      if (p.storage.item[s].tier != tier || p.storage.item[s].part != part) continue;
      if (lives.item[s].always) {
        a.storage.item[s] = resident;
        resident += aligned(p.storage.item[s].bytes);
      } else if (lives.item[s].first <= lives.item[s].last) {
        a.storage.item[s] = bottom + packed.offset.item[s];
      }
    }
    for (int m = 0; tier == 0 && m < p.move.size; ++m)
      if (own.item[p.storage.size + m].bytes > 0) a.staged.item[m] = bottom + packed.offset.item[p.storage.size + m];
    const extent_t alive = bottom + alive_maximum(own, p.step.size), high = bottom + packed.high_water;
    a.alive_maximum[tier] = larger(a.alive_maximum[tier], alive);
    a.high_water[tier] = larger(a.high_water[tier], high);
    a.of_part[part * max_memory_tiers + tier] = high;
  }
  return a;
}

}  // namespace detail

/// Addresses of everything. Of a refused program `program_addresses::of_nothing()`. Domain: no segment of the program
/// repeats; `moves` are its moves.
constexpr program_addresses plan_addresses(const sharded_program& p, const program_moves& moves,
                                           const address_options& how = {}) {
  HYPERPARALLEL_TWIN(detail::plan_addresses_in_library(p, moves, how));
  return detail::plan_addresses_here(p, moves, how);
}

/// The same of the moves by fewest bytes.
constexpr program_addresses plan_addresses(const sharded_program& p, const address_options& how = {}) {
  if (p.status.code != strategy_code::ok) return program_addresses::of_nothing();
  return plan_addresses(p, kinds_of_moves(p), how);
}

/// Whether addresses of tier 0 that lie within so many bytes are found, alignment and gaps included. Domain: as
/// `plan_addresses`. Law: then what is alive at once fits too.
constexpr bool fits(const sharded_program& p, extent_t bytes) {
  return plan_addresses(p, {.budget = bytes}).high_water[0] <= bytes;
}

}}  // namespace hyperparallel::v0_2
