// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tasks have done to memory: ranges of addresses, each with the owner of the value there, the task of each rank
// that wrote it, and the tasks that have read that rank's range since.
//
// All ranks have the same ranges. A write makes its range one range with a history of its own; what it leaves of others
// keeps their histories, which never change again, since only a whole range is read. Laws: ranges are disjoint, by rising
// begin. Complexity: O(log ranges + ranges that are met), and `write` O(ranges behind) where their number changes.

#include <hyperparallel/program/address_ranges.hpp>

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
    const int at = first_behind(range_, begin);
    if (at == range_.size || range_.item[at].begin >= end) replace(at, at, {begin, end, owner, fresh_history()});
    const range& r = range_.item[at];
    return r.begin == begin && r.end == end && r.owner == owner ? r.history : -1;
  }
  /// Lists the histories of all ranges that [begin, end) meets.
  constexpr void list(extent_t begin, extent_t end, growing_array<int>& histories) const {
    for (int at = first_behind(range_, begin); at < range_.size && range_.item[at].begin < end; ++at)
      histories.push(range_.item[at].history);
  }
  /// The value of `owner` lies there from now on. Returns its history.
  constexpr int write(int owner, extent_t begin, extent_t end) {
    const int from = first_behind(range_, begin);
    int to = from;
    while (to < range_.size && range_.item[to].begin < end) ++to;
    const range fresh{begin, end, owner, fresh_history()};
    const range front = to > from ? range_.item[from] : range{}, back = to > from ? range_.item[to - 1] : range{};
    replace(from, to, fresh);
    if (back.end > end) replace(from + 1, from + 1, {end, back.end, back.owner, back.history});
    if (front.begin < begin && begin < front.end) replace(from, from, {front.begin, begin, front.owner, front.history});
    return fresh.history;
  }
  /// Whether nothing lies there, or the value of `owner`.
  constexpr bool is_whole(int owner, extent_t begin, extent_t end) const {
    const int at = first_behind(range_, begin);
    if (at == range_.size || range_.item[at].begin >= end) return true;
    const range& r = range_.item[at];
    return r.begin == begin && r.end == end && r.owner == owner;
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

  /// One range in place of those from `from` to `to`.
  constexpr void replace(int from, int to, const range& one) {
    const int size = range_.size, by = 1 - (to - from);
    if (by > 0) {
      range_.push(one);
      for (int i = size; i > from; --i) range_.item[i] = range_.item[i - 1];
    } else if (by < 0) {
      for (int i = to; i < size; ++i) range_.item[i + by] = range_.item[i];
      range_.resize(size + by);
    }
    range_.item[from] = one;
  }
  constexpr int fresh_history() {
    for (int r = 0; r < ranks_; ++r) {
      writer_.push({});
      reader_.push(-1);
    }
    return histories_++;
  }

  int ranks_, histories_ = 0;
  growing_array<range> range_;
  growing_array<user> writer_;  // of each history and rank
  growing_array<int> reader_;
  growing_array<user> use_;
};

}}  // namespace hyperparallel::v0_2
