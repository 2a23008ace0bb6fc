// SPDX-License-Identifier: Apache-2.0
#pragma once
// The account of a program of several parts, as a pipeline is one: of the part that needs most, with the times of all.
//
// Memory is that of the part with the highest peak. Work and traffic are those of the part with the most matrix operations.
// Times are those of the clock, which plays the class of each part (clock.hpp). `exposed` is the makespan less the longest
// time that a part computes, so it has the bubbles. Law: of one part memory, work and traffic are those of `account_of`.
// Units: bytes, operations, picoseconds. O(parts · what the account takes + rows).

#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/price/step_account.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The program with the steps of one part alone; what other parts hold is there without bytes.
constexpr sharded_program only_part(const sharded_program& p, int part) {
  sharded_program own = p;
  own.step.clear();
  for (const program_step& s : p.step)
    if (part_of_step(p, s) == part) own.step.push(s);
  for (program_storage& s : own.storage)
    if (s.part != part) {
      s.home = false;
      s.bytes = 0;
    }
  return own;
}

}  // namespace detail

constexpr step_account account_of_parts(const sharded_program& p, const program_moves& moves, const device_value& d) {
  step_account a = detail::account_head(p, d, moves.links);
  if (p.status.code != strategy_code::ok || !a.hardware.ok()) return a;
  const growing_array<move_load> load = detail::loads_of_moves(p, moves);
  a.whole_bytes = whole_bytes(p);
  a.memory = memory_account{};
  extent_t longest = -1;
  for (int part = 0; part < parts_of(p); ++part) {
    const sharded_program own = detail::only_part(p, part);
    const memory_account memory = detail::memory_account_of(own, moves, storage_uses(own), 1, part);
    if (memory.peak > a.memory.peak) a.memory = memory;
    const work_total work = detail::total_work(own);
    const extent_t flops = work.flops[static_cast<int>(compute_unit::matrix)];
    if (flops <= longest) continue;
    longest = flops;
    a.work = work;
    a.traffic = traffic_of(own, moves, load);
  }
  lowered_program l;
  l.program = p;
  l.pulls = pulls_of(p, moves);
  l.addresses = plan_addresses(p, moves);
  lowered_run r;
  r.phases = micro_phases | update_phases;
  r.plan = lower_class(p, l.pulls, l.addresses);
  const run_times clock = simulate(l, r, d);
  a.times = step_times::of_nothing(clock.code);
  if (!clock.ok()) return a;
  a.times = {{cost_code::ok, clock.makespan}, 0, {}, 0, clock.exposed};
  a.times.by_unit[static_cast<int>(compute_unit::matrix)] = clock.busy[static_cast<int>(resource::aic)];
  a.times.by_unit[static_cast<int>(compute_unit::vector)] = clock.busy[static_cast<int>(resource::aiv)];
  a.times.compute_busy = clock.makespan - clock.exposed;
  a.times.communication_busy = clock.busy[static_cast<int>(resource::link)];
  return a;
}

}}  // namespace hyperparallel::v0_2
