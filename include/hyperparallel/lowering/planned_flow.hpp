// SPDX-License-Identifier: Apache-2.0
#pragma once
// A taskflow planned at run time: the same builder, scheduler, verifier, simulator and bounds as in a constant
// expression, on memory that the object owns.
//
// Law: for equal builders and options every array equals that of the compile-time plan, field by field.

#include <hyperparallel/taskflow/bounds.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Figures of a simulated plan; the exposed communication is that of rank 0.
struct simulated_figures {
  simulation_result result{};
  exposure communication{};
};

class planned_flow {
 public:
  /// Builds and schedules; `scheduled()` tells whether the machine has a queue for every task.
  /// O(build + tasks · log(queues of a pool)).
  template <class Build>
  planned_flow(const Build& build, const machine_shape& machine, const schedule_options& options)
      : options_(options),
        size_(measure(build)),
        flow_(size_),
        schedule_(size_.tasks, queue_count(machine)),
        timeline_(size_.tasks) {
    build(flow_);
    seal(flow_);
    schedule_.machine = machine;
    owned_schedule_scratch x(flow_.size, queue_count(machine));
    status_ = list_schedule(flow_, machine, options_, schedule_, x);
  }

  const dynamic_taskflow& flow() const { return flow_; }
  const dynamic_schedule& schedule() const { return schedule_; }
  schedule_status scheduled() const { return status_; }

  /// The local rule, see verify.hpp.
  verify_status verify() const {
    detail::owned_verify_scratch x(flow_.size, queue_count(schedule_.machine));
    return hyperparallel::verify(flow_, schedule_, x);
  }

  makespan_bound bound() const {
    owned_schedule_scratch x(flow_.size, queue_count(schedule_.machine));
    return bound_makespan(flow_, schedule_.machine, options_.synchronisation, x);
  }

  /// Simulates with the scheduler's synchronisation latency; fills `timeline()`.
  simulated_figures simulate() {
    owned_simulation_scratch x(flow_.size, queue_count(schedule_.machine));
    simulated_figures out;
    out.result = hyperparallel::simulate(flow_, schedule_, {options_.synchronisation, false}, timeline_, x);
    if (out.result.code == simulation_code::ok)
      out.communication = measure_exposure(schedule_, timeline_, 0, resource::link, resource::aic, x);
    return out;
  }
  /// Start and end of every task, picoseconds. Domain: after `simulate`.
  const dynamic_timeline& timeline() const { return timeline_; }

 private:
  schedule_options options_;
  taskflow_size size_;
  owned_taskflow flow_;
  owned_schedule schedule_;
  owned_timeline timeline_;
  schedule_status status_;
};

}}  // namespace hyperparallel::v0_2
