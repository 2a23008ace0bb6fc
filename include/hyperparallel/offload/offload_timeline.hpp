// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program under a plan in full: when every operator and copy runs, what each tier and link carries, and the sequence
// in which storages enter and leave tier 0.
//
// The sequence is a static program: taken one after the other, with what an event starts or defines alive from it on
// and what it detaches or releases gone from it on, the bytes in tier 0 never exceed its capacity.
// Laws: exposed = makespan - the time of the same operators and recomputations where copies are free and memory has no
// bounds, ≥ 0; bytes of links are those of all copies on them. The rules of time are offload_clock's.

#include <hyperparallel/offload/offload_clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// start < 0: it does not take place.
struct timed_copy {
  extent_t start = -1, end = -1;
  friend constexpr bool operator==(const timed_copy&, const timed_copy&) = default;
};

struct offload_timeline {
  bool feasible = false;
  int stuck = -1;         ///< the first operator that never starts; the number of operators where only copies wait
  extent_t makespan = 0;  ///< up to where it stuck where it is not feasible
  extent_t exposed = 0;
  extent_t copy_busy = 0;  ///< time of all copies together
  extent_t bytes_in = 0, bytes_out = 0;
  extent_t peak[most_tiers] = {};
  extent_t link_in[most_links] = {}, link_out[most_links] = {};  ///< bytes of each link towards and away from tier 0
  extent_t link_busy[most_links] = {};                           ///< copies and collectives
  growing_array<timed_copy> op, store, fetch;                    ///< of each operator; of each gap
  growing_array<offload_event> sequence;
};

namespace detail {

struct timeline_writer {
  const offload_program& program;
  offload_timeline& t;

  static constexpr bool listens = true;
  constexpr void event(const offload_event& e) { t.sequence.push(e); }
  constexpr void operator_runs(int q, extent_t start, extent_t end) {
    t.op[q] = {start, end};
    t.makespan = larger(t.makespan, end);
    if (program.op[q].link >= 0) t.link_busy[program.op[q].link] += end - start;
  }
  constexpr void copy_runs(int gap, bool out, int link, extent_t bytes, extent_t start, extent_t end) {
    (out ? t.store : t.fetch)[gap] = {start, end};
    (out ? t.link_out : t.link_in)[link] += bytes;
    (out ? t.bytes_out : t.bytes_in) += bytes;
    t.link_busy[link] += end - start;
    t.copy_busy += end - start;
    t.makespan = larger(t.makespan, end);
  }
};

/// The time that operators and recomputations take by themselves.
constexpr extent_t time_without_copies(const offload_program& p, const use_chains& c, const gap_decision* plan) {
  growing_array<extent_t> extra(p.op.size, 0);
  for (int g = 0; g < c.gap.size; ++g)
    if (plan[g].choice == gap_choice::recompute) extra[c.gap[g].to] += p.storage[c.gap[g].storage].recompute;
  return times_without_copies(p, c, extra.item).total;
}

}  // namespace detail

/// Domain: a checked program, a legal plan.
constexpr offload_timeline timeline_of(const offload_program& p, const offload_plan& plan) {
  offload_clock clock(reordered(p, plan.order));
  offload_timeline t;
  t.op.resize(p.op.size);
  t.store.resize(plan.gap.size);
  t.fetch.resize(plan.gap.size);
  detail::timeline_writer writer{clock.program, t};
  t.feasible = clock.run(plan.gap.item, endless, writer) != endless;
  t.stuck = clock.stuck;
  for (int i = 0; i < p.tier.size; ++i) t.peak[i] = clock.peak[i];
  if (t.feasible) t.exposed = t.makespan - detail::time_without_copies(clock.program, clock.chains, plan.gap.item);
  return t;
}

}}  // namespace hyperparallel::v0_2
