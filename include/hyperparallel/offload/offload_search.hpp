// SPDX-License-Identifier: Apache-2.0
#pragma once
// Local search over the plans of one program in one order of operators: one gap at a time, two at a time, and restarts
// from the best plan with a few gaps decided anew by a fixed sequence of numbers.
//
// Law: the answer is never worse than any plan that was offered, by time, then by how far a plan gets that waits for
// itself, then by bytes copied; it depends on nothing but program, offers and options. Every visited plan is run by the
// clock. Small windows are searched in full, wide ones at growing distances. Ends when time reaches the bound, nothing
// is left to try, or the effort is used up. Source: iterated local search (Lourenço, Martin, Stützle, 2003).

#include <hyperparallel/offload/offload_clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How good a plan is; less is better.
struct plan_score {
  extent_t time = endless;
  int missing = 0;       ///< operators that never start
  extent_t traffic = 0;  ///< bytes copied
  friend constexpr bool operator==(const plan_score&, const plan_score&) = default;
};

constexpr bool better(const plan_score& a, const plan_score& b) {
  if (a.time != b.time) return a.time < b.time;
  if (a.missing != b.missing) return a.missing < b.missing;
  return a.traffic < b.traffic;
}

namespace detail {

/// All points of a small window; of a wide one its ends and points at growing distances from `now` and the latest.
template <class Push>
constexpr void push_points(int earliest, int latest, int now, const Push& push) {
  if (latest - earliest < 16) {
    for (int p = latest; p >= earliest; --p) push(p);
    return;
  }
  for (int p = latest, step = 1; p > earliest; p -= step, step *= 2) push(p);
  push(earliest);
  for (int step = 1; step <= 8; step *= 2) {
    if (now + step < latest) push(now + step);
    if (now - step > earliest) push(now - step);
  }
}

}  // namespace detail

/// Refers to the clock; uses it.
class plan_search {
 public:
  offload_clock& clock;
  growing_array<gap_rights> rights;
  growing_array<int> candidate;  ///< gaps that are worth a decision
  growing_array<gap_decision> best;
  plan_score score{endless, INT32_MAX, longest_time};
  plan_score bound;     ///< nothing is better
  extent_t effort = 0;  ///< what is left, in operators and gaps run

  constexpr plan_search(offload_clock& c, const plan_score& least, extent_t whole_effort)
      : clock(c), rights(rights_of(c.program, c.chains)), bound(least), effort(whole_effort) {
    const growing_array<extent_t> live = live_bytes(c.program);
    growing_array<int> over;  // operators up to each that need too much
    over.push(0);
    for (int q = 0; q < live.size; ++q) over.push(over[q] + (live[q] > c.program.tier[0].capacity ? 1 : 0));
    for (int g = 0; g < c.chains.gap.size; ++g) {
      const storage_gap& gap = c.chains.gap[g];
      const int inside =
          gap.wraps ? over[live.size] - over[gap.from + 1] + over[gap.to] : over[gap.to] - over[gap.from + 1];
      if ((inside > 0 && (rights[g].offload || rights[g].recompute)) || !rights[g].keep) candidate.push(g);
    }
  }

  constexpr bool finished() const { return effort <= 0 || !better(bound, score); }

  /// The score of a plan where it is better than `than`, else a score that is not.
  constexpr plan_score evaluate(const growing_array<gap_decision>& plan, const plan_score& than) {
    effort -= clock.program.op.size + plan.size;
    plan_score s;
    s.time = clock.run(plan.item, than.time < endless ? than.time + 1 : endless);
    if (s.time == endless) {
      s.missing = than.time < endless ? INT32_MAX : clock.program.op.size - clock.stuck + 1;
      return s;
    }
    for (int g = 0; g < plan.size; ++g)
      if (plan.item[g].choice == gap_choice::offload)
        s.traffic += clock.program.storage.item[clock.chains.gap.item[g].storage].bytes * (clock.stored(g) ? 2 : 1);
    return s;
  }

  /// Takes a plan where it is better than the best so far.
  constexpr bool offer(const growing_array<gap_decision>& plan) {
    const plan_score s = evaluate(plan, score);
    if (!better(s, score)) return false;
    score = s;
    best = plan;
    return true;
  }

  /// Improves `plan` one gap after the other until no single gap helps. Gaps are those of `which`.
  constexpr void improve(growing_array<gap_decision>& plan, plan_score& now, const growing_array<int>& which) {
    for (bool again = true; again && !done(now);) {
      again = false;
      for (int i = 0; i < which.size && !done(now); ++i) again = improve_gap(plan, now, which[i]) || again;
    }
  }

  /// Improves `plan` two gaps at a time, and one at a time after each success. For few gaps.
  constexpr void improve_pairs(growing_array<gap_decision>& plan, plan_score& now) {
    for (bool again = true; again && !done(now);) {
      again = false;
      for (int i = 0; i < candidate.size && !again && !done(now); ++i)
        for (int k = i + 1; k < candidate.size && !again && !done(now); ++k)
          again = improve_pair(plan, now, candidate[i], candidate[k]);
      if (again) improve(plan, now, candidate);
    }
  }

