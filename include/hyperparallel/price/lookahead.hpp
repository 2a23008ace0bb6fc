// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far the moves of a plan run ahead: the lookahead that is fastest within a memory.
//
//   const hp::clocked_plan c = hp::lower_fastest(program, {.topology = links}, device, device.tier[0].bytes);
//   c.lowered.times.makespan, c.lookahead, c.bytes()
//
// A larger lookahead keeps the blocks of moves for longer (address_plan.hpp), so fewer moves wait for addresses that another
// block still has, and more memory is taken. Tried are 0, 1, 2, 4, … up to `most_lookahead`, until the clock is
// within 1/256 of the *unhindered* one, which is that of addresses that no two storages share, or the addresses exceed the memory.
// Where the first already do, addresses within the memory are searched for long, without lookahead.
// Laws: the plan is one of those tried, and none of them that stays within the memory is faster; where none does, it is
// the first one. The clock is at least the unhindered one, which for a step of one micro-batch is
// the estimate (step_estimate.hpp). O(lookaheads tried · (plan_addresses + lower_class)), and a proof of two plans.

#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr int most_lookahead = 64;

}  // namespace detail

/// A lowered step of training with its times.
struct clocked_plan {
  lowered_program lowered;
  extent_t unhindered = 0;  ///< makespan where no two storages share an address
  int lookahead = 0;
  extent_t least_bytes = 0;  ///< of tier 0 by address, without lookahead

  constexpr bool ok() const { return lowered.status.ok() && lowered.times.ok(); }
  constexpr extent_t bytes() const { return lowered.addresses.high_water[0]; }
};

namespace detail {

/// The makespan of the runs of `l` on other addresses, unproved; `longest_time` where there is no plan on them.
constexpr extent_t makespan_on(const lowered_program& l, const program_addresses& addresses, const device_value& d) {
  growing_array<lowered_run> runs;
  for (const lowered_run& r : l.run) {
    program_flow_options how;
    how.phases = r.phases;
    how.vector_queue = l.vector_queue;
    runs.push({r.phases, lower_class(l.program, l.pulls, addresses, how), {}});
    if (runs.last().plan.status.code != program_flow_code::ok) return longest_time;
  }
  return simulate(l, runs, d).makespan;
}

clocked_plan lower_fastest_in_library(sharded_program p, lowering_options how, const device_value& d, extent_t memory);
constexpr clocked_plan lower_fastest_here(sharded_program p, lowering_options how, const device_value& d,
                                          extent_t memory) {
  how.lookahead = 0;
  clocked_plan c;
  c.lowered = clocked(lower_training(static_cast<sharded_program&&>(p), how), d);
  if (!c.ok()) return c;
  lowered_program& l = c.lowered;
  const auto addresses_of = [&](int ahead) {
    return plan_addresses(l.program, l.pulls.moves, {.budget = how.budget, .lookahead = ahead});
  };
  const auto take = [&](program_addresses&& addresses) {
    l.addresses = static_cast<program_addresses&&>(addresses);
    l.run.clear();
    lower_steps(l);
    l = clocked(static_cast<lowered_program&&>(l), d);
  };
  if (c.bytes() > memory) {
    program_addresses packed = plan_addresses(l.program, l.pulls.moves, {.budget = memory});
    if (packed.high_water[0] < c.bytes()) take(static_cast<program_addresses&&>(packed));
  }
  c.least_bytes = c.bytes();
  c.unhindered = smaller(l.times.makespan, detail::makespan_on(l, addresses_of(l.program.step.size), d));
  const extent_t enough = c.unhindered + c.unhindered / 256;
  extent_t best = l.times.makespan;
  program_addresses chosen;
  for (int ahead = 1; ahead <= most_lookahead && best > enough; ahead *= 2) {
    program_addresses next = addresses_of(ahead);
    if (next.high_water[0] > memory) break;
    const extent_t makespan = detail::makespan_on(l, next, d);
    if (makespan >= best) continue;
    best = makespan;
    chosen = static_cast<program_addresses&&>(next);
    c.lookahead = ahead;
  }
  if (c.lookahead == 0) return c;
  take(static_cast<program_addresses&&>(chosen));
  return c;
}

}  // namespace detail

/// Domain: the moves of `how.topology` can be priced on the device; `how.lookahead` is not read.
constexpr clocked_plan lower_fastest(sharded_program p, lowering_options how, const device_value& d, extent_t memory) {
  HYPERPARALLEL_TWIN(detail::lower_fastest_in_library(static_cast<sharded_program&&>(p), how, d, memory));
  return detail::lower_fastest_here(static_cast<sharded_program&&>(p), how, d, memory);
}

}}  // namespace hyperparallel::v0_2
