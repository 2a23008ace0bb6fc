// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of tier 0 of one device over the steps of a program, by class: the peak, what it is made of, the most of each
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

#include <hyperparallel/model/address_plan.hpp>
#include <hyperparallel/model/storage_uses.hpp>

namespace hyperparallel::inline v0_2 {

struct memory_account {
  extent_t peak = 0;
  int peak_step = -1;                          ///< of the program: the first one with that much
  extent_t at_peak[memory_class_count] = {};   ///< adds up to the peak
  extent_t most[memory_class_count] = {};      ///< of each class by itself, in any step
  extent_t resident[memory_class_count] = {};  ///< alive always: what is left between two steps of training
  friend constexpr bool operator==(const memory_account&, const memory_account&) = default;
};

namespace detail {

class memory_walk {
 public:
  constexpr memory_walk(const sharded_program& given, const program_moves& sorted, extent_t rounding)
      : p(given), moves(sorted), alignment(rounding), of(given) {}

  constexpr memory_account run() {
    change.resize((of.times + 1) * memory_class_count, 0);
    change_within.resize((p.step.size + 1) * memory_class_count, 0);
    changes.resize(of.times + 1, false);
    changes_within.resize(p.step.size + 1, false);
    for (int s = 0; s < p.storage.size; ++s) add_storage(s);
    for (int i = 0; i < p.step.size; ++i) {
      if (!p.step.item[i].is_move) continue;
      const extent_t between = kind_of(moves, p.step.item[i].index).between;
      if (between > 0)
        add_within(memory_class::buffers, i, i, rounded(between * bytes_of(type_of_move(p.step.item[i].index))));
    }
    return take_maxima();
  }

 private:
  static constexpr int written_out = storage_uses::written_out;
  static constexpr int middle = 2;

  constexpr extent_t rounded(extent_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
  constexpr data_type type_of_move(int m) const {
    return p.graph.tensor.item[p.value.item[p.move.item[m].source].tensor].type;
  }
  constexpr void add(memory_class c, int first, int last, extent_t bytes) {
    change.item[first * memory_class_count + static_cast<int>(c)] += bytes;
    change.item[(last + 1) * memory_class_count + static_cast<int>(c)] -= bytes;
    changes.item[first] = changes.item[last + 1] = true;
  }
  /// In every repetition from step `first` to step `last` of one block.
  constexpr void add_within(memory_class c, int first, int last, extent_t bytes) {
    change_within.item[first * memory_class_count + static_cast<int>(c)] += bytes;
    changes_within.item[first] = true;
    if (last + 1 >= of.blocks.item[of.block_of.item[first]].end) return;
    change_within.item[(last + 1) * memory_class_count + static_cast<int>(c)] -= bytes;
    changes_within.item[last + 1] = true;
  }

  constexpr void add_storage(int s) {
    if (p.storage.item[s].tier > 0) return;
    const storage_use& u = of.use.item[s];
    const memory_class c = of.class_of(s);
    const extent_t bytes = rounded(p.storage.item[s].bytes);
    if (of.resident.item[s]) {
      always.resident[static_cast<int>(c)] += bytes * repeats_of(p.graph, u.segment);
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
  constexpr void add_repetitions(memory_class c, int s, int count, extent_t middle_weight, bool skips, extent_t bytes) {
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

  constexpr memory_account take_maxima() {
    memory_account a = always;
    extent_t alive[memory_class_count] = {};
    for (int c = 0; c < memory_class_count; ++c) alive[c] = a.most[c] = a.at_peak[c] = a.resident[c];
    for (int c = 0; c < memory_class_count; ++c) a.peak += alive[c];
    int time = 0;
    for (const step_block& b : of.blocks) {
      const bool weighted = repeats_of(p.graph, b.segment) > written_out;
      for (int r = 0; r < b.repetitions; ++r) {
        extent_t within[memory_class_count] = {};
        for (int i = b.begin; i < b.end; ++i, ++time) {
          if (i > b.begin && !changes.item[time] && !changes_within.item[i]) continue;
          extent_t held[memory_class_count] = {}, total = 0;
          for (int c = 0; c < memory_class_count; ++c) {
            alive[c] += change.item[time * memory_class_count + c];
            within[c] += change_within.item[i * memory_class_count + c];
            total += held[c] = alive[c] + within[c];
          }
          if (weighted && r == middle) continue;
          for (int c = 0; c < memory_class_count; ++c)
            if (held[c] > a.most[c]) a.most[c] = held[c];
          if (total <= a.peak && a.peak_step >= 0) continue;
          a.peak = total;
          a.peak_step = i;
          for (int c = 0; c < memory_class_count; ++c) a.at_peak[c] = held[c];
        }
      }
    }
    return a;
  }

  const sharded_program& p;
  const program_moves& moves;
  extent_t alignment;
  storage_uses of;
  growing_array<extent_t> change;               ///< of each class at each time
  growing_array<extent_t> change_within;        ///< of each class at each step, in every repetition of its block alone
  growing_array<bool> changes, changes_within;  ///< whether any class changes then
  memory_account always{};
};

}  // namespace detail

/// The account of a program's device, whose moves are sorted. Sizes are rounded up to multiples of `alignment`.
constexpr memory_account memory_account_of(const sharded_program& p, const program_moves& moves,
                                           extent_t alignment = 1) {
  return detail::memory_walk(p, moves, alignment).run();
}
constexpr memory_account memory_account_of(const sharded_program& p, extent_t alignment = 1) {
  return memory_account_of(p, kinds_of_moves(p), alignment);
}

}  // namespace hyperparallel::inline v0_2
