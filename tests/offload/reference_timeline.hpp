// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of time once more, slowly: everything that could happen is asked anew, from the history of what started and
// ended, after each step of time.

#include <hyperparallel/offload/offload_plan.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace offload_testing {

namespace hp = hyperparallel;

struct reference_result {
  bool feasible = false;
  hp::extent_t makespan = 0, bytes_in = 0, bytes_out = 0, peak[hp::most_tiers] = {};
  std::vector<hp::extent_t> op_start, op_end;
};

class reference_run {
 public:
  reference_run(const hp::offload_program& p, const hp::offload_plan& plan)
      : p_(p), gap_(hp::gaps_of(p)), plan_(plan) {}

  reference_result operator()() {
    const int n = p_.op.size;
    r_.op_start.assign(static_cast<std::size_t>(n), -1);
    r_.op_end.assign(static_cast<std::size_t>(n), -1);
    for (int l = 0; l < p_.link.size; ++l) queue_.push_back(queue_of_link(l));
    for (hp::extent_t now = 0;;) {
      if (over_capacity(now)) return r_;  // only at the begin
      for (bool more = true; more;) {
        more = false;
        while (start_operator(now)) more = true;
        for (int l = 0; l < p_.link.size; ++l) more = start_copy(l, now) || more;
      }
      note_peaks(now);
      hp::extent_t next = -1;
      const auto consider = [&](hp::extent_t t) {
        if (t > now && (next < 0 || t < next)) next = t;
      };
      for (auto& [g, t] : store_) consider(t.second);
      for (auto& [g, t] : fetch_) consider(t.second);
      for (int q = 0; q < n; ++q) {
        consider(ended_time(q));
        if (longer_.contains(q)) consider(r_.op_start[at(q)] + longer_[q]);
      }
      if (next < 0) break;
      now = next;
    }
    for (int q = 0; q < n; ++q)
      if (ended_time(q) < 0) return r_;
    for (int g = 0; g < gap_.size; ++g) {
      if (plan_.gap[g].choice != hp::gap_choice::offload) continue;
      if (!fetch_.contains(g) || (needs_store(g) && !store_.contains(g))) return r_;
    }
    for (int q = 0; q < n; ++q) r_.makespan = std::max(r_.makespan, ended_time(q));
    for (auto& [g, t] : store_) {
      r_.makespan = std::max(r_.makespan, t.second);
      r_.bytes_out += p_.storage[gap_[g].storage].bytes;
    }
    for (auto& [g, t] : fetch_) {
      r_.makespan = std::max(r_.makespan, t.second);
      r_.bytes_in += p_.storage[gap_[g].storage].bytes;
    }
    r_.feasible = true;
    return r_;
  }

 private:
  struct job {
    char kind;  // store, fetch, collective
    int index, after;
  };
  using times = std::map<int, std::pair<hp::extent_t, hp::extent_t>>;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  hp::extent_t ended_time(int q) const { return r_.op_end[at(q)]; }
  bool op_ended(int q, hp::extent_t now) const { return ended_time(q) >= 0 && ended_time(q) <= now; }
  bool op_started(int q) const { return r_.op_start[at(q)] >= 0; }
  const hp::storage_access& access(int s, int a) const { return p_.access[p_.storage[s].first_access + a]; }
  bool acts(int g) const { return plan_.gap[g].choice != hp::gap_choice::keep; }
  bool offloads(int g) const { return plan_.gap[g].choice == hp::gap_choice::offload; }

  /// Whether storage s is written by an operator in (from, to].
  bool written_in(int s, int from, int to) const {
    for (int a = 0; a < p_.storage[s].access_count; ++a)
      if (access(s, a).writes && access(s, a).op > from && access(s, a).op <= to) return true;
    return false;
  }
  bool away_between_periods(int s) const {
    for (int g = 0; g < gap_.size; ++g)
      if (gap_[g].storage == s && gap_[g].wraps && offloads(g)) return true;
    return false;
  }
  bool at_home(int s, int tier) const {
    bool never = p_.storage[s].persistent && !written_in(s, -1, p_.op.size), wraps = false, uses = false;
    for (int g = 0; g < gap_.size; ++g) {
      if (gap_[g].storage != s) continue;
      wraps = wraps || gap_[g].wraps;
      if (offloads(g) && plan_.gap[g].tier == tier) uses = uses || gap_[g].wraps || never;
    }
    return wraps && uses;
  }
  bool needs_store(int g) const {
    const int s = gap_[g].storage, tier = plan_.gap[g].tier;
    if (at_home(s, tier) && !written_in(s, -1, gap_[g].from)) return false;
    for (int before = 0; before < g; ++before)
      if (gap_[before].storage == s && offloads(before) && plan_.gap[before].tier == tier &&
          !written_in(s, gap_[before].from, gap_[g].from))
        return false;
    return true;
  }

