// SPDX-License-Identifier: Apache-2.0
#pragma once
// What others do with memory tiers, as plans and times of the same programs, each in its most favourable form:
//
//   four_integers    the pass of a shipped graph compiler: gaps longer than `select_distance` operators, the first
//                    `select_number` of them; stored after the producer, fetched `prefetch_distance` operators before
//                    use. Memory is given back at once, where the pass waits a release distance.
//   longest_gap      gaps by falling length, then bytes, until the peak fits; stored after the last write, fetched by
//                    the operator that needs them.
//   demand_paging    least recently used pages leave when room is needed, pages come when they are used: nothing runs
//                    meanwhile. `paged_plan` is the same choice with copies that overlap as far as they can.
//   static_rules     optimizer states, or all persistent storages, live in the slower tier; activations stay or are
//                    recomputed: what the stages of offloaded data parallelism do.
//
// A plan is legal and may not run: then the baseline fails. Domain: checked programs with at least two tiers for all
// that offloads, else plans that keep everything.

#include <hyperparallel/offload/offload_timeline.hpp>

#include <algorithm>
#include <vector>

namespace offload_baselines {

namespace hp = hyperparallel;

struct four_distances {
  int select_distance = 1;
  int select_number = 1 << 20;
  int prefetch_distance = 1;
};

inline int length_of(const hp::offload_program& p, const hp::storage_gap& g) {
  return g.wraps ? p.op.size - g.from + g.to : g.to - g.from;
}

/// Offloads gap g, stored at the last write and fetched `distance` operators before use.
inline void offload_gap(const hp::storage_gap& g, const hp::gap_rights& right, int distance, hp::gap_decision& d) {
  const int earliest = g.wraps ? -1 : g.from;
  d = {hp::gap_choice::offload, right.tier > 0 ? right.tier : 1, g.last_write, std::max(earliest, g.to - distance)};
}

/// What control leaves no choice of, fetched at use.
inline hp::offload_plan forced_plan(const hp::use_chains& c, const hp::growing_array<hp::gap_rights>& rights) {
  hp::offload_plan plan = hp::keep_all(c.gap.size);
  for (int g = 0; g < c.gap.size; ++g) {
    if (rights[g].keep) continue;
    if (rights[g].offload)
      offload_gap(c.gap[g], rights[g], 1, plan.gap[g]);
    else
      plan.gap[g].choice = hp::gap_choice::recompute;
  }
  return plan;
}

inline hp::offload_plan four_integers(const hp::offload_program& p, const four_distances& distances) {
  const hp::use_chains c = hp::chains_of(p);
  const auto rights = hp::rights_of(p, c);
  hp::offload_plan plan = forced_plan(c, rights);
  std::vector<int> selected;
  for (int g = 0; g < c.gap.size; ++g)
    if (rights[g].offload && length_of(p, c.gap[g]) > distances.select_distance) selected.push_back(g);
  std::sort(selected.begin(), selected.end(),
            [&](int a, int b) { return c.gap[a].from != c.gap[b].from ? c.gap[a].from < c.gap[b].from : a < b; });
  for (std::size_t i = 0; i < selected.size() && static_cast<int>(i) < distances.select_number; ++i)
    offload_gap(c.gap[selected[i]], rights[selected[i]], distances.prefetch_distance, plan.gap[selected[i]]);
  return plan;
}

inline hp::offload_plan longest_gap(const hp::offload_program& p) {
  const hp::use_chains c = hp::chains_of(p);
  const auto rights = hp::rights_of(p, c);
  hp::offload_plan plan = forced_plan(c, rights);
  auto level = hp::live_bytes(p);
  const auto leave = [&](int g) {
    for (int q = 0; q < p.op.size; ++q)
      if (hp::covers(c.gap[g], q)) level[q] -= p.storage[c.gap[g].storage].bytes;
  };
  std::vector<int> order;
  for (int g = 0; g < c.gap.size; ++g) {
    if (rights[g].offload && rights[g].keep) order.push_back(g);
    if (!rights[g].keep) leave(g);
  }
  const auto bytes = [&](int g) { return p.storage[c.gap[g].storage].bytes; };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const int la = length_of(p, c.gap[a]), lb = length_of(p, c.gap[b]);
    if (la != lb) return la > lb;
    if (bytes(a) != bytes(b)) return bytes(a) > bytes(b);
    return c.gap[a].from != c.gap[b].from ? c.gap[a].from < c.gap[b].from : a < b;
  });
  for (const int g : order) {
    bool helps = false;
    for (int q = 0; q < p.op.size; ++q) helps = helps || (hp::covers(c.gap[g], q) && level[q] > p.tier[0].capacity);
    if (!helps) continue;
    offload_gap(c.gap[g], rights[g], 1, plan.gap[g]);
    leave(g);
  }
  return plan;
}

