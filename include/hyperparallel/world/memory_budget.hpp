// SPDX-License-Identifier: Apache-2.0
#pragma once
// A budget for the fast memory of a run: what does not fit leaves for slower tiers and comes back in time, as planned.
//
//   hp::memory_budget budget{.bytes = 64 << 20, .tiers = {{.bytes_per_second = 8'000'000'000}}};
//   hp::program_world<float> world(program, {.budget = budget});   // the same bits, within 64 MiB a rank
//
// Laws: tier 0 of every rank ends within the budget; a budget that cannot be kept is refused with the least one that
// could, with what is then alive, and of a pipeline with the part. Each part of a pipeline has a plan of its own.
// Plans rest on durations: measured ones, or operations and bytes at stated rates.

#include <cstdint>
#include <vector>

#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/world/program_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct memory_budget {
  std::int64_t bytes = 0;                     ///< of tier 0 on each rank; 0: no budget
  std::vector<offload_link> tiers{};          ///< to and from tier 1, 2 …: each way has a link of its own like this
  std::vector<std::int64_t> capacity{};       ///< of these tiers; those behind its end take everything
  std::vector<std::int64_t> step_duration{};  ///< of each step without a budget, picoseconds; empty: by `rates`
  step_rates rates{};
  bool recomputation = false;         ///< what a single operator makes may be made again instead
  std::vector<offload_rule> rules{};  ///< what stays, leaves or is made again, by names of tensors
  offload_options planning{};
};

/// The program under the budget. Throws program_error where it cannot be.
/// `separate_update`: norm and update run by themselves, with one micro-batch too. Moves are those on `links`.
offloaded_program planned_within(const sharded_program& p, const memory_budget& budget, bool separate_update = false,
                                 const interconnect& links = without_links);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/memory_budget.ipp>
#endif
