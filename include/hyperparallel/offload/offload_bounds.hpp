// SPDX-License-Identifier: Apache-2.0
#pragma once
// What no plan can beat: bytes in and out, time, and the smallest budget.
//
// When operator q starts, everything that is alive then is in tier 0 or away, so at least live(q) - budget bytes are
// away. What is away comes back once a period, by a fetch or a recomputation; it went by a store in this period unless
// no operator ever writes it, or it is recomputed. What was written before q is stored before q starts, what is used
// behind q is fetched after that.
// Laws: bytes in ≥ max over q of (live - recomputable - budget)⁺; bytes out likewise less what is never written;
// time ≥ the operators' alone, ≥ the links' for those bytes and their collectives, ≥ what stands before q plus what
// stands behind it, ≥ the least that copies and recomputations, mixed in fractions, take to cover the excess at q.
// Each holds for all plans under the program's control; O(operators · gaps).

#include <hyperparallel/offload/use_chains.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct offload_bounds {
  extent_t time = 0;
  extent_t bytes_in = 0, bytes_out = 0;
  friend constexpr bool operator==(const offload_bounds&, const offload_bounds&) = default;
};

/// The smallest budget: what operator `op` needs at once, and the storages that are then in tier 0.
struct smallest_budget {
  extent_t bytes = 0;
  int op = -1;
  growing_array<int> alive;
};

namespace detail {

/// Links that carry copies in or out, each once.
struct copy_links {
  bool in[most_links] = {}, out[most_links] = {};
};

constexpr copy_links copy_links_of(const offload_program& p) {
  copy_links links;
  for (int t = 1; t < p.tier.size; ++t) {
    links.in[p.tier.item[t].in_link] = true;
    links.out[p.tier.item[t].out_link] = true;
  }
  return links;
}

/// The least time in which the marked links carry `bytes` next to the collectives of `busy`.
constexpr extent_t carrying_time(const offload_program& p, const bool* marked, const extent_t* busy, extent_t bytes) {
  if (bytes <= 0) return 0;
  wide_unsigned rate = 0, work = static_cast<wide_unsigned>(bytes) * static_cast<wide_unsigned>(second);
  for (int l = 0; l < p.link.size; ++l) {
    if (!marked[l]) continue;
    rate += static_cast<wide_unsigned>(p.link.item[l].bytes_per_second);
    work += static_cast<wide_unsigned>(p.link.item[l].bytes_per_second) * static_cast<wide_unsigned>(busy[l]);
  }
  return rate == 0 ? longest_time : static_cast<extent_t>(work / rate);
}

/// What is alive at one operator in gaps over it.
struct gap_bytes {
  extent_t all = 0, never_written = 0, recomputable = 0;
  extent_t fetched_later = 0;   ///< in the next period
  extent_t stored_earlier = 0;  ///< in the period before, or never
  constexpr gap_bytes& operator+=(const gap_bytes& more) {
    all += more.all;
    never_written += more.never_written;
    recomputable += more.recomputable;
    fetched_later += more.fetched_later;
    stored_earlier += more.stored_earlier;
    return *this;
  }
  constexpr gap_bytes& operator-=(const gap_bytes& less) {
    return *this += {-less.all, -less.never_written, -less.recomputable, -less.fetched_later, -less.stored_earlier};
  }
};

/// Of each operator; by what begins and ends before it. O(operators + gaps + accesses).
constexpr growing_array<gap_bytes> bytes_in_gaps(const offload_program& p, const use_chains& c,
                                                 const growing_array<gap_rights>& rights) {
  const int operators = p.op.size;
  growing_array<gap_bytes> sums(operators + 1);
  for (int g = 0; g < c.gap.size; ++g) {
    const bool again = rights.item[g].recompute;
    if (!rights.item[g].offload && !again) continue;
    const storage_gap gap = c.gap.item[g];
    const offload_storage& s = p.storage.item[gap.storage];
    bool written = !s.persistent;
    for (int a = 0; a < s.access_count && !written; ++a) written = p.access.item[s.first_access + a].writes;
    const auto over = [&](int begin, int end, bool fetched_later, bool stored_earlier) {
      if (begin >= end) return;
      const gap_bytes one{s.bytes, written ? 0 : s.bytes, again ? s.bytes : 0, fetched_later ? s.bytes : 0,
                          stored_earlier ? s.bytes : 0};
      sums.item[begin] += one;
      sums.item[end] -= one;
    };
    if (gap.wraps) {
      over(0, gap.to, false, true);
      over(gap.from + 1, operators, true, gap.last_write < 0);
    } else {
      over(gap.from + 1, gap.to, false, gap.last_write < 0);
    }
  }
  for (int q = 1; q < operators; ++q) sums.item[q] += sums.item[q - 1];
  return sums;
}

/// Gaps that may be recomputed, by rising time per byte.
constexpr growing_array<int> by_recomputation_price(const offload_program& p, const use_chains& c,
                                                    const growing_array<gap_rights>& rights) {
  growing_array<int> order;
  const auto storage = [&](int g) -> const offload_storage& { return p.storage.item[c.gap.item[g].storage]; };
  const auto dearer = [&](int a, int b) {
    return static_cast<wide_unsigned>(storage(a).recompute) * static_cast<wide_unsigned>(storage(b).bytes) >
           static_cast<wide_unsigned>(storage(b).recompute) * static_cast<wide_unsigned>(storage(a).bytes);
  };
  for (int g = 0; g < c.gap.size; ++g) {
    if (!rights.item[g].recompute || storage(g).bytes == 0) continue;
    int at = order.push(g);
    for (; at > 0 && dearer(order[at - 1], g); --at) order[at] = order[at - 1];
    order[at] = g;
  }
  return order;
}

/// The least, over fractions recomputed, of the longer of compute and links, where `excess` bytes leave at operator q.
constexpr extent_t covering_time(const offload_program& p, const use_chains& c, const growing_array<int>& cheapest,
                                 const copy_links& links, const extent_t* busy, extent_t compute, int q,
                                 extent_t excess, extent_t never_written) {
  const auto copies = [&](extent_t bytes) {
    return larger(carrying_time(p, links.in, busy, bytes), carrying_time(p, links.out, busy, bytes - never_written));
  };
  extent_t least = longest_time;
  for (int i = 0; i < cheapest.size && excess > 0; ++i) {
    const storage_gap& g = c.gap.item[cheapest[i]];
    if (!covers(g, q)) continue;
    // Somewhere between none and all of this one: at least the compute of none, at least the copies of all.
    least = smaller(least, larger(compute, copies(excess - p.storage.item[g.storage].bytes)));
    excess -= p.storage.item[g.storage].bytes;
    compute += excess > 0 ? p.storage.item[g.storage].recompute : 0;
  }
  return excess > 0 ? smaller(least, larger(compute, copies(excess))) : least;
}

}  // namespace detail