struct paging {
  hp::offload_plan plan;  ///< the gaps in which pages were away
  bool feasible = false;
  hp::extent_t time = 0;  ///< of the last of several periods: operators, evictions and loads one after the other
  hp::extent_t bytes_in = 0, bytes_out = 0;
};

/// Storages as pages of their size. Copies go by the links of tier 1. Four periods warm up.
inline paging demand_paging(const hp::offload_program& p) {
  const hp::use_chains c = hp::chains_of(p);
  const auto rights = hp::rights_of(p, c);
  paging r;
  r.plan = hp::keep_all(c.gap.size);
  if (p.tier.size < 2) return r;
  const std::size_t storages = static_cast<std::size_t>(p.storage.size);
  std::vector<long> used_at(storages, -1);
  std::vector<bool> resident(storages, false), clean(storages, false);
  hp::extent_t used = 0;
  for (int period = 0; period < 4; ++period) {
    r.time = r.bytes_in = r.bytes_out = 0;
    hp::growing_array<hp::gap_decision> away = hp::keep_all(c.gap.size).gap;
    for (int q = 0; q < p.op.size; ++q) {
      const long now = static_cast<long>(period) * p.op.size + q;
      for (int u = c.first_use[q]; u < c.first_use[q + 1]; ++u)
        used_at[static_cast<std::size_t>(c.use[u].storage)] = now;
      for (int u = c.first_use[q]; u < c.first_use[q + 1]; ++u) {
        const std::size_t s = static_cast<std::size_t>(c.use[u].storage);
        const hp::extent_t bytes = p.storage[c.use[u].storage].bytes;
        while (!resident[s] && used + bytes > p.tier[0].capacity) {
          std::size_t oldest = storages;
          for (std::size_t o = 0; o < storages; ++o)
            if (resident[o] && used_at[o] < now &&
                p.storage[static_cast<int>(o)].control != hp::offload_control::keep &&
                (oldest == storages || used_at[o] < used_at[oldest]))
              oldest = o;
          if (oldest == storages) return r;
          resident[oldest] = false;
          used -= p.storage[static_cast<int>(oldest)].bytes;
          if (!clean[oldest]) {
            r.time += hp::link_copy_time(p.link[p.tier[1].out_link], p.storage[static_cast<int>(oldest)].bytes);
            r.bytes_out += p.storage[static_cast<int>(oldest)].bytes;
          }
          clean[oldest] = true;
        }
        if (!resident[s]) {
          resident[s] = true;
          used += bytes;
          if (!c.use[u].defines) {
            r.time += hp::link_copy_time(p.link[p.tier[1].in_link], bytes);
            r.bytes_in += bytes;
            const int g = c.use[u].gap_before;
            if (g >= 0 && rights[g].offload) offload_gap(c.gap[g], rights[g], 1, away[g]);
          }
        }
        if (c.use[u].writes) clean[s] = false;
      }
      r.time += p.op[q].duration;
      for (int u = c.first_use[q]; u < c.first_use[q + 1]; ++u) {
        const int s = c.use[u].storage;
        if (p.storage[s].persistent || c.use[u].access + 1 < p.storage[s].access_count) continue;
        resident[static_cast<std::size_t>(s)] = clean[static_cast<std::size_t>(s)] = false;
        used -= p.storage[s].bytes;
      }
    }
    r.plan.gap = away;
  }
  for (int g = 0; g < c.gap.size; ++g)
    if (!rights[g].keep && r.plan.gap[g].choice == hp::gap_choice::keep) r.plan.gap[g] = forced_plan(c, rights).gap[g];
  r.feasible = true;
  return r;
}

