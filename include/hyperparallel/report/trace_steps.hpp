// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last run of a model as a trace that Perfetto and chrome://tracing open: one process per rank, one row per queue.
//
//   hp::model_run<float> run(graph, strategy, {.program = {.measured = true}});
//   run.train_step(…);
//   hp::report::write_trace(file, run.world().program(), run.world().last_run());
//
// Law: every task that ran is one complete event ("ph": "X") on its queue's row, called as errors call its step, at its
// exact time; tasks that never ran are left out. O(tasks).

#include <string>

#include <hyperparallel/report/trace.hpp>
#include <hyperparallel/world/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

/// Domain: a record of a world of this program.
template <text_sink Sink>
void write_trace(Sink& sink, const sharded_program& p, const run_record& record, const trace_options& options = {}) {
  const program_plan& plan = record.run->plan;
  const int per_rank = hyperparallel::detail::queues_per_rank(plan.machine);
  trace_writer<Sink> writer(sink);
  writer.machine(plan.machine, options);
  std::size_t task = 0;
  for (const plan_row& row : plan.row) {
    const std::string name = name_of_step(p, row.step);
    const rank_span ranks = plan.ranks_of(row.part);
    for (int rank = ranks.first; rank < ranks.first + ranks.count; ++rank, ++task) {
      const task_record& r = record.task[task];
      if (r.worker < 0) continue;
      writer.span(options.first_process + rank,
                  hyperparallel::detail::first_queue(plan.machine, rank, row.kind) % per_rank, name, name_of(row.kind),
                  r.start, r.end - r.start, nanosecond_digits,
                  "\"task\":" + std::to_string(task) + ",\"step\":" + std::to_string(row.step));
    }
  }
  writer.finish();
}

}}}  // namespace hyperparallel::v0_2::report
