// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is free of an address space whose ranges are taken and given back: holes below a top, and everything above it.
//
// Laws: holes are disjoint, do not touch each other or the top, and lie by rising offset; what is taken is free, the
// smallest hole that has room, the lowest of equals, else at the top; the top falls when what ends there is given back.
// Each call is O(holes).

#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class hole_list {
 public:
  /// The offset of so many bytes, which are no longer free.
  constexpr extent_t take(extent_t bytes) {
    int best = -1;
    extent_t least = 0;
    const range* const hole = hole_.item;
    for (int k = 0, n = hole_.size; k < n; ++k) {
      const extent_t room = hole[k].end - hole[k].begin;
      if (room < bytes || (best >= 0 && room >= least)) continue;
      best = k;
      least = room;
    }
    if (best < 0) {
      top_ += bytes;
      return top_ - bytes;
    }
    const extent_t begin = hole_.item[best].begin;
    hole_.item[best].begin += bytes;
    if (least == bytes) erase(best);
    return begin;
  }
  /// Frees what has been taken, as a whole or in parts.
  constexpr void give_back(extent_t begin, extent_t bytes) {
    const extent_t end = begin + bytes;
    int at = 0;
    const range* const hole = hole_.item;
    for (const int n = hole_.size; at < n && hole[at].begin < begin;) ++at;
    const bool joins_before = at > 0 && hole_.item[at - 1].end == begin;
    const bool joins_after = at < hole_.size && hole_.item[at].begin == end;
    if (joins_before && joins_after) {
      hole_.item[at - 1].end = hole_.item[at].end;
      erase(at);
    } else if (joins_before) {
      hole_.item[at - 1].end = end;
    } else if (joins_after) {
      hole_.item[at].begin = begin;
    } else {
      hole_.push({});
      for (int k = hole_.size - 1; k > at; --k) hole_.item[k] = hole_.item[k - 1];
      hole_.item[at] = {begin, end};
    }
    if (hole_.size > 0 && hole_.last().end == top_) {
      top_ = hole_.last().begin;
      hole_.resize(hole_.size - 1);
    }
  }
  /// Where everything is free from.
  constexpr extent_t top() const { return top_; }

 private:
  struct range {
    extent_t begin = 0, end = 0;
  };
  constexpr void erase(int at) {
    for (int k = at + 1; k < hole_.size; ++k) hole_.item[k - 1] = hole_.item[k];
    hole_.resize(hole_.size - 1);
  }

  growing_array<range> hole_;
  extent_t top_ = 0;
};

}}}  // namespace hyperparallel::v0_2::detail
