// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline's plan as one program of all stages: what the replay of its schedule says, from the plan that would run.
//
//   const hp::unrolled_pipeline u = hp::unroll_pipeline(llama3, plan, prices, memory);
//   u.ok(), u.plan.times.makespan, u.bytes[0], u.steps
//
// The stages have the layers that simulated_pipeline.hpp gives them. All micro-batches of all stages are cut, partitioned and
// unrolled along the rows of the schedule, lowered at the lookahead that is fastest within the memory, proved, and played: what
// `model_run` would carry out. Laws: where it is ok, the plan is proved and each group of ranks stays within the memory by
// address; the makespan is at least its bounds. Units: picoseconds, bytes of a device. O(lower_fastest) of steps · micro-batches.

#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/planner/simulated_pipeline.hpp>
#include <hyperparallel/price/simulated_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A third of a second for each hundred thousand, about.
inline constexpr extent_t most_unrolled_steps = 250'000;

enum class unrolled_pipeline_code : unsigned char {
  ok,
  not_asked,
  has_too_many_steps,
  stages_are_refused,  ///< their cut, or the program of one
  is_not_lowered,
  exceeds_memory
};

constexpr const char* to_text(unrolled_pipeline_code c) {
  constexpr const char* text[] = {"ok",
                                  "not asked",
                                  "it has too many steps",
                                  "the model is not cut into these stages",
                                  "the program is not lowered",
                                  "its addresses exceed the memory"};
  return text[static_cast<int>(c)];
}

struct unrolled_pipeline {
  unrolled_pipeline_code code = unrolled_pipeline_code::not_asked;
  extent_t steps = 0;  ///< of all groups of ranks; where there are too many, at least so many
  run_times times{.code = cost_code::program_is_refused};
  int lookahead = 0;
  growing_array<extent_t> bytes{};  ///< by address, of a device of each group

  constexpr bool ok() const { return code == unrolled_pipeline_code::ok; }
  constexpr extent_t most_bytes() const {
    extent_t most = 0;
    for (const extent_t b : bytes) most = larger(most, b);
    return most;
  }
};

namespace detail {

/// The pipeline of a decoder's plan, with the layers of each stage.
constexpr pipeline_value pipeline_value_of(const decoder& d, const decoder_plan& plan) {
  pipeline_value p{.schedule = &schedule_of(plan), .ranks = plan.pp, .chunks = plan.chunks};
  p.accumulates_in_any_order = true;
  const int layers = static_cast<int>(d.layers);
  const stage_split split = detail::split_stages(layers, p.stages());
  for (int s = 0; s < p.stages() && split.ok(); ++s) p.layers.push(split.layers_of(s));
  return p;
}

}  // namespace detail

/// Within `memory` bytes of a device; not asked of one stage, or of more than `most_simulated_devices` devices in a stage.
/// Precondition: `check_plan` says ok, and the plan is countable.
constexpr unrolled_pipeline unroll_pipeline(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                            extent_t memory, extent_t most_steps = most_unrolled_steps) {
  unrolled_pipeline u;
  if (plan.pp < 2 || device_count_of(plan) / plan.pp > detail::most_simulated_devices) return u;
  const graph g = training_graph_of(d, plan, true);
  u.steps = extent_t{g.op.size} * g.micro_batches;
  u.code = unrolled_pipeline_code::has_too_many_steps;
  if (u.steps > most_steps) return u;
  pipelined_program one = partition(g, strategy_of(plan), detail::pipeline_value_of(d, plan));
  u.code = unrolled_pipeline_code::stages_are_refused;
  if (!one.ok()) return u;
  u.steps = one.program.step.size;
  u.code = unrolled_pipeline_code::has_too_many_steps;
  if (u.steps > 2 * most_steps) return u;
  const growing_array<extent_t> on_host = detail::host_states_of(one.program, plan.host_states);
  extent_t least = on_host[0];
  for (const extent_t bytes : on_host) least = smaller(least, bytes);
  const clocked_plan c = lower_fastest(static_cast<sharded_program&&>(one.program), {.topology = prices.links()},
                                       prices.device(), memory + least);
  u.code = unrolled_pipeline_code::is_not_lowered;
  if (!c.ok()) return u;
  u.times = c.lowered.times;
  u.lookahead = c.lookahead;
  for (int k = 0; k < plan.pp; ++k) u.bytes.push(c.lowered.addresses.high_water_of(k) - on_host[k]);
  u.code = u.most_bytes() <= memory ? unrolled_pipeline_code::ok : unrolled_pipeline_code::exceeds_memory;
  return u;
}

}}  // namespace hyperparallel::v0_2