enum class persistent_rule { keep, offload_optimizer, offload_all };

/// An optimizer state is a persistent storage that one operator touches.
inline hp::offload_plan static_rules(const hp::offload_program& p, persistent_rule rule, bool recompute,
                                     int prefetch_distance) {
  const hp::use_chains c = hp::chains_of(p);
  const auto rights = hp::rights_of(p, c);
  hp::offload_plan plan = forced_plan(c, rights);
  for (int g = 0; g < c.gap.size; ++g) {
    const hp::offload_storage& s = p.storage[c.gap[g].storage];
    if (!s.persistent) {
      if (recompute && rights[g].recompute) plan.gap[g] = {hp::gap_choice::recompute};
    } else if (rights[g].offload && (rule == persistent_rule::offload_all ||
                                     (rule == persistent_rule::offload_optimizer && s.access_count == 1))) {
      offload_gap(c.gap[g], rights[g], prefetch_distance, plan.gap[g]);
    }
  }
  return plan;
}

enum class baseline { four_integers, longest_gap, demand_paging, paged_plan, static_rules };

inline constexpr baseline baselines[] = {baseline::four_integers, baseline::longest_gap, baseline::demand_paging,
                                         baseline::paged_plan, baseline::static_rules};

constexpr const char* to_text(baseline b) {
  constexpr const char* texts[] = {"four integers", "longest gap", "demand paging", "paging, overlapped",
                                   "static rules"};
  return texts[static_cast<int>(b)];
}

/// `endless` where it does not run.
struct baseline_run {
  hp::extent_t time = hp::endless;
  hp::extent_t exposed = 0;  ///< time less that of operators and recomputations alone
  hp::extent_t bytes_in = 0, bytes_out = 0;
};

/// The fastest that it gets over its own parameters.
inline baseline_run run_baseline(baseline b, const hp::offload_program& p) {
  hp::offload_clock clock(p);
  baseline_run r;
  hp::offload_plan best;
  const auto take = [&](const hp::offload_plan& plan) {
    const hp::extent_t time = clock.run(plan.gap.item, r.time);
    if (time >= r.time) return;
    r.time = time;
    best = plan;
  };
  const int gaps = clock.chains.gap.size;
  switch (b) {
    case baseline::four_integers:
      for (int distance = 1; distance <= p.op.size; distance *= 2)
        for (int number = 1; number / 2 < gaps; number *= 2)
          for (int prefetch = 1; prefetch <= p.op.size; prefetch *= 2)
            take(four_integers(p, {distance, number, prefetch}));
      break;
    case baseline::longest_gap:
      take(longest_gap(p));
      break;
    case baseline::demand_paging:
      if (const paging paged = demand_paging(p); paged.feasible)
        r = {paged.time, paged.time - hp::times_without_copies(p, clock.chains).total, paged.bytes_in, paged.bytes_out};
      return r;
    case baseline::paged_plan:
      if (const paging paged = demand_paging(p); paged.feasible) take(paged.plan);
      break;
    case baseline::static_rules:
      for (const persistent_rule rule :
           {persistent_rule::keep, persistent_rule::offload_optimizer, persistent_rule::offload_all})
        for (const bool recompute : {false, true})
          for (int prefetch = 1; prefetch <= p.op.size; prefetch *= 2) take(static_rules(p, rule, recompute, prefetch));
      break;
  }
  if (r.time == hp::endless) return r;
  const hp::offload_timeline t = hp::timeline_of(p, best);
  r.exposed = t.exposed;
  r.bytes_in = t.bytes_in;
  r.bytes_out = t.bytes_out;
  return r;
}

}  // namespace offload_baselines
