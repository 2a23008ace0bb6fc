// SPDX-License-Identifier: Apache-2.0
#pragma once
// The planner's clock of a program under a plan: exact discrete events in integer picoseconds, as fast as a search needs
// them. What runs has the clock of its lowered plan, which is not later (lowering/lowered_offload.hpp).
//
// Operators are issued in order. One starts when the previous one has started, its queue (compute, or its link) is
// free, earlier operators that conflict have ended, its storages are in tier 0 and what it defines fits there. A link
// serves in the order of issue points: what is issued after operator p stands before a collective p + 1; of one issue
// point stores come before fetches, stores by storage, fetches by the operator that needs them. The head of a link
// waits, and all behind it, until its issue point and the last writer have ended, until its storage is where the copy
// starts from and until there is room where it goes to: a fetch takes its room when it starts. A storage leaves tier 0
// when its store has ended and every access up to the gap has; without a store when the latter has. Copies in
// slower tiers live as offload_copies.hpp says. A recomputed storage takes its room when the operator behind the gap
// starts, needs its operands in tier 0 then, and makes that operator longer; on a link it holds compute meanwhile.
// What ends at one time ends before anything starts; operators start before copies, copies by link.
//
// Laws: tier t never holds more than its capacity; the answer depends on nothing but program and plan. Source: the
// usual event simulation; O((operators + copies) · (accesses of an operator + links)) a run, without allocation.

#include <hyperparallel/offload/clock_state.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Sees nothing: what a search runs with.
struct no_observer {
  static constexpr bool listens = false;  ///< to events
  constexpr void operator_runs(int, extent_t, extent_t) {}
  constexpr void copy_runs(int, bool, int, extent_t, extent_t, extent_t) {}
};

}  // namespace detail

class offload_clock : public clock_state {
 public:
  using clock_state::clock_state;

 private:
  constexpr bool in_tier_0(int s) const { return storage_.item[s].resident; }

  /// Whether the use of a storage that is away at operator q can be computed again: it is away, and its operands are in
  /// tier 0.
  constexpr bool can_recompute(const operator_use& u) const {
    if (u.gap_before < 0 || plan_[u.gap_before].choice != gap_choice::recompute || !gap_.item[u.gap_before].away)
      return false;
    const offload_storage& storage = program.storage.item[u.storage];
    for (int i = 0; i < storage.operand_count; ++i)
      if (!in_tier_0(program.operand.item[storage.first_operand + i])) return false;
    return true;
  }

  template <class Observer>
  constexpr bool try_operator(extent_t now, Observer& observer) {
    const int q = next_, queue = queue_of(q);
    if (until_[queue] < endless || (queue > 0 && head_[queue - 1] != copy_items() + q)) return false;
    extent_t room = 0, longer = 0;
    bool recomputes = false;
    storage_state* const storage = storage_.item;
    const operator_use* const end = chains.use.item + chains.first_use.item[q + 1];
    const operator_use* absent = end;  // the first one whose storage is not there
    // Copies: a constant evaluation pays for each member that it reads behind a pointer.
    for (const operator_use* at = chains.use.item + chains.first_use.item[q]; at != end; ++at) {
      const operator_use u = *at;
      const storage_state s = storage[u.storage];
      if (u.writes ? s.ended != u.access || s.readers > 0 : s.written < u.previous_write) return false;
      if (s.resident) {
        if (s.acting >= 0 && s.acting == u.gap_before && !chains.gap.item[s.acting].wraps) return false;
        continue;
      }
      if (absent == end) absent = at;
      room += bytes_.item[u.storage];
      if (u.defines) continue;
      if (!can_recompute(u)) return false;
      recomputes = true;
      longer += program.storage.item[u.storage].recompute;
    }
    if (recomputes && queue > 0 && until_[0] < endless) return false;
    if (used_[0] + room > program.tier.item[0].capacity) return false;
    used_[0] += room;
    peak[0] = larger(peak[0], used_[0]);
    for (; absent != end; ++absent) {
      const int s = absent->storage;
      if (storage[s].resident) continue;
      storage[s].resident = true;
      if (!absent->defines) start_recomputation(*absent);
    }
    const extent_t until = now + longer + program.op.item[q].duration;
    running_[queue] = queue == 0 ? q : copy_items() + q;
    until_[queue] = until;
    if (recomputes && queue > 0) {
      running_[0] = recomputation_only;
      until_[0] = now + longer;
    }
    if constexpr (Observer::listens) observer.event({offload_event_kind::compute, q, q, now, used_[0]});
    observer.operator_runs(q, now, until);
    ++next_;
    return true;
  }

  constexpr void start_recomputation(const operator_use& u) {
    storage_.item[u.storage].acting = gap_.item[u.gap_before].next;
    const offload_storage& storage = program.storage.item[u.storage];
    for (int i = 0; i < storage.operand_count; ++i)
      ++storage_.item[program.operand.item[storage.first_operand + i]].readers;
  }

