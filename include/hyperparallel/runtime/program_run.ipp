// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_run.hpp; see support/compiled.hpp.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/runtime/program_run.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY program_run::program_run(const sharded_program& p, const program_pulls& pulls,
                                            const program_slots& slots, program_tasks& tasks,
                                            const program_flow_options& how, const executor_options& options)
    : phases_(how.phases) {
  const program_flow lowered(p, pulls, slots, how);
  if (const program_flow_status& s = lowered.status(); s.code != program_flow_code::ok)
    throw program_error(
        (s.step < 0 ? std::string("the program") : "step " + std::to_string(s.step) + " (" + tasks.name(s.step) + ")") +
        " cannot be lowered: " + to_text(s.code) + ", place " + std::to_string(s.place) +
        (s.place >= 0 && s.place < p.storage.size
             ? std::string(" of ") + p.graph.name_of_tensor(p.storage[s.place].tensor)
             : std::string()));
  const planned_flow planned(lowered, lowered.machine(), {priority::reference_order, 0});
  prove(planned, slots);
  executor_ = bound(planned, p, slots, tasks, options);
  received_.assign(static_cast<std::size_t>(lowered.ranks()), 0);
  std::vector<bool> known(static_cast<std::size_t>(p.storage.size), false);
  for (int s = 0; s < p.step.size; ++s) {
    if ((phases_ >> static_cast<int>(p.step[s].phase) & 1u) == 0) continue;
    tasks.bind_step(*executor_, s);
    for (int r = 0; r < lowered.ranks(); ++r)
      received_[static_cast<std::size_t>(r)] += tasks.received(s, r, lowered.ranks());
    visit_values(p, p.step[s], [&](int v, bool written) {
      const std::size_t storage = static_cast<std::size_t>(p.value[v].storage);
      if (!written && !known[storage]) reads_.push_back(v);
      known[storage] = true;
    });
  }
  for (int s = 0; s < p.storage.size; ++s) {
    survives_.push_back(lowered.survives(s));
    writes_.push_back(lowered.writes(s));
  }
}

HYPERPARALLEL_BODY void program_run::prove(const planned_flow& planned, const program_slots& slots) {
  if (planned.scheduled().code != schedule_code::ok) throw program_error(to_text(planned.scheduled().code));
  owned_flow_scratch x(planned.flow().size);
  const flow_status well_formed =
      check_flow(planned.flow(), planned.schedule().machine.ranks, slots.bytes, slots.tiers, x);
  if (well_formed.code != flow_code::ok)
    throw program_error("the program's taskflow is refused: " + std::string(to_text(well_formed.code)));
  const verify_status safe = planned.verify();
  if (safe.code != verify_code::ok)
    throw program_error("the program's taskflow is not safe: " + std::string(to_text(safe.code)) + ", tasks " +
                        std::to_string(safe.task) + " and " + std::to_string(safe.other));
}

HYPERPARALLEL_BODY std::unique_ptr<executor<>> program_run::bound(const planned_flow& planned, const sharded_program& p,
                                                                  const program_slots& slots,
                                                                  const program_tasks& tasks,
                                                                  executor_options options) {
  for (int s = 0; s < p.step.size; ++s) operation_.push_back(tasks.name(s));
  const int ranks = planned.schedule().machine.ranks;
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < slots.memory.size; ++i) slot_.push_back("shared memory");
  for (int s = 0; s < p.storage.size; ++s)
    for (int r = 0; r < ranks && slots.place[s].slot >= 0 && slots.overlaps(s) == 0; ++r)
      slot_[static_cast<std::size_t>(r * slots.memory.size + slots.place[s].slot)] =
          p.graph.name_of_tensor(p.storage[s].tensor);
  options.names = {operation_.data(), static_cast<int>(operation_.size()), slot_.data(),
                   static_cast<int>(slot_.size())};
  return std::make_unique<executor<>>(unchecked, planned.flow(), planned.schedule(), options);
}

}}  // namespace hyperparallel::v0_2
