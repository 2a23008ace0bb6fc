// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of tier 0 of one device over the steps of a program, the first of a part, by class: the peak, what it is made of, the most of each
// class.
//
//   parameters    homes of parameters              activations   what forward and backward make, gradients of it too
//   gradients     of parameters, accumulated too   buffers       what moves write and do not leave for backward, blocks
//   states        other homes but inputs                         between steps of moves, temporaries of the update
//   inputs        homes of inputs
//
// Segments: what a repetition leaves for backward or for the update is counted for every repetition, what it makes and
// ends is counted once, parameters and states `repeats` times. Law: the account of a folded program is the account of
// the program with its repetitions written out; where no segment repeats, the peak with an alignment of 64 is the alive
// maximum of address_plan.hpp. The bytes alive in repetition r are linear in r between the first two repetitions and
// the last two, and linear in the number of repetitions; so five repetitions stand for any number, the middle one is
// weighted and no maximum is taken in it. Units: bytes. O(storages + steps + moves · kinds of moves).

#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/strategy/storage_uses.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Bytes by kind, of which there are so many.
template <int Kinds>
struct memory_account_by {
  extent_t peak = 0;
  int peak_step = -1;                                  ///< of the program: the first one with that much
  extent_t at_peak[detail::array_bound(Kinds)] = {};   ///< adds up to the peak
  extent_t most[detail::array_bound(Kinds)] = {};      ///< of each kind by itself, in any step
  extent_t resident[detail::array_bound(Kinds)] = {};  ///< alive always: what is left between two steps of training
  friend constexpr bool operator==(const memory_account_by&, const memory_account_by&) = default;

  /// Of a program that is refused: `not_counted` everywhere.
  static constexpr memory_account_by of_nothing() {
    memory_account_by a;
    a.peak = not_counted;
    for (int c = 0; c < Kinds; ++c) a.at_peak[c] = a.most[c] = a.resident[c] = not_counted;
    return a;
  }
};

/// By memory_class.
using memory_account = memory_account_by<memory_class_count>;

namespace detail {

/// Sees what is alive in each step in which that changes: in place `order` of the repetitions of its block in the order of
/// play, of those that are written out, but for the middle one of many. This one ignores it.
struct unwatched_memory {
  constexpr void operator()(int, int, const extent_t*, const extent_t*) const {}
};

/// Sorts storages into `Kinds` kinds by `kind_of_storage`; what lies between steps of a move is of kind `between_moves`.
template <int Kinds, class KindOf>
class memory_walk {
 public:
  constexpr memory_walk(const sharded_program& given, const program_moves& sorted, const storage_uses& used,
                        const KindOf& sorter, int between_moves, extent_t rounding, int of_part)
      : p(given),
        moves(sorted),
        of(used),
        kind_of_storage(sorter),
        kind_between_moves(between_moves),
        alignment(rounding),
        part(of_part) {}

  template <class Watch>
  constexpr memory_account_by<Kinds> run(Watch&& watch) {
    first_at.resize(of.times + 1, -1);
    first_within.resize(p.step.size + 1, -1);
    for (int s = 0; s < p.storage.size; ++s) add_storage(s);
    for (int i = 0; i < p.step.size; ++i) {
      if (!p.step.item[i].is_move || part_of_step(p, p.step.item[i]) != part) continue;
      const extent_t staged = kind_of(moves, p.step.item[i].index).staged_bytes;
      if (staged > 0) add_within(kind_between_moves, i, i, rounded(staged));
    }
    return take_maxima(watch);
  }

 private:
  static constexpr int written_out = storage_uses::written_out;
  static constexpr int middle = 2;

