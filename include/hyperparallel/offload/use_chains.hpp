// SPDX-License-Identifier: Apache-2.0
#pragma once
// Use-definition chains of storages over one period, and the gaps in them: stretches in which no operator touches a
// storage, so that its bytes may be elsewhere.
//
// A gap lies between two consecutive accesses with at least one operator between them; a persistent storage also has
// the gap that wraps, from its last access over the end of the period to its first. Gaps are listed by storage and,
// within one, by `from`, the wrapping one last. A persistent storage that no operator touches takes no part.
// A gap may be recomputed when repeating the storage's definition at `to` gives what it held at `from`: the definition
// is its only write so far, the operands were not written since then and are still alive.
// Laws: live bytes of an operator = those of storages in use at it + those of storages in a gap over it. O(program).

#include <hyperparallel/offload/offload_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct storage_gap {
  int storage = 0;
  int from = 0, to = 0;  ///< operators; where it wraps, `to` is one of the next period and may be ≤ from
  bool wraps = false;
  bool recomputable = false;
  int access = 0;       ///< which of the storage's accesses `from` is
  int last_write = -1;  ///< the last operator up to `from` that writes it, -1: none in this period
  int last_write_access = -1;
  friend constexpr bool operator==(const storage_gap&, const storage_gap&) = default;
};

/// One access as its operator sees it. Gaps are places in use_chains::gap, -1: none.
struct operator_use {
  int storage = 0;
  int access = 0;           ///< which of the storage's accesses it is
  int previous_write = -1;  ///< the last of them before this one that writes
  int gap_before = -1;      ///< the gap that ends here; a wrapping one counts
  int gap_after = -1;
  bool writes = false;
  bool defines = false;  ///< the storage comes into being
  friend constexpr bool operator==(const operator_use&, const operator_use&) = default;
};

struct use_chains {
  growing_array<storage_gap> gap;
  growing_array<int> first_gap;  ///< of each storage, and the end
  growing_array<operator_use> use;
  growing_array<int> first_use;  ///< of each operator, and the end
};

/// What the planner may do with a gap.
struct gap_rights {
  bool keep = true, offload = false, recompute = false;
  int tier = -1;  ///< the only one it may go to, -1: any
};

namespace detail {

constexpr bool touches(const offload_storage& s) { return s.access_count > 0; }

constexpr const storage_access& access_of(const offload_program& p, int s, int a) {
  return p.access.item[p.storage.item[s].first_access + a];
}
constexpr int first_op(const offload_program& p, int s) { return access_of(p, s, 0).op; }
constexpr int last_op(const offload_program& p, int s) {
  return access_of(p, s, p.storage.item[s].access_count - 1).op;
}

/// Whether operand `o` holds at operator `to` what it held when operator `definition` ran.
constexpr bool holds_still(const offload_program& p, int o, int definition, int to) {
  const offload_storage& operand = p.storage.item[o];
  if (!touches(operand)) return false;
  if (!operand.persistent && (first_op(p, o) >= definition || last_op(p, o) < to)) return false;
  for (int a = 0; a < operand.access_count; ++a) {
    const storage_access& one = access_of(p, o, a);
    if (one.writes && one.op >= definition && one.op < to) return false;
  }
  return true;
}

constexpr bool may_recompute(const offload_program& p, const storage_gap& g) {
  const offload_storage& s = p.storage.item[g.storage];
  if (s.recompute < 0 || s.persistent || g.last_write_access != 0) return false;
  for (int i = 0; i < s.operand_count; ++i)
    if (!holds_still(p, p.operand.item[s.first_operand + i], g.last_write, g.to)) return false;
  return true;
}

}  // namespace detail

/// Domain: a checked program.
constexpr use_chains chains_of(const offload_program& p) {
  use_chains c;
  c.first_gap.reserve(p.storage.size + 1);
  c.first_use.resize(p.op.size + 1, 0);
  c.use.resize(p.access.size);
  int used = 0;
  for (const offload_storage& s : p.storage)
    for (int a = 0; a < s.access_count; ++a, ++used) ++c.first_use.item[p.access.item[s.first_access + a].op];
  int end = 0;  // first_use[q] is the end of q's uses, and moves to their begin as they are filled in
  for (int q = 0; q <= p.op.size; ++q) c.first_use.item[q] = end += c.first_use.item[q];
  c.use.resize(used);
  for (int s = p.storage.size - 1; s >= 0; --s)  // so that an operator lists storages by number
    for (int a = p.storage.item[s].access_count - 1, slot = 0; a >= 0; --a) {
      const storage_access& one = detail::access_of(p, s, a);
      slot = --c.first_use.item[one.op];
      c.use.item[slot] = {.storage = s, .access = a, .writes = one.writes};
      c.use.item[slot].defines = a == 0 && !p.storage.item[s].persistent;
    }
  growing_array<int> slot_of;  // of each access of one storage
  growing_array<int> next_slot = c.first_use;
  for (int s = 0; s < p.storage.size; ++s) {
    c.first_gap.push(c.gap.size);
    const int count = p.storage.item[s].access_count;
    slot_of.clear();
    for (int a = 0, write = -1; a < count; ++a) {
      const int slot = next_slot[detail::access_of(p, s, a).op]++;
      c.use.item[slot].previous_write = write;
      if (c.use.item[slot].writes) write = a;
      slot_of.push(slot);
    }
    storage_gap g{.storage = s};
    for (int a = 0; a < count; ++a) {
      const storage_access& one = detail::access_of(p, s, a);
      g.from = one.op;
      g.access = a;
      if (one.writes) {
        g.last_write = one.op;
        g.last_write_access = a;
      }
      g.wraps = a + 1 == count;
      if (g.wraps && !p.storage.item[s].persistent) break;
      g.to = detail::access_of(p, s, g.wraps ? 0 : a + 1).op;
      const int between = g.wraps ? p.op.size - 1 - g.from + g.to : g.to - g.from - 1;
      if (between < 1) continue;
      g.recomputable = !g.wraps && detail::may_recompute(p, g);
      const int number = c.gap.push(g);
      c.use.item[slot_of[a]].gap_after = number;
      c.use.item[slot_of[g.wraps ? 0 : a + 1]].gap_before = number;
    }
  }
  c.first_gap.push(c.gap.size);
  return c;
}