  std::vector<job> queue_of_link(int l) const {
    std::vector<job> jobs;
    for (int after = -1; after < p_.op.size; ++after) {
      for (int g = 0; g < gap_.size; ++g)
        if (offloads(g) && needs_store(g) && plan_.gap[g].store_after == after &&
            p_.tier[plan_.gap[g].tier].out_link == l)
          jobs.push_back({'s', g, after});
      std::vector<int> fetches;
      for (int g = 0; g < gap_.size; ++g)
        if (offloads(g) && plan_.gap[g].fetch_after == after && p_.tier[plan_.gap[g].tier].in_link == l)
          fetches.push_back(g);
      std::sort(fetches.begin(), fetches.end(),
                [&](int a, int b) { return gap_[a].to != gap_[b].to ? gap_[a].to < gap_[b].to : a < b; });
      for (const int g : fetches) jobs.push_back({'f', g, after});
      if (after + 1 < p_.op.size && p_.op[after + 1].link == l) jobs.push_back({'c', after + 1, after});
    }
    return jobs;
  }

  bool fetched(int g, hp::extent_t now) const { return fetch_.contains(g) && fetch_.at(g).second <= now; }
  bool fetching(int g) const { return fetch_.contains(g); }
  bool stored(int g, hp::extent_t now) const { return store_.contains(g) && store_.at(g).second <= now; }

  /// Whether everybody who reads storage s for a recomputation has ended.
  bool unread(int s, hp::extent_t now) const {
    for (int g = 0; g < gap_.size; ++g) {
      if (plan_.gap[g].choice != hp::gap_choice::recompute) continue;
      const hp::offload_storage& other = p_.storage[gap_[g].storage];
      for (int i = 0; i < other.operand_count; ++i)
        if (p_.operand[other.first_operand + i] == s && op_started(gap_[g].to) && !op_ended(gap_[g].to, now))
          return false;
    }
    return true;
  }
  bool accesses_ended(int s, int up_to_op, hp::extent_t now) const {
    for (int a = 0; a < p_.storage[s].access_count; ++a)
      if (access(s, a).op <= up_to_op && !op_ended(access(s, a).op, now)) return false;
    return true;
  }
  /// The gap's storage has left tier 0 at its begin.
  bool left(int g, hp::extent_t now) const {
    if (gone_.contains({0, g})) return true;
    const int s = gap_[g].storage;
    for (int before = 0; before < g; ++before)
      if (gap_[before].storage == s && acts(before) && !back(before, now)) return false;
    if (gap_[g].wraps && !fetched(g, now) && away_between_periods(s)) return false;
    if (!accesses_ended(s, gap_[g].from, now) || !unread(s, now)) return false;
    if (offloads(g) && needs_store(g) && !stored(g, now)) return false;
    gone_.insert({{0, g}, true});
    return true;
  }
  bool back(int g, hp::extent_t now) const { return offloads(g) ? fetched(g, now) : op_started(gap_[g].to); }
  bool dead(int s, hp::extent_t now) const {
    if (p_.storage[s].persistent) return false;
    if (gone_.contains({1, s})) return true;
    if (!accesses_ended(s, p_.op.size, now) || !unread(s, now)) return false;
    gone_.insert({{1, s}, true});
    return true;
  }
  /// 2: its bytes are in tier 0; 1: room is taken for them; 0: neither.
  int presence(int s, hp::extent_t now) const {
    if (p_.storage[s].access_count == 0 || dead(s, now)) return 0;
    if (!p_.storage[s].persistent && !op_started(access(s, 0).op)) return 0;
    for (int g = 0; g < gap_.size; ++g) {
      if (gap_[g].storage != s || !acts(g)) continue;
      if (gap_[g].wraps) {
        if (!fetched(g, now)) return fetching(g) ? 1 : 0;
        if (left(g, now)) return 0;
      }
    }
    for (int g = 0; g < gap_.size; ++g) {
      if (gap_[g].storage != s || !acts(g) || gap_[g].wraps) continue;
      if (left(g, now) && !back(g, now)) return offloads(g) && fetching(g) ? 1 : 0;
    }
    return 2;
  }
  hp::extent_t used(int tier, hp::extent_t now) const {
    hp::extent_t sum = 0;
    for (int s = 0; s < p_.storage.size; ++s) {
      const hp::extent_t bytes = p_.storage[s].bytes;
      if (tier == 0) {
        sum += presence(s, now) > 0 ? bytes : 0;
        continue;
      }
      bool holds = at_home(s, tier);
      for (int g = 0; g < gap_.size && !holds; ++g) {
        if (gap_[g].storage != s || !offloads(g) || plan_.gap[g].tier != tier || !needs_store(g)) continue;
        if (!store_.contains(g)) continue;
        int last = g;  // the last gap that lives on this store
        for (int later = g + 1; later < gap_.size; ++later)
          if (gap_[later].storage == s && offloads(later) && plan_.gap[later].tier == tier && !needs_store(later) &&
              !written_in(s, gap_[g].from, gap_[later].from))
            last = later;
        holds = !fetched(last, now);
      }
      sum += holds ? bytes : 0;
    }
    return sum;
  }
  bool over_capacity(hp::extent_t now) const {
    for (int t = 0; t < p_.tier.size; ++t)
      if (used(t, now) > p_.tier[t].capacity) return true;
    return false;
  }
  void note_peaks(hp::extent_t now) {
    for (int t = 0; t < p_.tier.size; ++t) r_.peak[t] = std::max(r_.peak[t], used(t, now));
  }
  bool compute_busy(hp::extent_t now) const {
    for (int q = 0; q < p_.op.size; ++q) {
      if (!op_started(q)) continue;
      if (p_.op[q].link < 0 && !op_ended(q, now)) return true;
      if (p_.op[q].link >= 0 && longer_.contains(q) && r_.op_start[at(q)] + longer_.at(q) > now) return true;
    }
    return false;
  }
  bool link_busy(int l, hp::extent_t now) const {
    if (served_[l] == 0) return false;
    const job& j = queue_[at(l)][at(served_.at(l) - 1)];
    return j.kind == 'c' ? !op_ended(j.index, now) : !(j.kind == 's' ? stored(j.index, now) : fetched(j.index, now));
  }

