// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program as it will run: in the types of a run, its moves planned, with what is kept.
//
// All floats have one type, numbers of rows are std::int32_t. Law: a program that is prepared can be given memory; what
// cannot run is refused here by name. O(values + plans of the kinds of moves).

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/program/move_pulls.hpp>
#include <hyperparallel/runtime/execution.hpp>
#include <hyperparallel/runtime/memory_budget.hpp>
#include <hyperparallel/runtime/program_tasks.hpp>

namespace hyperparallel {

struct program_options {
  executor_options execution{};
  std::vector<std::string> keep{};  ///< tensors to be read after a run, beside loss and monitors
  kernel_choice kernels = nullptr;  ///< instead of `kernel_of<T>`
  bool vector_queue = false;        ///< vector operators on a queue of their own
  int lookahead = 0;                ///< steps by which moves may run ahead; takes memory beyond the least
  memory_budget budget{};           ///< where it has bytes, what does not fit leaves for slower tiers
  bool measured = false;            ///< `step_durations` can be asked for
};

/// A program in the types of a run, with what is kept among its monitors, whose values live to the end.
struct prepared_program {
  sharded_program program;
  program_pulls pulls;
  int monitors = 0;                      ///< of the graph, without what is kept
  std::vector<std::int64_t> duration{};  ///< of each step, where a plan rests on them; else empty
  offload_certificate offloading{};      ///< of that plan
};

/// Throws program_error where the program was refused, has folded segments or a move without a plan, or where `keep`
/// names what is not there, or the budget cannot be kept.
inline prepared_program prepare_program(sharded_program p, data_type floating, const std::vector<std::string>& keep,
                                        const memory_budget& budget = {}) {
  if (p.status.code != strategy_code::ok)
    throw program_error("the program was refused: " + reason_of_refusal(p, {.name = p.strategy, .mesh = p.mesh}));
  for (const graph_segment& s : p.graph.segment)
    if (s.repeats > 1)
      throw program_error(std::string("segment \"") + p.graph.text_at(s.name) +
                          "\" is folded: only graphs that are built unrolled can run");
  set_run_types(p, floating);
  prepared_program prepared;
  prepared.monitors = p.graph.monitor.size;
  for (const std::string& name : keep) {
    const int t = find_tensor(p.graph, name.c_str());
    if (t < 0) throw program_error("the graph has no tensor \"" + name + "\" that could be kept");
    p.graph.monitor.push(t);
  }
  if (budget.bytes != 0) {
    offloaded_program within = planned_within(p, budget);
    prepared.duration.assign(within.duration.begin(), within.duration.end());
    prepared.offloading = within.planned.certificate;
    p = std::move(within.program);
  }
  prepared.pulls = pulls_of(p);
  if (const move_pulls_status& s = prepared.pulls.status; s.code != move_pulls_code::ok)
    throw program_error(std::string("the move of \"") + p.graph.name_of_tensor(p.value[p.move[s.move].target].tensor) +
                        "\" cannot be planned: " + to_text(s.code));
  prepared.program = std::move(p);
  return prepared;
}

}  // namespace hyperparallel
