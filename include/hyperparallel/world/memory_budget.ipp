// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of memory_budget.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/memory_budget.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY tier_hardware hardware_of(const memory_budget& b) {
  constexpr std::int64_t everything = std::int64_t{1} << 56;
  tier_hardware h;
  h.tier.push({b.bytes, -1, -1});
  for (std::size_t t = 0; t < b.tiers.size(); ++t) {
    const int in = h.link.push(b.tiers[t]), out = h.link.push(b.tiers[t]);
    h.tier.push({t < b.capacity.size() ? b.capacity[t] : everything, in, out});
  }
  return h;
}

/// "budget of 100 bytes: the budget is too small on part 2, at least 200 are needed by …" with up to `most` tensors,
/// the largest first.
HYPERPARALLEL_BODY std::string complaint_of(const sharded_program& p, const memory_budget& budget,
                                            const offloaded_program& o, std::size_t most) {
  std::string text = "budget of " + std::to_string(o.budget) + " bytes: " + to_text(o.code);
  const bool of_part = o.code != offloading_code::rules_are_refused && o.code != offloading_code::not_inserted;
  if (of_part && parts_of(p) > 1) text += " on part " + std::to_string(o.part);
  if (o.code == offloading_code::not_planned)
    return text + ": " + to_text(o.planned.status.code) +
           (o.planned.status.storage >= 0 && o.planned.status.storage < p.storage.size
                ? std::string(", \"") + p.graph.name_of_tensor(p.storage[o.planned.status.storage].tensor) + "\""
                : std::string());
  if (o.code == offloading_code::rules_are_refused)
    return text + ": rule " + std::to_string(o.ruled.rule) + ", \"" +
           budget.rules[static_cast<std::size_t>(o.ruled.rule)].pattern + "\": " + to_text(o.ruled.code);
  if (o.code == offloading_code::not_inserted) return text + ": " + to_text(o.inserted.code);
  const offload_certificate& c = o.planned.certificate;
  text += ", at least " + std::to_string(c.least_budget) + " are needed";
  if (c.least_budget_op < 0) return text;
  text += " by " + name_of_step(p, o.step[c.least_budget_op]) + " with";
  std::vector<int> alive(o.planned.alive.begin(), o.planned.alive.end());
  const auto bytes = [&](int s) { return o.problem.storage[s].bytes; };
  std::sort(alive.begin(), alive.end(),
            [&](int a, int b) { return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a < b; });
  for (std::size_t i = 0; i < alive.size() && i < most; ++i)
    if (alive[i] < p.storage.size)
      text += std::string(i > 0 ? "," : "") + " \"" + p.graph.name_of_tensor(p.storage[alive[i]].tensor) + "\" (" +
              std::to_string(bytes(alive[i])) + ")";
  return text;
}

}  // namespace detail

HYPERPARALLEL_BODY offloaded_program planned_within(const sharded_program& p, const memory_budget& budget,
                                                    bool separate_update, const interconnect& links) {
  if (budget.bytes < 0) throw program_error("budget of " + std::to_string(budget.bytes) + " bytes is negative");
  growing_array<extent_t> duration;
  if (!budget.step_duration.empty() && budget.step_duration.size() != static_cast<std::size_t>(p.step.size))
    throw program_error("durations of " + std::to_string(budget.step_duration.size()) + " steps, the program has " +
                        std::to_string(p.step.size));
  for (const std::int64_t d : budget.step_duration) duration.push(d);
  if (duration.size == 0) duration = step_durations(p, kinds_of_moves(p, links), budget.rates);
  offloading_options options{budget.planning, budget.recomputation, {}, separate_update, links};
  for (const offload_rule& r : budget.rules) options.rules.push(r);
  offloaded_program o = offload(p, duration, detail::hardware_of(budget), options);
  if (!o.ok()) throw program_error(detail::complaint_of(p, budget, o, 4));
  return o;
}

}}  // namespace hyperparallel::v0_2
