// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items of known times on groups that are alike, the longest first: each goes to the group that is free first.
//
// Laws: each item is on one group; makespan ≤ (4/3 − 1/(3k)) · least makespan of k groups (Graham, 1969), which some sets
// of items reach; `bound` ≤ least makespan. Equal items and equal groups go in the order of their numbers. Complexity:
// O(items · (log items + log groups)).

#include <hyperparallel/strategy/interval_packing.hpp>
#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class dispatch_code : unsigned char {
  ok,
  groups_are_not_positive,
  item_time_is_negative,  ///< of item `item`
  item_times_overflow     ///< up to item `item`
};

constexpr const char* name_of(dispatch_code c) {
  return detail::enum_name("ok\0groups_are_not_positive\0item_time_is_negative\0item_times_overflow", c);
}

struct item_dispatch {
  dispatch_code code = dispatch_code::ok;
  int item = -1;  ///< to blame
  growing_array<int> group_of_item{};
  growing_array<extent_t> load{};  ///< of each group
  extent_t makespan = 0, bound = 0;
};

namespace detail {

/// Groups by their loads, equal ones by number, the least on top.
class free_groups {
 public:
  constexpr free_groups(int groups, const growing_array<extent_t>& load) : load_(load) {
    for (int g = 0; g < groups; ++g) heap_.push(g);
  }
  constexpr int top() const { return heap_.item[0]; }
  /// The load of the top has grown.
  constexpr void sink() {
    for (int at = 0, child = 1; child < heap_.size; child = 2 * at + 1) {
      if (child + 1 < heap_.size && comes_before(heap_.item[child + 1], heap_.item[child])) ++child;
      if (!comes_before(heap_.item[child], heap_.item[at])) return;
      const int moved = heap_.item[at];
      heap_.item[at] = heap_.item[child];
      heap_.item[child] = moved;
      at = child;
    }
  }

 private:
  constexpr bool comes_before(int a, int b) const {
    return load_.item[a] < load_.item[b] || (load_.item[a] == load_.item[b] && a < b);
  }
  growing_array<int> heap_;
  const growing_array<extent_t>& load_;
};

}  // namespace detail

/// Longest first. `bound` is the longest item, an even share, or the two shortest of the longest groups + 1 items, whichever
/// is most: some group has two of those.
constexpr item_dispatch dispatch_longest_first(const growing_array<extent_t>& time, int groups) {
  item_dispatch d;
  if (groups < 1) {
    d.code = dispatch_code::groups_are_not_positive;
    return d;
  }
  extent_t sum = 0;
  growing_array<int> order;
  for (int i = 0; i < time.size; ++i) {
    const bool negative = time.item[i] < 0;
    if (negative || add_overflows(sum, time.item[i], sum)) {
      d.code = negative ? dispatch_code::item_time_is_negative : dispatch_code::item_times_overflow;
      d.item = i;
      return d;
    }
    order.push(i);
  }
  detail::sort_by_falling(order, time);
  d.group_of_item.resize(time.size, -1);
  d.load.resize(groups, 0);
  detail::free_groups free(groups, d.load);
  for (const int i : order) {
    const int g = free.top();
    d.group_of_item.item[i] = g;
    d.load.item[g] += time.item[i];
    d.makespan = larger(d.makespan, d.load.item[g]);
    free.sink();
  }
  d.bound = ceil_divide(sum, groups);
  if (order.size > 0) d.bound = larger(d.bound, time.item[order.item[0]]);
  if (order.size > groups) d.bound = larger(d.bound, time.item[order.item[groups - 1]] + time.item[order.item[groups]]);
  return d;
}

}}  // namespace hyperparallel::v0_2
