// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frozen queues of an outer flow with macro tasks: each queue takes its tasks in reference order.
//
// Laws: heads and tails are in the queues that the chain has frozen, and stand there side by side, as members are
// neighbours in reference order; another task goes to the queue of its pool that has least to do so far. The order is
// the reference order, so what `check_flow` accepts completes. Complexity: O(tasks · queues of a pool).

#include <hyperparallel/taskflow/macro_check.hpp>
#include <hyperparallel/taskflow/schedule_options.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Fills `s`. `load`: room for a number for each queue. Domain: `check_flow` accepts `f`, every class that tasks ask
/// for has a queue, and the table lists the members of instances.
template <class Flow, class Schedule, class Loads, class... Contract>
constexpr void schedule_macro_tasks(const Flow& f, const machine_shape& machine, const macro_table& table, Schedule& s,
                                    Loads& load, const Contract&... contract) {
  const int all = queue_count(machine), tasks = f.size.tasks;
  s.machine = machine;
  s.task_count = tasks;
  s.makespan = not_counted;
  for (int q = 0; q <= all; ++q) s.queue_begin[q] = 0;
  for (int q = 0; q < all; ++q) load[q] = 0;
  for (int t = 0; t < tasks; ++t) {
    const task k = f.task[t];
    const int pool = detail::first_queue(machine, k.rank, k.kind);
    int queue = pool;
    if (k.instance != 0) {
      const macro_instance one = table.instance[(k.instance < 0 ? -k.instance : k.instance) - 1];
      (void)detail::visit_contract(
          one.chain,
          [&](const auto& c) { queue = detail::queue_of(c, (t - one.first_task) % c.queues, one.first_rank); },
          contract...);
    } else {
      for (int q = pool + 1; q < pool + machine.queues[static_cast<int>(k.kind)]; ++q)
        if (load[q] < load[queue]) queue = q;
    }
    load[queue] += k.duration;
    s.order[t] = t;
    s.queue[t] = queue;
    ++s.queue_begin[queue + 1];
  }
  for (int q = 0; q < all; ++q) {
    s.queue_begin[q + 1] += s.queue_begin[q];
    load[q] = s.queue_begin[q];
  }
  for (int t = 0; t < tasks; ++t) s.queue_task[load[s.queue[t]]++] = t;
}

/// The same with its own working memory, for constant evaluation.
template <int Queues, taskflow_size Size, class... Contract>
constexpr fixed_schedule<Size.tasks, Queues> schedule_macro_tasks(const fixed_taskflow<Size>& f,
                                                                  const machine_shape& machine,
                                                                  const macro_table& table,
                                                                  const Contract&... contract) {
  fixed_schedule<Size.tasks, Queues> s;
  std::int64_t load[detail::array_bound(Queues + 1)] = {};
  schedule_macro_tasks(f, machine, table, s, load, contract...);
  return s;
}

}}  // namespace hyperparallel::v0_2