constexpr growing_array<storage_gap> gaps_of(const offload_program& p) { return chains_of(p).gap; }

/// Whether operator `q` lies strictly inside the gap.
constexpr bool covers(const storage_gap& g, int q) { return g.wraps ? q > g.from || q < g.to : g.from < q && q < g.to; }

/// Bytes of everything that holds a value while operator q runs, of each q: what tier 0 needs when nothing leaves it.
constexpr growing_array<extent_t> live_bytes(const offload_program& p) {
  growing_array<extent_t> live(p.op.size + 1, 0);
  for (int s = 0; s < p.storage.size; ++s) {
    if (!detail::touches(p.storage.item[s])) continue;
    const bool always = p.storage.item[s].persistent;
    live[always ? 0 : detail::first_op(p, s)] += p.storage.item[s].bytes;
    live[always ? p.op.size : detail::last_op(p, s) + 1] -= p.storage.item[s].bytes;
  }
  for (int q = 1; q < p.op.size; ++q) live[q] += live[q - 1];
  live.resize(p.op.size);
  return live;
}

/// When each operator starts and ends where memory has no bounds and copies take no time.
struct operator_times {
  growing_array<extent_t> start, end;
  extent_t total = 0;
};

/// Operators start in order, each when its queue is free and earlier operators that conflict have ended; operator q
/// computes `extra[q]` longer, `extra` may be null.
constexpr operator_times times_without_copies(const offload_program& p, const use_chains& c,
                                              const extent_t* extra = nullptr) {
  operator_times t;
  t.start.resize(p.op.size);
  t.end.resize(p.op.size);
  extent_t free_at[most_links + 1] = {};
  growing_array<extent_t> written(p.storage.size, 0), touched(p.storage.size, 0);
  extent_t start = 0;
  for (int q = 0; q < p.op.size; ++q) {
    const extent_t longer = extra != nullptr ? extra[q] : 0;
    const int queue = p.op.item[q].link + 1, uses = c.first_use.item[q + 1];
    start = larger(start, free_at[queue]);
    if (longer > 0) start = larger(start, free_at[0]);
    for (int u = c.first_use.item[q]; u < uses; ++u) {
      const int s = c.use.item[u].storage;
      const extent_t ready = c.use.item[u].writes ? touched.item[s] : written.item[s];
      if (ready > start) start = ready;
    }
    const extent_t end = start + longer + p.op.item[q].duration;
    free_at[queue] = end;
    if (longer > 0 && queue != 0) free_at[0] = start + longer;
    for (int u = c.first_use.item[q]; u < uses; ++u) {
      const int s = c.use.item[u].storage;
      if (end > touched.item[s]) touched.item[s] = end;
      if (c.use.item[u].writes) written.item[s] = end;
    }
    t.start.item[q] = start;
    t.end.item[q] = end;
    if (end > t.total) t.total = end;
  }
  return t;
}

namespace detail {

/// Time between the accesses around a gap, by times without copies.
constexpr extent_t gap_time(const operator_times& t, const storage_gap& g) {
  return g.wraps ? t.total - t.end.item[g.from] + t.start.item[g.to]
                 : larger(0, t.start.item[g.to] - t.end.item[g.from]);
}

}  // namespace detail

/// What control leaves open, of each gap. keep: all are kept. offload: the gap that wraps leaves tier 0, or the longest
/// where none wraps, the others may. recompute: the longest that can be is recomputed, the others may be.
constexpr growing_array<gap_rights> rights_of(const offload_program& p, const use_chains& c) {
  growing_array<gap_rights> rights(c.gap.size);
  bool forces = false;
  for (const offload_storage& one : p.storage)
    if (one.control == offload_control::offload || one.control == offload_control::recompute) forces = true;
  operator_times times;
  if (forces) times = times_without_copies(p, c);
  for (int s = 0; s < p.storage.size; ++s) {
    const offload_storage& storage = p.storage.item[s];
    int forced = -1;
    for (int g = c.first_gap.item[s]; g < c.first_gap.item[s + 1]; ++g) {
      const bool automatic = storage.control == offload_control::automatic;
      const bool leaves = storage.control == offload_control::offload;
      const bool repeats = storage.control == offload_control::recompute && c.gap.item[g].recomputable;
      rights.item[g].offload = p.tier.size > 1 && (automatic || leaves);
      rights.item[g].recompute = (automatic && c.gap.item[g].recomputable) || repeats;
      rights.item[g].tier = storage.tier;
      if ((leaves || repeats) && (forced < 0 || c.gap.item[g].wraps ||
                                  detail::gap_time(times, c.gap.item[g]) > detail::gap_time(times, c.gap.item[forced])))
        forced = g;
    }
    if (forced >= 0) rights.item[forced].keep = false;
  }
  return rights;
}

}}  // namespace hyperparallel::v0_2
