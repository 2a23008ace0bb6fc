// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which devices pull from which in one step, as a pattern over the digits of their positions.
//
// The number of a position is cut into digits that are as coarse as the step allows: groups of links, axes whose terms
// meet and the parts of axes that own digits of the tensor end at them. A digit of a sender is then one of its
// receiver's digits, or any value. So the messages of a device over each level follow by counting: those whose digits
// agree outside the level and differ within it. Laws: the counts are what the step's transfers add up to over all
// positions (step_price.hpp); the pattern of a step is that of every tensor which its layouts cut into the same digits.
// O((digits + levels)²), whatever the number of devices. Derivation: docs/explanation/redistribution-time.md.

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>
#include <hyperparallel/redistribution/move_step.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr int most_position_digits = 24;

/// The cuts of the numbers of positions, each a divisor of the next: 1 first, the count of positions last.
struct position_digits {
  int count = 0;
  int cut[most_position_digits + 1]{};

  constexpr int size(int i) const { return cut[i + 1] / cut[i]; }
  /// The digit that begins at a stride, which is a cut.
  constexpr int at(int stride) const {
    int i = 0;
    while (cut[i] != stride) ++i;
    return i;
  }
  /// False where the cut does not nest with the others.
  constexpr bool add(int stride) {
    int i = 0;
    while (cut[i] < stride) ++i;
    if (cut[i] == stride) return true;
    if (cut[i] % stride != 0 || stride % cut[i - 1] != 0 || count == most_position_digits) return false;
    for (int k = ++count; k > i; --k) cut[k] = cut[k - 1];
    cut[i] = stride;
    return true;
  }
};

/// Two parts of the numbers of positions that take the same values: digits correspond.
struct alike_parts {
  int stride = 0, other = 0, size = 0;
};

struct pull_pattern {
  position_digits digits;
  int level[most_position_digits]{};  ///< over which devices meet that differ in a digit and agree outside it
  /// The digit of the receiver whose value a digit of the sender has; -1: there is a sender with each value.
  int from[most_position_digits]{};
  int tie_count = 0;
  alike_parts tie[max_digits];     ///< a device whose digits differ there receives nothing
  extent_t boxes = 1;              ///< that a receiver takes from each of its senders
  extent_t planes = 1, chunk = 1;  ///< of a box, which is dealt in chunks of planes, the last ones fewer or none
  extent_t plane = 1;              ///< elements
  int shares = 1;                  ///< chunks
  bool spreads = false;            ///< senders have one chunk each, by their digits that are `dealt`; else receivers
  bool dealt[most_position_digits]{};
};

/// What a device counts on each level; the last one is that no level joins.
struct level_counts {
  extent_t of[max_link_levels + 1] = {};
};

/// Values of digits that are known to be equal.
struct equal_digits {
  int root[most_position_digits]{};
  constexpr explicit equal_digits(int count) {
    for (int i = 0; i < count; ++i) root[i] = i;
  }
  constexpr int find(int i) const {
    while (root[i] != i) i = root[i];
    return i;
  }
  constexpr bool unite(int a, int b) {
    a = find(a);
    b = find(b);
    root[a] = b;
    return a != b;
  }
};

/// The digits of the other ends, seen from one device.
struct pattern_view {
  equal_digits known;                  ///< of the device's own digits
  bool any[most_position_digits]{};    ///< every value
  int equals[most_position_digits]{};  ///< else the own digit whose value it has
  constexpr explicit pattern_view(int count) : known(count) {}
};

/// Messages over each level of the device that has most there: digits agree outside the level and differ within it.
/// Afterwards all digits of the view are known to be equal, and `alone` is divided by the ways in which they are not.
constexpr level_counts count_messages(const pull_pattern& p, pattern_view& view, extent_t& alone) {
  level_counts messages;
  extent_t inside = 1;
  for (int i = 0; i < p.digits.count; ++i)
    if (view.any[i]) inside *= p.digits.size(i);
  for (int end = p.digits.count; end > 0;) {
    const int level = p.level[end - 1];
    extent_t here = 1;
    bool differs = false;
    int i = end;
    for (; i > 0 && p.level[i - 1] == level; --i) {
      if (view.any[i - 1])
        here *= p.digits.size(i - 1);
      else
        differs = differs || view.known.find(view.equals[i - 1]) != view.known.find(i - 1);
    }
    inside /= here;
    messages.of[level] = p.boxes * inside * (differs ? here : here - 1);
    for (; end > i; --end)
      if (!view.any[end - 1] && view.known.unite(view.equals[end - 1], end - 1)) alone /= p.digits.size(end - 1);
  }
  return messages;
}

constexpr pattern_view seen_by_receivers(const pull_pattern& p, extent_t& active) {
  pattern_view view(p.digits.count);
  active = p.digits.cut[p.digits.count];
  for (int t = 0; t < p.tie_count; ++t)
    for (int i = p.digits.at(p.tie[t].stride), k = p.digits.at(p.tie[t].other), left = p.tie[t].size; left > 1;
         ++i, ++k) {
      if (view.known.unite(i, k)) active /= p.digits.size(i);
      left /= p.digits.size(i);
    }
  for (int i = 0; i < p.digits.count; ++i) {
    view.any[i] = p.from[i] < 0;
    view.equals[i] = p.from[i];
  }
  return view;
}

/// A digit of a receiver has the value of any sender's digit that it determines; several of them are equal.
constexpr pattern_view seen_by_senders(const pull_pattern& p, const equal_digits& tied) {
  pattern_view view(p.digits.count);
  int told_by[most_position_digits];
  for (int i = 0; i < p.digits.count; ++i) told_by[i] = -1;
  for (int i = 0; i < p.digits.count; ++i) {
    if (p.from[i] < 0) continue;
    int& first = told_by[tied.find(p.from[i])];
    if (first < 0)
      first = i;
    else
      view.known.unite(first, i);
  }
  for (int i = 0; i < p.digits.count; ++i) {
    view.equals[i] = told_by[tied.find(i)];
    view.any[i] = view.equals[i] < 0;
  }
  return view;
}

/// Elements that `active` devices receive together, of which `own` are their own senders.
constexpr extent_t received_by_all(const pull_pattern& p, const pattern_view& view, extent_t active, extent_t own) {
  extent_t senders = 1;
  for (int i = 0; i < p.digits.count; ++i)
    if (view.any[i]) senders *= p.digits.size(i);
  return (active * senders - own) / p.shares * p.boxes * p.planes * p.plane;
}

}}}  // namespace hyperparallel::v0_2::detail
