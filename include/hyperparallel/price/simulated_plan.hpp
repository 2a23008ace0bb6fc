// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step time of a plan by the clock of the program that would run: moves and addresses chosen, one rank played for all.
//
//   const hp::simulated_plan s = hp::simulate_unrolled(program, links, device, memory);
//   s.ok(), s.times.makespan, s.times.bound.most(), s.lookahead, s.bytes
//
// An estimate folds layers, knows no addresses and lets micro-batches overlap; it prices every plan of a search, this one the
// best. The lookahead is that of `lower_fastest` within the memory. Not simulated are more than `most_simulated_devices` devices:
// listing pulls takes time by their square. A pipeline does not run as one plan yet: who searches for plans with stages replays
// their schedule (planner/simulation.hpp), and the code says so.
// Laws: where it is ok or replayed, plans, of all stages, are proved, addresses stay within the memory, and the makespan is at
// least each of its bounds. Units: picoseconds, bytes. O(lower_fastest).

#include <hyperparallel/price/lookahead.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr extent_t most_simulated_devices = 2048;

}  // namespace detail

enum class simulated_plan_code : unsigned char {
  ok,        ///< by the clock of the plan
  replayed,  ///< a pipeline: by its schedule with stages by the clocks of theirs
  not_asked,
  schedule_is_too_large,  ///< of a pipeline
  is_a_pipeline,          ///< of a graph, whose stages have no programs of their own
  has_too_many_devices,
  is_not_lowered,
  exceeds_memory  ///< by address, even without lookahead
};

constexpr const char* to_text(simulated_plan_code c) {
  constexpr const char* texts[] = {"ok",
                                   "schedule replayed with simulated stages",
                                   "not asked",
                                   "the schedule is too large to be replayed",
                                   "a pipeline of a graph is not simulated",
                                   "more than 2048 devices of a stage are not simulated",
                                   "the program is not lowered",
                                   "its addresses exceed the memory"};
  return detail::enum_text<simulated_plan_code::exceeds_memory>(texts, c);
}

struct simulated_plan {
  simulated_plan_code code = simulated_plan_code::not_asked;
  run_times times{.code = cost_code::program_is_refused};  ///< also where addresses exceed the memory
  extent_t unhindered = 0;                                 ///< makespan without waits for addresses; not of a pipeline
  int lookahead = 0;                                       ///< of stages the largest
  extent_t bytes = 0, least_bytes = 0;        ///< by address, of a stage the most: of this plan, and without lookahead
  extent_t bubble = 0, handed = 0, skew = 0;  ///< of a pipeline (stage_replay.hpp)
  constexpr bool is_clocked() const { return code == simulated_plan_code::ok; }
  constexpr bool is_replayed() const { return code == simulated_plan_code::replayed; }
  /// Whether there are times.
  constexpr bool ok() const { return is_clocked() || is_replayed(); }
  friend constexpr bool operator==(const simulated_plan&, const simulated_plan&) = default;
};

namespace detail {

simulated_plan simulate_unrolled_in_library(sharded_program p, const interconnect& links, const device_value& d,
                                            extent_t memory);
constexpr simulated_plan simulate_unrolled_here(sharded_program p, const interconnect& links, const device_value& d,
                                                extent_t memory) {
  simulated_plan s;
  s.code = simulated_plan_code::has_too_many_devices;
  if (position_count(p.mesh.shape) > most_simulated_devices) return s;
  s.code = simulated_plan_code::is_not_lowered;
  const clocked_plan c = lower_fastest(static_cast<sharded_program&&>(p), {.topology = links}, d, memory);
  if (!c.ok()) return s;
  s.code = c.bytes() <= memory ? simulated_plan_code::ok : simulated_plan_code::exceeds_memory;
  s.times = c.lowered.times;
  s.unhindered = c.unhindered;
  s.lookahead = c.lookahead;
  s.bytes = c.bytes();
  s.least_bytes = c.least_bytes;
  return s;
}

}  // namespace detail

/// Of a program whose layers are unrolled, within `memory` bytes of a device.
constexpr simulated_plan simulate_unrolled(sharded_program p, const interconnect& links, const device_value& d,
                                           extent_t memory) {
  HYPERPARALLEL_TWIN(detail::simulate_unrolled_in_library(static_cast<sharded_program&&>(p), links, d, memory));
  return detail::simulate_unrolled_here(static_cast<sharded_program&&>(p), links, d, memory);
}

}}  // namespace hyperparallel::v0_2