  constexpr extent_t rounded(extent_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
  constexpr void add(int c, int first, int last, extent_t bytes) {
    note(first_at.item[first], c, bytes);
    note(first_at.item[last + 1], c, -bytes);
  }
  /// In every repetition from step `first` to step `last` of one block.
  constexpr void add_within(int c, int first, int last, extent_t bytes) {
    note(first_within.item[first], c, bytes);
    if (last + 1 < of.blocks.item[of.block_of.item[first]].end) note(first_within.item[last + 1], c, -bytes);
  }
  constexpr void note(int& list, int c, extent_t bytes) { list = changes.push({c, list, bytes}); }

  constexpr void add_storage(int s) {
    if (p.storage.item[s].tier > 0 || p.storage.item[s].part != part) return;
    const storage_use& u = of.use.item[s];
    const int c = kind_of_storage(s);
    const extent_t bytes = rounded(p.storage.item[s].bytes);
    if (of.resident.item[s]) {
      always.resident[c] += bytes * repeats_of(p.graph, u.segment);
      return;
    }
    if (u.first < 0) return;
    if (u.segment < 0) return add(c, u.first_outside, u.last_outside, bytes);
    if (u.next_last < 0 && u.last_outside < 0 && of.block_of.item[u.own_first] == of.block_of.item[u.own_last])
      return add_within(c, u.own_first, u.own_last, bytes);
    const extent_t repeats = repeats_of(p.graph, u.segment);
    const int count = of.repetitions_of(u.segment);
    if (repeats <= written_out || u.next_last < 0)
      return add_repetitions(c, s, count, repeats - count + 1, false, bytes);
    // What is carried over the middle has two forms: as one of five, and as one of four without it.
    add_repetitions(c, s, count, 1, false, bytes * (repeats - count + 1));
    add_repetitions(c, s, count, 1, true, bytes * (count - repeats));
  }

  /// One storage a repetition, the middle one of weight `middle_weight`. With `skips` it is left out.
  constexpr void add_repetitions(int c, int s, int count, extent_t middle_weight, bool skips, extent_t bytes) {
    const storage_use& u = of.use.item[s];
    const graph_segment& segment = p.graph.segment.item[u.segment];
    const int tensor = p.storage.item[s].tensor;
    const bool backward = tensor == segment.gradient_out, carried = tensor == segment.carried_out;
    for (int r = 0; r < count; ++r) {
      if (skips && r == middle) continue;
      int last = of.time_of(u.own_last, r), next = backward ? r - 1 : r + 1;
      if (skips && next == middle) next += next - r;
      if (u.next_last >= 0 && next >= 0 && next < count && of.time_of(u.next_last, next) > last)
        last = of.time_of(u.next_last, next);
      if ((!backward && !carried) || r == (backward ? 0 : count - 1))
        if (u.last_outside > last) last = u.last_outside;
      add(c, of.time_of(u.own_first, r), last, bytes * (r == middle ? middle_weight : 1));
    }
  }

  template <class Watch>
  constexpr memory_account_by<Kinds> take_maxima(Watch& watch) {
    memory_account_by<Kinds> a = always;
    extent_t alive[array_bound(Kinds)] = {};
    for (int c = 0; c < Kinds; ++c) alive[c] = a.most[c] = a.at_peak[c] = a.resident[c];
    for (int c = 0; c < Kinds; ++c) a.peak += alive[c];
    int time = 0;
    for (const step_block& b : of.blocks) {
      const bool weighted = repeats_of(p.graph, b.segment) > written_out;
      for (int r = 0; r < b.repetitions; ++r) {
        extent_t within[array_bound(Kinds)] = {}, total = 0;
        for (int c = 0; c < Kinds; ++c) total += alive[c];
        for (int i = b.begin; i < b.end; ++i, ++time) {
          const int at = first_at.item[time], inside = first_within.item[i];
          if (i > b.begin && at < 0 && inside < 0) continue;
          for (int k = at; k >= 0; k = changes.item[k].next) {
            alive[changes.item[k].kind] += changes.item[k].bytes;
            total += changes.item[k].bytes;
          }
          for (int k = inside; k >= 0; k = changes.item[k].next) {
            within[changes.item[k].kind] += changes.item[k].bytes;
            total += changes.item[k].bytes;
          }
          if (weighted && r == middle) continue;
          watch(i, r, alive, within);
          // A kind that does not change here had its say before, in a block's first step at the latest.
          if (i == b.begin)
            for (int c = 0; c < Kinds; ++c) a.most[c] = larger(a.most[c], alive[c] + within[c]);
          for (int k = at; k >= 0; k = changes.item[k].next) raise(a, changes.item[k].kind, alive, within);
          for (int k = inside; k >= 0; k = changes.item[k].next) raise(a, changes.item[k].kind, alive, within);
          if (total <= a.peak && a.peak_step >= 0) continue;
          a.peak = total;
          a.peak_step = i;
          for (int c = 0; c < Kinds; ++c) a.at_peak[c] = alive[c] + within[c];
        }
      }
    }
    return a;
  }
  static constexpr void raise(memory_account_by<Kinds>& a, int c, const extent_t* alive, const extent_t* within) {
    const extent_t held = alive[c] + within[c];
    if (held > a.most[c]) a.most[c] = held;
  }

  /// Bytes of a kind that begin or end, in a list of one time or step.
  struct kind_change {
    int kind;
    int next;
    extent_t bytes;
  };

  const sharded_program& p;
  const program_moves& moves;
  const storage_uses& of;
  const KindOf& kind_of_storage;
  int kind_between_moves;
  extent_t alignment;
  int part;
  growing_array<kind_change> changes;
  growing_array<int> first_at;      ///< of each time: its list in `changes`, -1
  growing_array<int> first_within;  ///< of each step: likewise, in every repetition of its block alone
  memory_account_by<Kinds> always{};
};

/// The account of a program's device by kinds of one's own: `kind_of(storage)` is from 0 to `Kinds` - 1, `between` that of
/// what lies between steps of a move. `watch` sees the account grow, see detail::unwatched_memory.
template <int Kinds, class KindOf, class Watch = detail::unwatched_memory>
constexpr memory_account_by<Kinds> memory_account_of(const sharded_program& p, const program_moves& moves,
                                                     const storage_uses& uses, const KindOf& kind_of, int between,
                                                     extent_t alignment = 1, Watch&& watch = {}, int part = 0) {
  if (p.status.code != strategy_code::ok) return memory_account_by<Kinds>::of_nothing();
  return detail::memory_walk<Kinds, KindOf>(p, moves, uses, kind_of, between, alignment, part).run(watch);
}

/// The account of a device of a part, whose moves are sorted. Sizes are rounded up to multiples of `alignment`. Of a refused
/// program it is `memory_account::of_nothing()`.
constexpr memory_account memory_account_of(const sharded_program& p, const program_moves& moves,
                                           const storage_uses& uses, extent_t alignment = 1, int part = 0) {
  return memory_account_of<memory_class_count>(
      p, moves, uses, [&](int storage) { return static_cast<int>(uses.class_of(storage)); },
      static_cast<int>(memory_class::buffers), alignment, detail::unwatched_memory{}, part);
}
constexpr memory_account memory_account_of(const sharded_program& p, const program_moves& moves,
                                           extent_t alignment = 1) {
  return memory_account_of(p, moves, storage_uses(p), alignment);
}
constexpr memory_account memory_account_of(const sharded_program& p, extent_t alignment = 1) {
  return memory_account_of(p, kinds_of_moves(p), alignment);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
