// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which values of each tensor are at hand while a program is put together, and which of them a new one comes from.
//
// Laws: a value at hand is never moved to again; what can be read whole is preferred to waiting terms, and of several
// whole values the one that leaves the least to receive, the earliest of equals. Where a program has several parts, values
// of the part that was entered last are at hand, and new ones are its own.

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

class version_book {
 public:
  constexpr explicit version_book(sharded_program& p) : program_(p) {}

  constexpr void enter_part(int part) { part_ = part; }
  constexpr int part() const { return part_; }

  /// Adds a value; `storage` -1 gives it memory of its own.
  constexpr int add(int tensor, const layout_value& layout, const value_rotation& rotation = {}, int storage = -1,
                    bool home = false) {
    const int v = program_.value.push({tensor, layout, rotation, storage});
    if (storage < 0)
      program_.value.item[v].storage = program_.storage.push({tensor, home, local_bytes(program_, v), 0, -1, part_});
    if (first_.size <= tensor) first_.resize(tensor + 1, -1);
    next_.push(-1);
    at_hand_.push(true);
    if (first_.item[tensor] < 0) {
      first_.item[tensor] = v;
    } else {
      int last = first_.item[tensor];
      while (next_.item[last] >= 0) last = next_.item[last];
      next_.item[last] = v;
    }
    return v;
  }

  /// The value at hand with exactly this layout, or -1.
  constexpr int find(int tensor, const layout_value& layout, const value_rotation& rotation = {}) const {
    for (int v = first(tensor); v >= 0; v = next_.item[v])
      if (at_hand(v) && program_.value.item[v].rotation == rotation && program_.value.item[v].layout == layout)
        return v;
    return -1;
  }
  /// The value at hand that has travelled so, or -1.
  constexpr int find_turned(int tensor, const value_rotation& rotation) const {
    for (int v = first(tensor); v >= 0; v = next_.item[v])
      if (at_hand(v) && program_.value.item[v].rotation == rotation) return v;
    return -1;
  }
  /// The first whole value at hand, else the first one, else -1. Rotated ones are not asked.
  constexpr int best(int tensor) const {
    int waiting = -1;
    for (int v = first(tensor); v >= 0; v = next_.item[v]) {
      if (!at_hand(v) || program_.value.item[v].rotation.by != 0) continue;
      if (!is_partial(program_.value.item[v].layout)) return v;
      if (waiting < 0) waiting = v;
    }
    return waiting;
  }
  /// Where a value with this layout is best taken from, or -1. O(values · positions) where several are whole.
  constexpr int source(int tensor, const layout_value& layout) const {
    const int fallback = best(tensor);
    int chosen = -1;
    extent_t most = -1;
    for (int v = first(tensor); v >= 0; v = next_.item[v]) {
      if (!at_hand(v) || program_.value.item[v].rotation.by != 0 || is_partial(program_.value.item[v].layout)) continue;
      if (v == fallback && !another_whole(tensor, v)) return v;
      const extent_t held = held_already(tensor, program_.value.item[v].layout, layout);
      if (held > most) {
        most = held;
        chosen = v;
      }
    }
    return chosen >= 0 ? chosen : fallback;
  }
  /// The part that has the tensor: the first whose value is at hand, preferably a whole one. -1: none.
  constexpr int part_that_has(int tensor) const {
    int found = -1;
    for (int v = first(tensor); v >= 0; v = next_.item[v]) {
      if (!at_hand_.item[v] || program_.value.item[v].rotation.by != 0) continue;
      if (!is_partial(program_.value.item[v].layout)) return detail::part_of_value(program_, v);
      if (found < 0) found = detail::part_of_value(program_, v);
    }
    return found;
  }
  constexpr void forget(int value) { at_hand_.item[value] = false; }
  /// Forgets the tensor's other values.
  constexpr void keep_only(int tensor, int value) {
    for (int v = first(tensor); v >= 0; v = next_.item[v]) at_hand_.item[v] = v == value;
  }

  /// Between forward and backward one value of each tensor stays in each part: the first whole one, else the first; homes always,
  /// and what `keeps(part, whether it belongs to a parameter)`.
  template <class Keeps>
  constexpr void enter_backward(const Keeps& keeps) {
    const int entered = part_;
    for (part_ = 0; part_ < parts_of(program_); ++part_)
      for (int t = 0; t < first_.size; ++t) {
        const bool parameter = program_.graph.tensor.item[t].kind == graph_tensor_kind::parameter;
        if (keeps(part_, parameter)) continue;
        const int kept = best(t);
        for (int v = first(t); v >= 0; v = next_.item[v])
          if (v != kept && at_hand(v) && !program_.storage.item[program_.value.item[v].storage].home)
            at_hand_.item[v] = false;
      }
    part_ = entered;
  }

 private:
  static constexpr int most_positions_asked = 64;

  constexpr bool at_hand(int v) const {
    return at_hand_.item[v] && program_.storage.item[program_.value.item[v].storage].part == part_;
  }
  constexpr int first(int tensor) const { return tensor < first_.size ? first_.item[tensor] : -1; }
  constexpr bool another_whole(int tensor, int value) const {
    for (int v = first(tensor); v >= 0; v = next_.item[v])
      if (v != value && at_hand(v) && program_.value.item[v].rotation.by == 0 &&
          !is_partial(program_.value.item[v].layout))
        return true;
    return false;
  }
  /// Elements of the target that devices hold already, over at most 64 positions.
  constexpr extent_t held_already(int tensor, const layout_value& from, const layout_value& to) const {
    const shape& s = program_.graph.tensor[tensor].shape;
    const int positions = position_count(from.mesh);
    const int stride = (positions + most_positions_asked - 1) / most_positions_asked;
    extent_t held = 0;
    for (int p = 0; p < positions; p += stride) {
      const coordinate at = coordinates_of(from.mesh, p);
      held += volume(intersection(slice_at(from, s, at), slice_at(to, s, at)));
    }
    return held;
  }

  sharded_program& program_;
  growing_array<int> first_;  ///< value of each tensor
  growing_array<int> next_;   ///< of each value: the next one of its tensor
  growing_array<bool> at_hand_;
  int part_ = 0;
};

}}  // namespace hyperparallel::v0_2