/// Domain: a checked program. `any_order`: also for plans that reorder movable operators.
constexpr offload_bounds bounds_of(const offload_program& p, const use_chains& c, bool any_order = false) {
  offload_bounds b;
  extent_t compute = 0, longest_queue = 0, busy[most_links] = {};
  for (const offload_operator& one : p.op) (one.link < 0 ? compute : busy[one.link]) += one.duration;
  for (int l = 0; l < p.link.size; ++l) longest_queue = larger(longest_queue, busy[l]);
  longest_queue = larger(longest_queue, compute);
  const operator_times times = times_without_copies(p, c);
  b.time = any_order ? longest_queue : times.total;
  if (any_order) return b;
  const growing_array<gap_rights> rights = rights_of(p, c);
  const growing_array<extent_t> live = live_bytes(p);
  const growing_array<detail::gap_bytes> in_gaps = detail::bytes_in_gaps(p, c, rights);
  const growing_array<int> cheapest = detail::by_recomputation_price(p, c, rights);
  const detail::copy_links links = detail::copy_links_of(p);
  const extent_t idle[most_links] = {};
  extent_t behind = compute;  // compute from operator q on
  for (int q = 0; q < p.op.size; ++q) {
    const extent_t excess = live[q] - p.tier.item[0].capacity;
    if (excess > 0 && excess <= in_gaps[q].all) {
      const extent_t copied = excess - in_gaps[q].recomputable;
      b.bytes_in = larger(b.bytes_in, copied);
      b.bytes_out = larger(b.bytes_out, copied - in_gaps[q].never_written);
      const extent_t before = detail::carrying_time(p, links.out, idle, copied - in_gaps[q].stored_earlier);
      const extent_t after = detail::carrying_time(p, links.in, idle, copied - in_gaps[q].fetched_later);
      b.time = larger(b.time, larger(times.start[q], before) + larger(behind, after));
      b.time = larger(b.time,
                      detail::covering_time(p, c, cheapest, links, busy, compute, q, excess, in_gaps[q].never_written));
    }
    if (p.op.item[q].link < 0) behind -= p.op.item[q].duration;
  }
  bool both[most_links] = {};
  for (int l = 0; l < p.link.size; ++l) both[l] = links.in[l] || links.out[l];
  b.time = larger(b.time, detail::carrying_time(p, both, busy, b.bytes_in + b.bytes_out));
  return b;
}

/// No plan runs with less. Where slower tiers hold all that may leave and control recomputes nothing, one runs with it.
/// Domain: a checked program. O(operators · gaps).
constexpr smallest_budget least_budget(const offload_program& p, const use_chains& c) {
  smallest_budget least;
  const growing_array<gap_rights> rights = rights_of(p, c);
  const growing_array<extent_t> live = live_bytes(p);
  const growing_array<detail::gap_bytes> in_gaps = detail::bytes_in_gaps(p, c, rights);
  for (int q = 0; q < p.op.size; ++q)
    if (least.op < 0 || live[q] - in_gaps[q].all > least.bytes) {
      least.bytes = live[q] - in_gaps[q].all;
      least.op = q;
    }
  for (int s = 0; s < p.storage.size && least.op >= 0; ++s) {
    if (!detail::touches(p.storage.item[s])) continue;
    bool here =
        p.storage.item[s].persistent || (detail::first_op(p, s) <= least.op && least.op <= detail::last_op(p, s));
    for (int g = c.first_gap.item[s]; g < c.first_gap.item[s + 1]; ++g)
      if (covers(c.gap.item[g], least.op) && (rights.item[g].offload || rights.item[g].recompute)) here = false;
    if (here) least.alive.push(s);
  }
  return least;
}

}}  // namespace hyperparallel::v0_2
