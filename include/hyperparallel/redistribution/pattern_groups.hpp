// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many devices of a pattern (pull_pattern.hpp) meet within groups of links whose sizes do not divide the mesh's axes,
// as 1024 devices in supernodes of 768.
//
// A group is an interval of positions. The positions below a bound whose digits are either given or arbitrary are counted
// digit by digit, the outermost first; the difference of two such counts is the count of an interval. Bounds are multiples
// of some cut, and digits below that cut multiply all counts by the same factor, so that one device of each block of that
// size is looked at, unless digits above the cut read those below it.
// Law: the counts are those of running through all pairs of positions.
// O(devices / block · levels · digits) in place of O(devices · transfers).

#include <hyperparallel/redistribution/pull_pattern.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Devices at the other end: those with a full chunk, and those with the chunk behind, which is shorter.
struct group_count {
  extent_t full = 0, rest = 0;
  friend constexpr bool operator==(const group_count&, const group_count&) = default;
};

/// Counts the devices that one device meets. `splits` says that the digits `dealt` number the chunks, of which those
/// below `planes / chunk` are full; else all are.
class group_counter {
 public:
  constexpr group_counter(const pull_pattern& pattern, const pattern_view& seen, bool splits)
      : p(pattern), view(seen), dealt_(splits) {
    extent_t full = p.planes / p.chunk;
    for (int i = 0; i < p.digits.count; ++i) {
      if (!dealt_ || !p.dealt[i]) continue;
      full_[i] = full % p.digits.size(i);
      full /= p.digits.size(i);
    }
    all_full_ = !dealt_ || full > 0;
  }

  /// Of all positions below `bound`, those that the device at `own` meets. O(digits).
  constexpr group_count below(extent_t own, extent_t bound) const {
    const bool all = bound >= p.digits.cut[p.digits.count];
    counts now;
    now.of[all ? 0 : 1][all_full_ ? 0 : 1] = 1;
    for (int i = p.digits.count - 1; i >= 0; --i) now = after(i, now, digit_of(own, view.equals[i], i), bound);
    return {now.of[0][0], now.of[0][1]};
  }

  /// Whether the device takes part: its digits that have to be equal are.
  constexpr bool is_active(extent_t own) const {
    for (int i = 0; i < p.digits.count; ++i)
      if (const int root = view.known.find(i); root != i && digit_of(own, root, root) != digit_of(own, i, i))
        return false;
    return true;
  }

  /// Positions that meet as many as the first one of their block do: the largest such cut that divides `bounds`.
  constexpr extent_t block_dividing(extent_t bounds) const {
    extent_t block = 1;
    for (int i = 1; i < p.digits.count && bounds % p.digits.cut[i] == 0; ++i) {
      bool apart = true;
      for (int k = 0; k < p.digits.count; ++k)
        apart = apart && (k < i) == (view.known.find(k) < i) && (k < i || view.any[k] || view.equals[k] >= i);
      if (apart) block = p.digits.cut[i];
    }
    return block;
  }

 private:
  /// Prefixes of numbers: [0] is below the bound, [1] as the bound; then likewise for the number of full chunks.
  struct counts {
    extent_t of[2][2] = {};
  };

  constexpr extent_t digit_of(extent_t position, int digit, int size_of) const {
    return digit < 0 ? 0 : position / p.digits.cut[digit] % p.digits.size(size_of);
  }

  constexpr counts after(int i, const counts& before, extent_t own, extent_t bound) const {
    const extent_t size = p.digits.size(i), last = bound / p.digits.cut[i] % size, full = full_[i];
    const bool splits = dealt_ && p.dealt[i];
    counts next;
    for (int b = 0; b < 2; ++b)
      for (int f = 0; f < 2; ++f) {
        const extent_t n = before.of[b][f];
        if (n == 0) continue;
        // Values are split at the two numbers: those below both, at one of them, and those between.
        const auto add = [&](extent_t begin, extent_t end) {
          if (!view.any[i] && (own < begin || own >= end)) return;
          const extent_t values = view.any[i] ? end - begin : 1;
          if ((b == 1 && begin > last) || (splits && f == 1 && begin > full)) return;
          next.of[b == 1 && begin == last ? 1 : 0][f == 1 && (!splits || begin == full) ? 1 : 0] += n * values;
        };
        const extent_t one = b == 1 ? last : size, two = splits && f == 1 ? full : size;
        const extent_t low = one < two ? one : two, high = one < two ? two : one;
        add(0, low);
        if (low < size) add(low, low + 1);
        if (low + 1 < high) add(low + 1, high);
        if (high < size && high > low) add(high, high + 1);
        if (high + 1 < size) add(high + 1, size);
      }
    return next;
  }

  const pull_pattern& p;
  const pattern_view& view;
  bool dealt_;
  bool all_full_ = true;
  extent_t full_[most_position_digits] = {};
};

/// Calls `visit(level, count)` for each level from `first` on and one device of each block with the devices that it meets
/// over that level; level `not_connected` is that of the devices that it meets over none. Groups below `first` nest.
template <class Visit>
constexpr void visit_groups(const group_counter& counter, const topology_value& t, int first, extent_t positions,
                            const Visit& visit) {
  const auto group_of = [&](int l) {
    return l < 0 ? extent_t{1} : l == t.level_count ? positions : smaller(t.level[l].group, positions);
  };
  extent_t bounds = group_of(first - 1);
  for (int l = first; l < t.level_count; ++l) bounds = greatest_common_divisor(bounds, group_of(l));
  const extent_t block = counter.block_dividing(bounds);
  for (extent_t own = 0; own < positions; own += block) {
    if (!counter.is_active(own)) continue;
    group_count inside;
    for (int l = first - 1; l <= t.level_count; ++l) {
      const extent_t begin = own / group_of(l) * group_of(l);
      const group_count low = counter.below(own, begin), high = counter.below(own, begin + group_of(l));
      const group_count now{high.full - low.full, high.rest - low.rest};
      if (l >= first)
        visit(l == t.level_count ? not_connected : l, group_count{now.full - inside.full, now.rest - inside.rest});
      inside = now;
    }
  }
}

}}}  // namespace hyperparallel::v0_2::detail
