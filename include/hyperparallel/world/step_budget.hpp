// SPDX-License-Identifier: Apache-2.0
#pragma once
// The budget of memory of a step's type, as the start of a run plans it: on the hardware of the type, with its options.
//
//   using step = hp::train_step<model, strategy, hp::adamw, hp::matrix384, hp::offloaded_within<24 * hp::GiB>>;
//   hp::world<step> world;   // plans with what these functions say
//
// Laws: tiers are those of `tiers_of(device, budget)`, durations those of `prices_of_steps`, so each part of a pipeline gets the plan that
// its type was accepted by (step/parts_offload.hpp), unless addresses take more than what is alive. Patterns of rules are
// those of the settings, which must outlive the budget. O(steps · operands).

#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/step/parts_offload.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/world/memory_budget.hpp>
#include <hyperparallel/world/program_options.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of `p`, a program without tiers, on `device` and these links.
inline memory_budget budget_of_step(const sharded_program& p, const device_value& device, const interconnect& links,
                                    const step_offload_settings& settings) {
  memory_budget b;
  b.bytes = settings.budget;
  for (int t = 1; t < device.tier_count; ++t) {
    b.tiers.push_back(link_between(device.tier[0], device.tier[t]));
    b.capacity.push_back(device.tier[t].bytes);
  }
  for (const extent_t duration : prices_of_steps(p, kinds_of_moves(p, links), device).duration)
    b.step_duration.push_back(duration);
  b.recomputation = detail::makes_again(settings);
  for (const offload_pattern& one : settings.rule) b.rules.push_back({one.pattern.text, one.control, one.tier});
  b.planning = settings.planning;
  return b;
}

/// How a world runs `p`, the unrolled program of a step with a budget.
template <class Step>
program_options options_of_step(const sharded_program& p) {
  static constexpr step_settings settings = Step::evaluated::settings();
  const interconnect links = interconnect_of(Step::hardware::topology);
  program_options o{.vector_queue = settings.vector_queue,
                    .topology = links,
                    .lookahead = settings.lookahead,
                    .budget = budget_of_step(p, Step::hardware::device, links, settings.offload)};
  for (const char* name : settings.kept) o.keep.emplace_back(name);
  return o;
}

}}  // namespace hyperparallel::v0_2
