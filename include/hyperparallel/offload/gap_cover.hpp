// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gaps chosen one by one until no operator needs more than a budget.
//
// The model is static: storages leave at the begin of a gap and are back at its end, operators start when they would
// without copies. No order of gaps is best for all programs: a planner tries each heuristic of `cover_taste`. Law: where slower tiers have room, `farthest` covers every budget from least_budget on.
// Source: Belady's farthest next use (IBM Systems Journal 5, 1966) is `farthest`, optimal in copies for equal pages;
// others weigh bytes freed against time exposed. O(gaps · (operators + gaps)).

#include <hyperparallel/offload/link_calendar.hpp>
#include <hyperparallel/offload/offload_clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Heuristics that choose the next gap over an operator that needs more than the budget.
enum class cover_taste : unsigned char {
  bytes_per_cost,   ///< bytes that are too many, over the time exposed
  area,             ///< bytes times length
  least_cost,       ///< least time exposed
  farthest,         ///< last to be needed again; the first operator that needs too much first
  recompute_first,  ///< cheapest to recompute
  excess_per_cost,  ///< bytes that are too many over all operators it covers, over the time exposed
};
namespace detail {

inline constexpr int cover_tastes = 6;

}  // namespace detail

/// Covers of one program. Refers to the clock.
class gap_cover {
 public:
  const offload_clock& clock;
  growing_array<gap_rights> rights;
  operator_times times;
  growing_array<extent_t> live;
  int sweep_from = 0;  ///< the operator at which `farthest` begins: a period is a circle

  constexpr explicit gap_cover(const offload_clock& c)
      : clock(c),
        rights(rights_of(c.program, c.chains)),
        times(times_without_copies(c.program, c.chains)),
        live(live_bytes(c.program)) {}

  /// Decisions for a budget; false where no gap is left over an operator that needs more. Copies in are issued last.
  constexpr bool cover(cover_taste taste, extent_t budget, growing_array<gap_decision>& plan) {
    const int gaps = clock.chains.gap.size;
    plan.clear();
    plan.resize(gaps);
    level_ = live;
    pinned_.clear();
    pinned_.resize(gaps, 0);
    away_.clear();
    away_.resize(clock.program.tier.size * clock.program.op.size, 0);
    for (int l = 0; l < clock.program.link.size; ++l) free_[l] = link_calendar(times.total);
    for (int q = 0; q < clock.program.op.size; ++q)
      if (clock.program.op[q].link >= 0) free_[clock.program.op[q].link].hold(times.start[q], times.end[q]);
    bool all = true;
    for (int g = 0; g < gaps; ++g)
      if (!rights[g].keep) all = choose(g, taste, plan) && all;
    growing_array<unsigned char> hopeless(clock.program.op.size, 0);
    for (;;) {
      int q = -1;
      for (int k = 0; k < level_.size; ++k) {
        const int i = (k + sweep_from) % level_.size;
        if (level_.item[i] <= budget || hopeless.item[i] != 0) continue;
        if (q < 0 || level_.item[i] > level_.item[q]) q = i;
        if (taste == cover_taste::farthest) break;
      }
      if (q < 0) return all;
      if (taste == cover_taste::excess_per_cost) add_up_excess(budget);
      const int g = best_over(q, budget, taste, plan);
      if (g < 0 || !choose(g, taste, plan)) {
        if (g >= 0) {
          pinned_[g] |= unavailable;
          continue;
        }
        hopeless[q] = 1;
        all = false;
      }
    }
  }

  /// Decisions that offload the first `most` gaps of more than `distance` operators that may leave, whatever their bytes.
  constexpr void cover_longer_than(int distance, int most, growing_array<gap_decision>& plan) {
    cover(cover_taste::farthest, longest_time, plan);  // only what must leave
    for (int q = 0; q < clock.program.op.size; ++q)
      for (int u = clock.chains.first_use[q]; u < clock.chains.first_use[q + 1] && most > 0; ++u) {
        const int g = clock.chains.use[u].gap_after;
        if (g < 0 || plan[g].choice != gap_choice::keep || !rights[g].offload) continue;
        const storage_gap& gap = clock.chains.gap[g];
        if (gap.to - gap.from + (gap.wraps ? clock.program.op.size : 0) <= distance) continue;
        --most;
        if ((pinned_[g] & unavailable) == 0) choose(g, cover_taste::farthest, plan);
      }
  }

  /// Decisions that recompute all that can be, if asked to, and offload persistent storages, all or those that one
  /// operator alone touches.
  constexpr void cover_persistent(bool all, bool recompute, growing_array<gap_decision>& plan) {
    cover(cover_taste::farthest, longest_time, plan);
    for (int g = 0; g < plan.size && recompute; ++g)
      if (plan[g].choice == gap_choice::keep && (pinned_[g] & unavailable) == 0 && may_recompute_now(g, plan))
        choose(g, cover_taste::recompute_first, plan);
    for (int g = 0; g < plan.size; ++g) {
      const offload_storage& s = storage_of(g);
      if (plan[g].choice == gap_choice::keep && (pinned_[g] & unavailable) == 0 && rights[g].offload && s.persistent &&
          (all || s.access_count == 1))
        choose(g, cover_taste::farthest, plan);
    }
  }

