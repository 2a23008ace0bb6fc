// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who occupies which addresses now: ranges of one address space, each with its last tenant.
//
// A place is a block of memory with fixed addresses. It moves in when it is written and another has its addresses, or at
// its first use. It evicts all tenants of these addresses. An evicted tenant is no longer whole; the rest of its range
// stays on record, so that a later tenant of the rest evicts it again. Laws: ranges are disjoint, by rising begin; a place
// is whole if it has moved in and neither been evicted nor left since. Complexity: `move_in` O(ranges behind the first one that it
// takes), everything else O(1) or O(log ranges).

#include <hyperparallel/program/address_ranges.hpp>

namespace hyperparallel { inline namespace v0_2 {

class tenancy {
 public:
  constexpr explicit tenancy(int places) { state_.resize(places, 0); }

  /// All of the place's addresses are its own.
  constexpr bool is_whole(int place) const { return state_.item[place] == whole; }
  /// The place has moved in at least once.
  constexpr bool is_known(int place) const { return state_.item[place] != 0; }
  /// One of these addresses has had a tenant.
  constexpr bool was_taken(extent_t begin, extent_t end) const {
    const int at = first_behind(range_, begin);
    return begin < end && at < range_.size && range_.item[at].begin < end;
  }

  /// `place` takes [begin, end); `evicted()` says from whom. An empty range is nobody's.
  constexpr void move_in(int place, extent_t begin, extent_t end) {
    evicted_.clear();
    state_.item[place] = whole;
    if (begin == end) return;
    const int from = first_behind(range_, begin);
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

  /// The place is no longer whole. Its range stays on record.
  constexpr void leave(int place) { state_.item[place] = gone; }

 private:
  struct range {
    extent_t begin = 0, end = 0;
    int tenant = -1;
  };
  static constexpr unsigned char whole = 1, gone = 2;

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
