// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan of some phases of a program: rows of tasks in reference order, what each task waits for, and the same as an
// execution table.
//
// A row is a compute step or a step of a move: one task on each rank of its part, all on queues of one kind. The tasks of a
// row follow each other by rank, those of the next row follow them. In a plan of the class of ranks
// (lowering/rank_class.hpp) one task a row stands for all: task t is that of row t on the first rank of its part, and its
// waits name queues of other ranks by their part and mesh difference. Queues run their tasks in reference order; each has a progress word, and a task waits for
// places in other queues, from one. Laws: whatever a task waits for comes before it in reference order, so no plan
// deadlocks; no queue waits twice for the same place of another. What a plan is worth says `prove_program`, of the
// execution table that runs.

#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/grown_execution_table.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class program_flow_code : unsigned char {
  ok,
  move_is_refused,
  place_is_overwritten,
  home_is_overwritten,
  move_is_in_place,
  too_many_tasks
};

constexpr const char* to_text(program_flow_code c) {
  constexpr const char* texts[] = {"ok",
                                   "a move is refused",
                                   "a step uses memory that another place has taken since it was written",
                                   "what lives from step to step is overwritten",
                                   "a move writes the blocks that others read",
                                   "the flow has too many tasks"};
  return detail::enum_text<program_flow_code::too_many_tasks>(texts, c);
}

/// The first thing that cannot be lowered: `step` uses `place`, whose addresses another place has taken.
struct program_flow_status {
  program_flow_code code = program_flow_code::ok;
  int step = -1;
  int place = -1;
  friend constexpr bool operator==(const program_flow_status&, const program_flow_status&) = default;
};

struct plan_row {
  int step = 0;                   ///< of the program
  int first_item = 0;             ///< of rank 0
  resource kind = resource::aic;  ///< of the queues
  int part = 0;
  int first_task = 0;
};

/// The ranks of a part.
struct rank_span {
  int first = 0, count = 0;
};

struct program_plan {
  program_flow_status status{};  ///< where it is not ok there is no row
  machine_shape machine{};
  bool of_class = false;          ///< one task a row
  growing_array<rank_span> part;  ///< none: one part, all ranks
  growing_array<plan_row> row;
  growing_array<extent_t> duration;  ///< of each task, picoseconds
  growing_array<int> wait_end;       ///< of each task
  growing_array<word_wait> wait;     ///< by task
  growing_array<bool> survives;      ///< of each storage: it holds at the end what was last written to it
  growing_array<bool> writes;        ///< of each storage

  constexpr int parts() const { return part.empty() ? 1 : part.size; }
  constexpr rank_span ranks_of(int k) const { return part.empty() ? rank_span{0, machine.ranks} : part.item[k]; }
  constexpr int part_of_rank(int rank) const {
    int k = parts() - 1;
    while (ranks_of(k).first > rank) --k;
    return k;
  }
  constexpr int tasks() const { return row.empty() ? 0 : row.last().first_task + tasks_of(row.last()); }
  constexpr int tasks_of(const plan_row& r) const { return of_class ? 1 : ranks_of(r.part).count; }

  /// Of a plan of all ranks: writes the plan as a taskflow without accesses, one event a queue. O(tasks + waits).
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int per_rank = detail::queues_per_rank(machine);
    for (int q = 0; q < queue_count(machine); ++q) add_event(f, q / per_rank);
    for (int i = 0, w = 0; i < row.size; ++i) {
      const plan_row& r = row[i];
      const rank_span ranks = ranks_of(r.part);
      for (int k = 0; k < ranks.count; ++k) {
        const int t = r.first_task + k, rank = ranks.first + k;
        add_task(f, r.kind, rank, duration[t], r.step, r.first_item + rank);
        for (; w < wait_end[t]; ++w) add_wait(f, wait[w].word, wait[w].threshold);
        add_signal(f, detail::first_queue(machine, rank, r.kind));
      }
    }
  }
};

/// The execution table of a plan; of one of the class that of the first rank of each part, whose readers
/// `list_readers_of_class` adds. `start` of a record is its row. O(queues · rows + waits).
constexpr grown_execution_table table_of(const program_plan& plan) {
  const machine_shape& m = plan.machine;
  const int per_rank = detail::queues_per_rank(m), members = plan.of_class ? plan.parts() : m.ranks;
  grown_execution_table t;
  t.size.tasks = plan.tasks();
  t.size.queues = per_rank * members;
  t.use.resize(t.size.queues);
  growing_array<int> queue;  // of each row on its rank
  int last = 0;
  for (int r = 0; r < plan.row.size; ++r) {
    const int step = plan.row.item[r].step;
    t.first_operation = r == 0 || step < t.first_operation ? step : t.first_operation;
    last = step > last ? step : last;
    queue.push(detail::first_queue(m, 0, plan.row.item[r].kind));
  }
  t.operations = plan.row.size > 0 ? last - t.first_operation + 1 : 0;
  t.record.reserve(t.size.tasks);
  t.wait.reserve(plan.wait.size);
  for (int q = 0; q < t.size.queues; ++q) {
    t.queue_begin.push(t.record.size);
    const int member = q / per_rank, part = plan.of_class ? member : plan.part_of_rank(member);
    const int rank = plan.of_class ? plan.ranks_of(part).first : member, place = rank - plan.ranks_of(part).first;
    for (int r = 0; r < plan.row.size; ++r) {
      const plan_row& row = plan.row.item[r];
      if (queue.item[r] != q % per_rank || row.part != part) continue;
      const int task = row.first_task + place;
      for (int w = task == 0 ? 0 : plan.wait_end.item[task - 1]; w < plan.wait_end.item[task]; ++w)
        t.wait.push(plan.wait.item[w]);
      t.record.push({task, rank, row.first_item + rank, row.step - t.first_operation, t.wait.size, 0, 0, r});
      t.use.item[q].kind = row.kind;
      t.use.item[q].load += 1 + plan.duration.item[task];
    }
  }
  t.queue_begin.push(t.record.size);
  t.size.waits = t.wait.size;
  if (!plan.of_class) detail::list_readers(t);
  return t;
}

}}  // namespace hyperparallel::v0_2