  template <class Observer>
  constexpr void try_copy(int link, extent_t now, Observer& observer) {
    const int item = head_[link], g = item / 2;
    const storage_gap& gap = chains.gap.item[g];
    const storage_state& s = storage_.item[gap.storage];
    const extent_t bytes = bytes_.item[gap.storage];
    const int tier = plan_[g].tier;
    const bool out = item % 2 == 0;
    if (out) {
      if (s.acting != g || !s.resident || s.written < gap.last_write_access) return;
    } else if (!gap.wraps && !gap_.item[g].away) {
      return;
    }
    const int target = out ? tier : 0;
    if (!out || copies_.item[g].takes_room) {
      if (used_[target] + bytes > program.tier.item[target].capacity) return;
      used_[target] += bytes;
      peak[target] = larger(peak[target], used_[target]);
    }
    const extent_t until = now + (out ? time_out(g, tier) : time_in(g, tier));
    running_[link + 1] = item;
    until_[link + 1] = until;
    if constexpr (Observer::listens)
      observer.event({out ? offload_event_kind::store : offload_event_kind::prefetch, g, next_ - 1, now, used_[0]});
    observer.copy_runs(g, out, link, bytes, now, until);
  }

  template <class Observer>
  constexpr void end(int resource, extent_t now, Observer& observer) {
    const int item = running_[resource];
    until_[resource] = endless;
    if (resource > 0) head_[resource - 1] = item_.item[item].next;
    if (item == recomputation_only) return;
    if (resource == 0 || item >= copy_items()) {
      end_operator(resource == 0 ? item : item - copy_items(), now, observer);
      return;
    }
    const int g = item / 2, s = chains.gap.item[g].storage;
    if (item % 2 == 0) {
      gap_.item[g].stored = true;
      let_go(s, now, observer);
      return;
    }
    storage_.item[s].resident = true;
    if (!chains.gap.item[g].wraps) storage_.item[s].acting = gap_.item[g].next;
    if (copies_.item[g].frees_room) used_[plan_[g].tier] -= bytes_.item[s];
  }

  template <class Observer>
  constexpr void end_operator(int q, extent_t now, Observer& observer) {
    ended_.item[q] = 1;
    const operator_use* const end = chains.use.item + chains.first_use.item[q + 1];
    for (const operator_use* at = chains.use.item + chains.first_use.item[q]; at != end; ++at) {
      const operator_use u = *at;
      storage_state& s = storage_.item[u.storage];
      s.ended = s.ended + 1;
      if (u.writes) s.written = u.access;
      if (u.gap_before >= 0 && plan_[u.gap_before].choice == gap_choice::recompute) {
        const offload_storage& storage = program.storage.item[u.storage];
        for (int i = 0; i < storage.operand_count; ++i) {
          const int operand = program.operand.item[storage.first_operand + i];
          if (--storage_.item[operand].readers == 0) let_go(operand, now, observer);
        }
      }
      if (s.acting >= 0 || s.ended == released_after_.item[u.storage]) let_go(u.storage, now, observer);
    }
  }

  /// After an access, a store or the end of a recomputation: a storage leaves tier 0 where nothing holds it there any more.
  template <class Observer>
  constexpr void let_go(int s, extent_t now, Observer& observer) {
    storage_state& state = storage_.item[s];
    if (!state.resident || state.readers > 0) return;
    const int g = state.acting;
    const offload_storage& storage = program.storage.item[s];
    if (g < 0 ? storage.persistent || state.ended != storage.access_count
              : state.ended != chains.gap.item[g].access + 1 || (copies_.item[g].needs_store && !gap_.item[g].stored))
      return;
    if (g >= 0) gap_.item[g].away = true;
    state.resident = false;
    used_[0] -= storage.bytes;
    if constexpr (Observer::listens)
      observer.event(
          {g < 0 ? offload_event_kind::release : offload_event_kind::detach, g < 0 ? s : g, next_ - 1, now, used_[0]});
  }

  static constexpr int recomputation_only = INT32_MAX;  // compute is busy for an operator on a link

 public:
  /// How long a period takes, or `endless` where it never ends or takes `limit` or longer. Domain: a legal plan; its
  /// order is that of `program`.
  template <class Observer>
  constexpr extent_t run(const gap_decision* plan, extent_t limit, Observer& observer) {
    plan_ = plan;
    if (!prepare()) return endless;
    const int resources = program.link.size + 1, copies = copy_items(), operators = program.op.size;
    int queue = operators > 0 ? queue_of(0) : 0;  // of the next operator
    extent_t now = 0, soonest = endless;
    for (;;) {
      while (next_ < operators && until_[queue] == endless && try_operator(now, observer))
        if (next_ < operators) queue = queue_of(next_);
      for (int l = 0; l + 1 < resources; ++l) {
        if (until_[l + 1] < endless) continue;
        const int head = head_[l];
        if (head < 0 || head >= copies) continue;
        const int after = item_.item[head].after;
        if (after < 0 || ended_.item[after] != 0) try_copy(l, now, observer);
      }
      soonest = endless;
      for (int r = 0; r < resources; ++r)
        if (until_[r] < soonest) soonest = until_[r];
      if (soonest == endless) break;
      now = soonest;
      if (now >= limit) return endless;
      for (int r = 0; r < resources; ++r)
        if (until_[r] == now) end(r, now, observer);
    }
    stuck = next_;
    if (next_ < program.op.size) return endless;
    for (int l = 0; l + 1 < resources; ++l)
      if (head_[l] >= 0) return endless;
    stuck = -1;
    return now;
  }
  constexpr extent_t run(const gap_decision* plan, extent_t limit = endless) {
    detail::no_observer nobody;
    return run(plan, limit, nobody);
  }
};

}}  // namespace hyperparallel::v0_2
