// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_run.hpp; see support/compiled.hpp.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/program_run.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// "place 7 of h"; nothing where there is none.
HYPERPARALLEL_BODY std::string text_of_place(const sharded_program& p, int place) {
  if (place < 0) return {};
  return ", place " + std::to_string(place) +
         (place < p.storage.size ? std::string(" of ") + p.graph.name_of_tensor(p.storage[place].tensor)
                                 : std::string());
}

/// Throws program_error unless the table is proved, within the planned memory.
HYPERPARALLEL_BODY void require_proof(const sharded_program& p, const program_proof& proof,
                                      const program_addresses& addresses) {
  if (proof.code != program_proof_code::ok)
    throw program_error("the program's plan is not safe: " + std::string(to_text(proof.code)) + ", task " +
                        std::to_string(proof.task) + text_of_place(p, proof.place));
  for (int tier = 0; tier < max_memory_tiers; ++tier)
    if (proof.bytes[tier] > addresses.high_water[tier])
      throw program_error("the program's plan uses " + std::to_string(proof.bytes[tier]) + " bytes of tier " +
                          std::to_string(tier) + ", planned are " + std::to_string(addresses.high_water[tier]));
}

}  // namespace detail

HYPERPARALLEL_BODY program_run::program_run(const sharded_program& p, const program_pulls& pulls,
                                            const program_addresses& addresses, program_tasks& tasks,
                                            const program_flow_options& how, const executor_options& options)
    : phases_(how.phases) {
  program_plan plan = lower_program(p, pulls, addresses, how);
  if (const program_flow_status& s = plan.status; s.code != program_flow_code::ok)
    throw program_error(
        (s.step < 0 ? std::string("the program") : "step " + std::to_string(s.step) + " (" + tasks.name(s.step) + ")") +
        " cannot be lowered: " + to_text(s.code) + detail::text_of_place(p, s.place));
  grown_execution_table table = table_of(plan);
  detail::require_proof(p, prove_program(p, pulls, addresses, phases_, plan.machine, table), addresses);
  name_steps(p, tasks);
  executor_options named = options;
  named.names = {operation_.data(), static_cast<int>(operation_.size()), nullptr, 0, written_.data()};
  executor_ = std::make_unique<executor<>>(unchecked, bound_plan(std::move(table)), named);
  const int ranks = plan.machine.ranks;
  received_.assign(static_cast<std::size_t>(ranks), 0);
  std::vector<bool> known(static_cast<std::size_t>(p.storage.size), false);
  for (int s = 0; s < p.step.size; ++s) {
    if (!is_in(p.step[s].phase, phases_)) continue;
    tasks.bind_step(*executor_, s);
    for (int r = 0; r < ranks; ++r) received_[static_cast<std::size_t>(r)] += tasks.received(s, r, ranks);
    visit_values(p, p.step[s], [&](int v, bool written) {
      const std::size_t storage = static_cast<std::size_t>(p.value[v].storage);
      if (!written && !known[storage]) reads_.push_back(v);
      known[storage] = true;
    });
  }
  survives_ = std::move(plan.survives);
  writes_ = std::move(plan.writes);
}

HYPERPARALLEL_BODY void program_run::name_steps(const sharded_program& p, const program_tasks& tasks) {
  written_.assign(static_cast<std::size_t>(p.step.size), nullptr);
  for (int s = 0; s < p.step.size; ++s) {
    operation_.push_back(tasks.name(s));
    const char*& name = written_[static_cast<std::size_t>(s)];
    visit_values(p, p.step[s], [&](int v, bool written) {
      if (written && name == nullptr) name = p.graph.name_of_tensor(p.value[v].tensor);
    });
  }
}

}}  // namespace hyperparallel::v0_2
