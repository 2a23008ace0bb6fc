// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_run.hpp; see support/compiled.hpp.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY detail::program_run::program_run(const sharded_program& p, const lowered_run& run,
                                                    detail::program_tasks& tasks, const executor_options& options)
    : phases_(run.phases), survives_(run.plan.survives), writes_(run.plan.writes), reads_(run.reads) {
  name_steps(p, tasks);
  executor_options named = options;
  named.names = {operation_.data(), static_cast<int>(operation_.size()), nullptr, 0, written_.data()};
  if (run.plan.row.size > detail::most_tasks_of_all_ranks / run.plan.machine.ranks)
    throw program_error(std::string("the program is refused: ") + to_text(program_flow_code::too_many_tasks) + ", " +
                        std::to_string(run.plan.row.size) + " on each of " + std::to_string(run.plan.machine.ranks) +
                        " ranks; one process runs up to " + std::to_string(detail::most_tasks_of_all_ranks));
  executor_ = detail::make_owned<executor<>>(unchecked, bound_plan(table_of(plan_of_all_ranks(run.plan, p))), named);
  const int ranks = run.plan.machine.ranks;
  received_.assign(static_cast<std::size_t>(ranks), 0);
  for (int s = 0; s < p.step.size; ++s) {
    if (!is_in(p.step[s].phase, phases_)) continue;
    tasks.bind_step(*executor_, s);
    for (int r = 0; r < ranks; ++r) received_[static_cast<std::size_t>(r)] += tasks.received(s, r);
  }
}

HYPERPARALLEL_BODY void detail::program_run::name_steps(const sharded_program& p, const detail::program_tasks& tasks) {
  written_.assign(static_cast<std::size_t>(p.step.size), nullptr);
  for (int s = 0; s < p.step.size; ++s) {
    operation_.push_back(tasks.name(s));
    const char*& name = written_[static_cast<std::size_t>(s)];
    detail::visit_values(p, p.step[s], [&](int v, bool written) {
      if (written && name == nullptr) name = p.graph.name_of_tensor(p.value[v].tensor);
    });
  }
}

}}  // namespace hyperparallel::v0_2
