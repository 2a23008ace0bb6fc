// SPDX-License-Identifier: Apache-2.0
#pragma once
// The planner's bookkeeping of a link: how much of its time is still free, and when, as a period in slots of equal
// length, each with the time left in it. It times nothing: that is offload_clock's.
//
// Copies out take what is free from the moment they may start on, copies in what is free up to the moment they are
// needed. Laws: what is taken was free; `lacking` is what `take` leaves over; a copy that its window holds in full
// lacks nothing. Within a slot the calendar does not tell times apart, so it is an estimate. O(slots in the window).

#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

class link_calendar {
 public:
  static constexpr int slots = 128;

  constexpr link_calendar() = default;
  constexpr explicit link_calendar(extent_t period) : width_(period / slots + 1) {
    for (int i = 0; i < slots; ++i) free_[i] = width_;
  }

  /// Takes what lies in [from, to) for something that runs just then.
  constexpr void hold(extent_t from, extent_t to) {
    for (int i = slot_of(from); i <= slot_of(to); ++i) {
      const extent_t begin = larger(from, i * width_), end = smaller(to, (i + 1) * width_);
      if (end > begin) free_[i] = larger(0, free_[i] - (end - begin));
    }
  }
  /// How much of `time` finds no room in [from, to).
  constexpr extent_t lacking(extent_t time, extent_t from, extent_t to) const {
    for (int i = slot_of(from); i <= slot_of(to) && time > 0; ++i) time -= open(i, from, to);
    return larger(0, time);
  }
  /// Takes up to `time` of [from, to), its begin or its end first.
  constexpr void take(extent_t time, extent_t from, extent_t to, bool begin_first) {
    const int first = slot_of(from), last = slot_of(to);
    for (int k = 0; k <= last - first && time > 0; ++k) {
      const int i = begin_first ? first + k : last - k;
      const extent_t free = open(i, from, to), part = time < free ? time : free;
      free_[i] -= part;
      time -= part;
    }
  }

 private:
  constexpr int slot_of(extent_t t) const {
    return t <= 0 ? 0 : t / width_ >= slots ? slots - 1 : static_cast<int>(t / width_);
  }
  /// What is free of slot i within [from, to).
  constexpr extent_t open(int i, extent_t from, extent_t to) const {
    const extent_t begin = i * width_, end = begin + width_, slot = free_[i];
    const extent_t room = (to < end ? to : end) - (from > begin ? from : begin);
    return room <= 0 ? 0 : room < slot ? room : slot;
  }

  extent_t width_ = 1;
  extent_t free_[slots] = {};
};

}}  // namespace hyperparallel::v0_2
