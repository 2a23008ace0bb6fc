// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who occupies which addresses now: ranges of one address space, each with its last tenant.
//
// A place is a block of memory with fixed addresses. It moves in when it is written and another has its addresses, or at
// its first use. It evicts all tenants of these addresses. An evicted tenant is no longer whole; the rest of its range
// stays on record, so that a later tenant of the rest evicts it again. Laws: ranges are disjoint, by rising begin; a place
// is whole if it has moved in and neither been evicted nor left since. Complexity: that of address_ranges.hpp.

#include <hyperparallel/lowering/address_ranges.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class tenancy {
 public:
  constexpr explicit tenancy(int places) { state_.resize(places, 0); }

  /// All of the place's addresses are its own.
  constexpr bool is_whole(int place) const { return state_.item[place] == whole; }
  /// The place has moved in at least once.
  constexpr bool is_known(int place) const { return state_.item[place] != 0; }
  /// One of these addresses has had a tenant.
  constexpr bool was_taken(extent_t begin, extent_t end) const {
    return begin < end && range_.first_met(begin, end) != nullptr;
  }

  /// `place` takes [begin, end); `evicted()` says from whom. An empty range is nobody's.
  constexpr void move_in(int place, extent_t begin, extent_t end) {
    evicted_.clear();
    state_.item[place] = whole;
    if (begin == end) return;
    range_.visit(begin, end, [&](const range& r) {
      evicted_.push(r.tenant);
      if (r.tenant != place) state_.item[r.tenant] = gone;
    });
    range_.put({begin, end, place});
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

  address_ranges<range> range_;
  growing_array<unsigned char> state_;
  growing_array<int> evicted_;
};

}}}  // namespace hyperparallel::v0_2::detail
