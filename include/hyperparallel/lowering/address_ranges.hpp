// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges of addresses, each with what is known of it: what a new range covers of others is gone, what it leaves of them
// stays as it was.
//
// They lie in blocks of at most 16, the blocks in a list by rising address, so that a new range moves the ranges of its
// block and not all behind it. Laws: ranges are disjoint, none is empty; they are visited by rising begin. Complexity:
// `first_met` O(log ranges), `visit` that and the ranges that are met; `put` that as well, and O(ranges / 16) where a block
// is split or emptied, which is once in eight ranges that are added at most.

#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `Range` has `begin` and `end`.
template <class Range>
class address_ranges {
 public:
  /// The first range that meets [begin, end), or none. Good until the next `put`.
  constexpr const Range* first_met(extent_t begin, extent_t end) const {
    const int at = block_behind(begin);
    if (at == order_.size) return nullptr;
    const int block = order_.item[at];
    const Range* const first = item_.item + (block * room + behind(block, begin));
    return first->begin < end ? first : nullptr;
  }

  /// Calls `visit(range)` for all that meet [begin, end).
  template <class Visit>
  constexpr void visit(extent_t begin, extent_t end, const Visit& visit) const {
    for (int at = block_behind(begin), n = order_.size; at < n; ++at) {
      const int block = order_.item[at], size = size_.item[block];
      const Range* const item = item_.item + block * room;
      for (int i = behind(block, begin); i < size; ++i) {
        if (item[i].begin >= end) return;
        visit(item[i]);
      }
    }
  }

  /// `fresh` takes its addresses from all others. Domain: it is not empty.
  constexpr void put(const Range& fresh) {
    const int at = block_with_room(fresh.begin), block = order_.item[at];
    const int from = behind(block, fresh.begin);
    int to = from;
    Range piece[3] = {}, last = fresh;
    int pieces = 0;
    for (const Range* const item = item_.item + block * room; to < size_.item[block] && item[to].begin < fresh.end;
         ++to)
      last = item[to];
    if (to > from && item_.item[block * room + from].begin < fresh.begin) {
      piece[pieces] = item_.item[block * room + from];
      piece[pieces++].end = fresh.begin;
    }
    piece[pieces++] = fresh;
    if (to == size_.item[block]) take_from_next(at, fresh.end, last);
    if (last.end > fresh.end) {
      piece[pieces] = last;
      piece[pieces++].begin = fresh.end;
    }
    replace(block, from, to, piece, pieces);
  }

 private:
  static constexpr int room = 16;

  /// The first block that has a range which ends behind `address`; their number where none does.
  constexpr int block_behind(extent_t address) const {
    int low = 0, high = order_.size;
    while (low < high) {
      const int middle = (low + high) / 2, block = order_.item[middle];
      if (item_.item[block * room + size_.item[block] - 1].end > address)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
  /// The first range of a block that ends behind `address`; their number where none does.
  constexpr int behind(int block, extent_t address) const {
    const Range* const item = item_.item + block * room;
    int low = 0, high = size_.item[block];
    while (low < high) {
      const int middle = (low + high) / 2;
      if (item[middle].end > address)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  /// The place in the list of the block for what begins there: two more ranges have room in it.
  constexpr int block_with_room(extent_t begin) {
    int at = block_behind(begin);
    if (at == order_.size && at > 0) --at;
    if (order_.size == 0) insert_block(0);
    const int block = order_.item[at], size = size_.item[block];
    if (size + 2 <= room) return at;
    const int upper = insert_block(at + 1), half = size / 2;
    for (int i = half; i < size; ++i) item_.item[upper * room + i - half] = item_.item[block * room + i];
    size_.item[upper] = size - half;
    size_.item[block] = half;
    return item_.item[block * room + half - 1].end > begin ? at : at + 1;
  }
  constexpr int insert_block(int at) {
    int block = size_.size;
    if (spare_.size > 0) {
      block = spare_.last();
      spare_.resize(spare_.size - 1);
    } else {
      size_.push(0);
      item_.resize(item_.size + room);
    }
    order_.push(block);
    for (int k = order_.size - 1; k > at; --k) order_.item[k] = order_.item[k - 1];
    order_.item[at] = block;
    return block;
  }

  /// Takes what begins before `end` out of the blocks behind the one at `at`; the last of these ranges is `last`.
  constexpr void take_from_next(int at, extent_t end, Range& last) {
    int emptied = 0;
    for (int k = at + 1; k < order_.size; ++k) {
      const int block = order_.item[k], size = size_.item[block];
      const Range* const item = item_.item + block * room;
      int met = 0;
      for (; met < size && item[met].begin < end; ++met) last = item[met];
      if (met < size) {
        replace(block, 0, met, item, 0);
        break;
      }
      spare_.push(block);
      ++emptied;
    }
    if (emptied == 0) return;
    for (int k = at + 1 + emptied; k < order_.size; ++k) order_.item[k - emptied] = order_.item[k];
    order_.resize(order_.size - emptied);
  }

  /// `count` ranges in place of those from `from` to `to` of a block.
  constexpr void replace(int block, int from, int to, const Range* fresh, int count) {
    Range* const item = item_.item + block * room;
    const int size = size_.item[block], by = count - (to - from);
    if (by > 0)
      for (int i = size - 1; i >= to; --i) item[i + by] = item[i];
    if (by < 0)
      for (int i = to; i < size; ++i) item[i + by] = item[i];
    if (by != 0) size_.item[block] = size + by;
    for (int i = 0; i < count; ++i) item[from + i] = fresh[i];
  }

  growing_array<Range> item_;  // of block b from b · room
  growing_array<int> size_;    // of each block
  growing_array<int> order_;   // blocks by rising address, none empty
  growing_array<int> spare_;   // blocks that were emptied
};

}}  // namespace hyperparallel::v0_2