  bool start_operator(hp::extent_t now) {
    int q = 0;
    while (q < p_.op.size && op_started(q)) ++q;
    if (q == p_.op.size) return false;
    const int link = p_.op[q].link;
    if (link < 0 ? compute_busy(now) : link_busy(link, now)) return false;
    if (link >= 0) {
      const auto& jobs = queue_[at(link)];
      if (served_[link] >= static_cast<int>(jobs.size()) || jobs[at(served_[link])].kind != 'c' ||
          jobs[at(served_[link])].index != q)
        return false;
    }
    hp::extent_t room = 0, longer = 0;
    bool recomputes = false;
    for (int s = 0; s < p_.storage.size; ++s)
      for (int a = 0; a < p_.storage[s].access_count; ++a) {
        if (access(s, a).op != q) continue;
        for (int b = 0; b < a; ++b)
          if ((access(s, a).writes || access(s, b).writes) && !op_ended(access(s, b).op, now)) return false;
        if (access(s, a).writes && !unread(s, now)) return false;
        if (a == 0 && !p_.storage[s].persistent) {
          room += p_.storage[s].bytes;
          continue;
        }
        bool missing = presence(s, now) != 2, again = false;
        for (int g = 0; g < gap_.size; ++g)
          if (gap_[g].storage == s && gap_[g].to == q && acts(g) && !gap_[g].wraps) missing = missing || !back(g, now);
        if (!missing) continue;
        for (int g = 0; g < gap_.size; ++g)
          if (gap_[g].storage == s && gap_[g].to == q && plan_.gap[g].choice == hp::gap_choice::recompute)
            again = left(g, now);
        if (!again) return false;
        for (int i = 0; i < p_.storage[s].operand_count; ++i)
          if (presence(p_.operand[p_.storage[s].first_operand + i], now) != 2) return false;
        room += p_.storage[s].bytes;
        longer += p_.storage[s].recompute;
        recomputes = true;
      }
    if (recomputes && link >= 0 && compute_busy(now)) return false;
    if (used(0, now) + room > p_.tier[0].capacity) return false;
    r_.op_start[at(q)] = now;
    r_.op_end[at(q)] = now + longer + p_.op[q].duration;
    if (longer > 0) longer_[q] = longer;
    if (link >= 0) ++served_[link];
    return true;
  }
  bool start_copy(int l, hp::extent_t now) {
    const auto& jobs = queue_[at(l)];
    if (link_busy(l, now) || served_[l] >= static_cast<int>(jobs.size())) return false;
    const job& j = jobs[at(served_[l])];
    if (j.kind == 'c' || (j.after >= 0 && !op_ended(j.after, now))) return false;
    const int g = j.index, s = gap_[g].storage, tier = plan_.gap[g].tier;
    const hp::extent_t bytes = p_.storage[s].bytes;
    if (j.kind == 's') {
      if (presence(s, now) != 2 || left(g, now)) return false;
      for (int before = 0; before < g; ++before)
        if (gap_[before].storage == s && acts(before) && !back(before, now)) return false;
      for (int a = 0; a < p_.storage[s].access_count; ++a)
        if (access(s, a).writes && access(s, a).op <= gap_[g].from && !op_ended(access(s, a).op, now)) return false;
      if (!at_home(s, tier) && used(tier, now) + bytes > p_.tier[tier].capacity) return false;
      store_[g] = {now, now + hp::link_copy_time(p_.link[l], bytes)};
    } else {
      if (!gap_[g].wraps && !left(g, now)) return false;
      if (used(0, now) + bytes > p_.tier[0].capacity) return false;
      fetch_[g] = {now, now + hp::link_copy_time(p_.link[l], bytes)};
    }
    ++served_[l];
    return true;
  }

  const hp::offload_program& p_;
  const hp::growing_array<hp::storage_gap> gap_;
  const hp::offload_plan& plan_;
  reference_result r_;
  std::vector<std::vector<job>> queue_;
  mutable std::map<int, int> served_;
  std::map<int, hp::extent_t> longer_;
  times store_, fetch_;
  mutable std::map<std::pair<int, int>, bool> gone_;  // what has left stays so: (0, gap), (1, storage)
};

}  // namespace offload_testing
