// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tasks have done to memory: ranges of addresses, each with the owner of the value there, the task of each rank
// that wrote it, and the tasks that have read that rank's range since.
//
// All ranks have the same ranges. A write makes its range one range with a history of its own; what it leaves of others
// keeps their histories, which never change again, since only a whole range is read. Laws: ranges are disjoint, by rising
// begin. Complexity: that of address_ranges.hpp.

#include <hyperparallel/lowering/address_ranges.hpp>

namespace hyperparallel { inline namespace v0_2 {

class shadow_memory {
 public:
  constexpr explicit shadow_memory(int ranks) : ranks_(ranks) {}

  /// A task by its queue and its place there, from one; 0: none.
  struct user {
    int queue = -1, place = 0, next = -1;
  };

  /// The history of [begin, end) if the value of `owner` lies there, -1 where anything else does. That of untouched
  /// memory begins now.
  constexpr int read(int owner, extent_t begin, extent_t end) {
    const range* const r = range_.first_met(begin, end);
    if (r != nullptr) return r->begin == begin && r->end == end && r->owner == owner ? r->history : -1;
    range_.put({begin, end, owner, fresh_history()});
    return histories_ - 1;
  }
  /// Lists the histories of all ranges that [begin, end) meets.
  constexpr void list(extent_t begin, extent_t end, growing_array<int>& histories) const {
    range_.visit(begin, end, [&](const range& r) { histories.push(r.history); });
  }
  /// The value of `owner` lies there from now on. Returns its history.
  constexpr int write(int owner, extent_t begin, extent_t end) {
    range_.put({begin, end, owner, fresh_history()});
    return histories_ - 1;
  }
  /// Whether nothing lies there, or the value of `owner`.
  constexpr bool is_whole(int owner, extent_t begin, extent_t end) const {
    const range* const r = range_.first_met(begin, end);
    return r == nullptr || (r->begin == begin && r->end == end && r->owner == owner);
  }

  constexpr user& writer(int history, int rank) { return writer_.item[history * ranks_ + rank]; }
  /// The newest reader, or -1; `use(n).next` is the one before it.
  constexpr int newest_reader(int history, int rank) const { return reader_.item[history * ranks_ + rank]; }
  constexpr const user& use(int number) const { return use_.item[number]; }
  constexpr void add_reader(int history, int rank, int queue, int place) {
    int& newest = reader_.item[history * ranks_ + rank];
    newest = use_.push({queue, place, newest});
  }

 private:
  struct range {
    extent_t begin = 0, end = 0;
    int owner = -1, history = -1;
  };

  constexpr int fresh_history() {
    for (int r = 0; r < ranks_; ++r) {
      writer_.push({});
      reader_.push(-1);
    }
    return histories_++;
  }

  int ranks_, histories_ = 0;
  address_ranges<range> range_;
  growing_array<user> writer_;  // of each history and rank
  growing_array<int> reader_;
  growing_array<user> use_;
};

}}  // namespace hyperparallel::v0_2