 protected:
  constexpr const offload_storage& storage_of(int g) const {
    return clock.program.storage.item[clock.chains.gap.item[g].storage];
  }

  growing_array<extent_t> level_;  // bytes in tier 0 at each operator

 private:
  static constexpr unsigned char unavailable = 1;         // the gap cannot be chosen any more
  static constexpr unsigned char operand_of_its_end = 2;  // a recomputation at its end reads the storage

  constexpr bool is_over(int g, int q) const { return covers(clock.chains.gap.item[g], q); }
  /// Calls visit(q) for every operator strictly inside gap g.
  template <class Visit>
  constexpr void each_under(int g, const Visit& visit) const {
    const storage_gap& gap = clock.chains.gap.item[g];
    for (int q = gap.from + 1; q < (gap.wraps ? clock.program.op.size : gap.to); ++q) visit(q);
    for (int q = 0; gap.wraps && q < gap.to && q < gap.from; ++q) visit(q);
  }

  /// When the copies of a gap may run, by times without copies.
  struct copy_windows {
    extent_t out_from = 0, out_to = 0, in_from = 0, in_to = 0;
  };
  constexpr copy_windows windows_of(int g) const {
    const storage_gap& gap = clock.chains.gap.item[g];
    const extent_t written = gap.last_write < 0 ? 0 : times.end.item[gap.last_write];
    const extent_t back = times.start.item[gap.to];
    if (gap.wraps) return {written, times.total, 0, back};
    return {written, back, times.end.item[gap.from], back};
  }

  /// Time that the copies of gap g add when it is chosen now: what does not fit into the gap, or finds its link taken.
  constexpr extent_t exposed(int g, int tier) const {
    const offload_tier& t = clock.program.tier.item[tier];
    const extent_t in = clock.time_in(g, tier), out = clock.time_out(g, tier);
    const copy_windows w = windows_of(g);
    const extent_t short_by = larger(0, in + out - detail::gap_time(times, clock.chains.gap.item[g]));
    const extent_t taken =
        free_[t.out_link].lacking(out, w.out_from, w.out_to) + free_[t.in_link].lacking(in, w.in_from, w.in_to);
    return larger(short_by, taken) + (in + out) / 20;
  }

  /// The tier with room that exposes least, 0: none.
  constexpr int best_tier(int g) const {
    if (!rights.item[g].offload) return 0;
    const int only = rights.item[g].tier;
    int best = 0;
    for (int t = only > 0 ? only : 1; t < (only > 0 ? only + 1 : clock.program.tier.size); ++t) {
      const extent_t room = clock.program.tier.item[t].capacity - storage_of(g).bytes;
      bool fits = room >= 0;
      each_under(g, [&](int q) { fits = fits && away_.item[t * clock.program.op.size + q] <= room; });
      if (fits && (best == 0 || exposed(g, t) < exposed(g, best))) best = t;
    }
    return best;
  }

  constexpr bool may_recompute_now(int g, const growing_array<gap_decision>& plan) const {
    if (!rights.item[g].recompute || (pinned_.item[g] & operand_of_its_end) != 0) return false;
    const use_chains& c = clock.chains;
    const offload_storage& s = storage_of(g);
    for (int i = 0; i < s.operand_count; ++i) {
      const int operand = clock.program.operand.item[s.first_operand + i];
      for (int k = c.first_gap.item[operand]; k < c.first_gap.item[operand + 1]; ++k)
        if (plan.item[k].choice != gap_choice::keep &&
            (is_over(k, c.gap.item[g].to) || (!c.gap.item[k].wraps && c.gap.item[k].to == c.gap.item[g].to &&
                                              plan.item[k].choice == gap_choice::recompute)))
          return false;
    }
    return true;
  }

