// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who occupies which addresses now: ranges of one address space, each with its last tenant.
//
// A place moves into its range when it is written and is not whole there, or when it is read and held a value before the
// first step. Whoever had any of these addresses is evicted: no longer whole, while what is left of its range stays on
// record, so that a later tenant of that finds it too. Laws: ranges are disjoint, by rising begin; a place is whole iff
// it moved in or never met another since, and has not left. Complexity: `move_in` O(ranges behind the first one that it
// takes), everything else O(1) or O(log ranges).

#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

class tenancy {
 public:
  constexpr explicit tenancy(int places) { state_.resize(places, 0); }

  /// It has moved in, and nobody has taken any of its addresses since.
  constexpr bool is_whole(int place) const { return state_.item[place] == whole; }
  /// It has moved in before.
  constexpr bool is_known(int place) const { return state_.item[place] != 0; }
  /// Somebody has moved into one of these addresses.
  constexpr bool was_taken(extent_t begin, extent_t end) const {
    const int at = first_behind(begin);
    return begin < end && at < range_.size && range_.item[at].begin < end;
  }

  /// `place` takes [begin, end); `evicted()` says from whom. An empty range is nobody's.
  constexpr void move_in(int place, extent_t begin, extent_t end) {
    evicted_.clear();
    state_.item[place] = whole;
    if (begin == end) return;
    const int from = first_behind(begin);
    int to = from;
    for (; to < range_.size && range_.item[to].begin < end; ++to) {
      const int tenant = range_.item[to].tenant;
      evicted_.push(tenant);
      if (tenant != place) state_.item[tenant] = gone;
    }
    range fresh[3] = {};
    int count = 0;
    if (to > from && range_.item[from].begin < begin)
      fresh[count++] = {range_.item[from].begin, begin, range_.item[from].tenant};
    fresh[count++] = {begin, end, place};
    if (to > from && range_.item[to - 1].end > end)
      fresh[count++] = {end, range_.item[to - 1].end, range_.item[to - 1].tenant};
    shift(to, count - (to - from));
    for (int i = 0; i < count; ++i) range_.item[from + i] = fresh[i];
  }
  /// Tenants, itself among them where some of its range was still on record; one may be named twice.
  constexpr const growing_array<int>& evicted() const { return evicted_; }

  /// Its value is no longer there, and its addresses are free for the next tenant.
  constexpr void leave(int place) { state_.item[place] = gone; }

 private:
  struct range {
    extent_t begin = 0, end = 0;
    int tenant = -1;
  };
  static constexpr unsigned char whole = 1, gone = 2;

  /// The first range that ends behind `address`.
  constexpr int first_behind(extent_t address) const {
    int low = 0, high = range_.size;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (range_.item[middle].end > address)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
  /// Moves the ranges from `at` on by so many places.
  constexpr void shift(int at, int by) {
    const int size = range_.size;
    if (by > 0) {
      for (int i = 0; i < by; ++i) range_.push({});
      for (int i = size - 1; i >= at; --i) range_.item[i + by] = range_.item[i];
    } else if (by < 0) {
      for (int i = at; i < size; ++i) range_.item[i + by] = range_.item[i];
      range_.resize(size + by);
    }
  }

  growing_array<range> range_;
  growing_array<unsigned char> state_;
  growing_array<int> evicted_;
};

}}  // namespace hyperparallel::v0_2