  /// Restarts from the best plan: a few gaps are decided at random, or a gap that leaves changes places with one that
  /// stays. With pairs all gaps are then improved, else those that were touched.
  constexpr void restart(int times, bool pairs) {
    growing_array<gap_decision> plan, options;
    growing_array<int> touched;
    for (int round = 0; round < times && !finished() && !candidate.empty(); ++round) {
      plan = best;
      touched.clear();
      if (round % 3 == 2 || pairs || !exchange(plan, touched)) {
        const int start = below(candidate.size);
        for (int i = 2 + round % 3; i > 0; --i) {
          const int g = candidate[pairs ? below(candidate.size) : (start + below(12)) % candidate.size];
          options_of(g, plan[g], options);
          plan[g] = options[below(options.size)];
          touched.push(g);
        }
      }
      plan_score now = evaluate(plan, {endless, INT32_MAX, longest_time});
      improve(plan, now, pairs ? candidate : touched);
      if (pairs) improve_pairs(plan, now);
      if (better(score, now)) continue;
      score = now;
      best = plan;
    }
  }

  /// What may be decided of a gap that is decided as `now`.
  constexpr void options_of(int g, const gap_decision& now, growing_array<gap_decision>& options) const {
    options.clear();
    const storage_gap& gap = clock.chains.gap.item[g];
    const gap_rights& right = rights.item[g];
    if (right.keep) options.push({gap_choice::keep});
    if (right.recompute) options.push({gap_choice::recompute});
    if (!right.offload) return;
    const bool is_offloaded = now.choice == gap_choice::offload;
    const int earliest = gap.wraps ? -1 : gap.from, latest = gap.to - 1;
    for (int t = 1; t < clock.program.tier.size; ++t) {
      if (right.tier > 0 && t != right.tier) continue;
      gap_decision d{gap_choice::offload, t, is_offloaded ? now.store_after : gap.last_write, latest};
      detail::push_points(earliest, latest, is_offloaded ? now.fetch_after : latest, [&](int p) {
        d.fetch_after = p;
        options.push(d);
      });
      if (!is_offloaded || now.tier != t) continue;
      d.fetch_after = now.fetch_after;
      detail::push_points(gap.last_write, gap.from, now.store_after, [&](int p) {
        d.store_after = p;
        if (p != now.store_after) options.push(d);
      });
    }
  }

 private:
  constexpr bool done(const plan_score& now) const { return effort <= 0 || !better(bound, now); }

  constexpr bool improve_gap(growing_array<gap_decision>& plan, plan_score& now, int g) {
    const gap_decision before = plan[g];
    gap_decision chosen = before;
    options_of(g, before, options_);
    for (int i = 0; i < options_.size; ++i) {
      if (options_[i] == before) continue;
      plan[g] = options_[i];
      const plan_score s = evaluate(plan, now);
      if (!better(s, now)) continue;
      now = s;
      chosen = options_[i];
    }
    plan[g] = chosen;
    return !(chosen == before);
  }

  constexpr bool improve_pair(growing_array<gap_decision>& plan, plan_score& now, int g, int h) {
    const gap_decision g_before = plan[g], h_before = plan[h];
    gap_decision g_chosen = g_before, h_chosen = h_before;
    options_of(g, g_before, left_);
    options_of(h, h_before, right_);
    bool found = false;
    for (int i = 0; i < left_.size; ++i)
      for (int k = 0; k < right_.size; ++k) {
        plan[g] = left_[i];
        plan[h] = right_[k];
        const plan_score s = evaluate(plan, now);
        if (!better(s, now)) continue;
        now = s;
        g_chosen = left_[i];
        h_chosen = right_[k];
        found = true;
      }
    plan[g] = g_chosen;
    plan[h] = h_chosen;
    return found;
  }

  constexpr int below(int n) {
    number_ = number_ * 1664525u + 1013904223u;
    return static_cast<int>((number_ >> 8) % static_cast<unsigned>(n));
  }

  /// Keeps one gap that is away and sends another away that shares an operator with it; false where there is none.
  constexpr bool exchange(growing_array<gap_decision>& plan, growing_array<int>& touched) {
    const int start = below(candidate.size);
    int g = -1;
    for (int i = 0; i < candidate.size && g < 0; ++i) {
      const int one = candidate[(start + i) % candidate.size];
      if (plan[one].choice != gap_choice::keep && rights[one].keep) g = one;
    }
    if (g < 0) return false;
    const int other = below(candidate.size), q = (clock.chains.gap[g].from + 1) % clock.program.op.size;
    for (int i = 0; i < candidate.size; ++i) {
      const int h = candidate[(other + i) % candidate.size];
      const storage_gap& gap = clock.chains.gap[h];
      if (plan[h].choice != gap_choice::keep || !rights[h].offload) continue;
      if (!covers(gap, q) && !covers(clock.chains.gap[g], (gap.from + 1) % clock.program.op.size)) continue;
      plan[g] = {};
      const int most = clock.program.tier.size - 1, tier = rights[h].tier > 0 ? rights[h].tier : 1 + below(most);
      plan[h] = {gap_choice::offload, tier, gap.last_write, gap.to - 1};
      touched.push(h);
      touched.push(g);
      return true;
    }
    return false;
  }

  unsigned number_ = 12345;
  growing_array<gap_decision> options_, left_, right_;
};

}}  // namespace hyperparallel::v0_2