  /// Marks gap g as not kept; false where it can neither leave nor be recomputed.
  constexpr bool choose(int g, cover_taste taste, growing_array<gap_decision>& plan) {
    const use_chains& c = clock.chains;
    const int tier = best_tier(g);
    const bool again = may_recompute_now(g, plan);
    if (tier == 0 && !again) return false;
    const offload_storage& s = storage_of(g);
    const bool recomputes = again && (tier == 0 || taste == cover_taste::recompute_first ||
                                      (taste != cover_taste::farthest && s.recompute < exposed(g, tier)));
    gap_decision& d = plan.item[g];
    d.choice = recomputes ? gap_choice::recompute : gap_choice::offload;
    if (recomputes) {
      for (int i = 0; i < s.operand_count; ++i) {
        const int operand = clock.program.operand.item[s.first_operand + i];
        for (int k = c.first_gap.item[operand]; k < c.first_gap.item[operand + 1]; ++k)
          if (is_over(k, c.gap.item[g].to))
            pinned_.item[k] |= unavailable;
          else if (c.gap.item[k].to == c.gap.item[g].to)
            pinned_.item[k] |= operand_of_its_end;
      }
    } else {
      d = {gap_choice::offload, tier, c.gap.item[g].from, c.gap.item[g].to - 1};
      const copy_windows w = windows_of(g);
      free_[clock.program.tier.item[tier].out_link].take(clock.time_out(g, tier), w.out_from, w.out_to, true);
      free_[clock.program.tier.item[tier].in_link].take(clock.time_in(g, tier), w.in_from, w.in_to, false);
    }
    each_under(g, [&](int q) {
      level_.item[q] -= s.bytes;
      if (!recomputes) away_.item[tier * clock.program.op.size + q] += s.bytes;
    });
    return true;
  }

  /// Bytes that are too many, and operators that need too much, before each operator.
  constexpr void add_up_excess(extent_t budget) {
    excess_.resize(level_.size + 1, 0);
    over_.resize(level_.size + 1, 0);
    for (int q = 0; q < level_.size; ++q) {
      excess_.item[q + 1] = excess_.item[q] + larger(0, level_.item[q] - budget);
      over_.item[q + 1] = over_.item[q] + (level_.item[q] > budget ? 1 : 0);
    }
  }
  /// A sum over the operators inside a gap from the sums before each operator.
  constexpr extent_t inside(const growing_array<extent_t>& before, const storage_gap& gap) const {
    const extent_t first = before.item[gap.from + 1];
    return gap.wraps ? before.item[level_.size] - first + before.item[gap.to] : before.item[gap.to] - first;
  }

  /// The gap over operator q that taste prefers, -1: none.
  constexpr int best_over(int q, extent_t budget, cover_taste taste, const growing_array<gap_decision>& plan) const {
    const int gaps = clock.chains.gap.size;
    int best = -1;
    extent_t best_gain = 0, best_price = 1;
    for (int g = 0; g < gaps; ++g) {
      const storage_gap& gap = clock.chains.gap.item[g];
      if (gap.wraps ? q <= gap.from && q >= gap.to : q <= gap.from || q >= gap.to) continue;
      if (plan.item[g].choice != gap_choice::keep || (pinned_.item[g] & unavailable) != 0) continue;
      if (storage_of(g).bytes == 0) continue;
      const int tier = rights.item[g].offload ? (rights.item[g].tier > 0 ? rights.item[g].tier : 1) : 0;
      if (tier == 0 && !rights.item[g].recompute) continue;
      extent_t cost = 0;
      if (taste != cover_taste::farthest && taste != cover_taste::area) {
        cost = tier > 0 ? exposed(g, tier) : longest_time;
        if (rights.item[g].recompute) cost = smaller(cost, storage_of(g).recompute);
      }
      extent_t gain = 1, price = 1;
      measure(g, q, budget, taste, cost, gain, price);
      if (best < 0 || static_cast<detail::wide_unsigned>(gain) * static_cast<detail::wide_unsigned>(best_price) >
                          static_cast<detail::wide_unsigned>(best_gain) * static_cast<detail::wide_unsigned>(price)) {
        best = g;
        best_gain = gain;
        best_price = price;
      }
    }
    return best;
  }

  /// Gap g is worth gain / price.
  constexpr void measure(int g, int q, extent_t budget, cover_taste taste, extent_t cost, extent_t& gain,
                         extent_t& price) const {
    const storage_gap& gap = clock.chains.gap.item[g];
    const extent_t bytes = storage_of(g).bytes;
    switch (taste) {
      case cover_taste::bytes_per_cost:
        gain = smaller(bytes, level_.item[q] - budget);
        price = cost + 1;
        return;
      case cover_taste::area:
        gain = bytes;
        price = times.total / (detail::gap_time(times, gap) + 1) + 1;
        return;
      case cover_taste::least_cost:
        price = cost + 1;
        return;
      case cover_taste::farthest:
        gain = 1 + (gap.to > q ? gap.to - q : clock.program.op.size - q + gap.to);
        return;
      case cover_taste::recompute_first:
        gain = smaller(bytes, level_.item[q] - budget);
        price = (rights.item[g].recompute ? storage_of(g).recompute : cost + times.total) + 1;
        return;
      case cover_taste::excess_per_cost:
        gain = smaller(inside(excess_, gap), bytes * inside(over_, gap));
        price = cost + 1;
        return;
    }
  }

  growing_array<extent_t> excess_, over_;  // for excess_per_cost
  growing_array<extent_t> away_;           // bytes in each tier at each operator
  growing_array<unsigned char> pinned_;    // of each gap
  link_calendar free_[most_links];         // what is left next to what was chosen
};

}}  // namespace hyperparallel::v0_2
