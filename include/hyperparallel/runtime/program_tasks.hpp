// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work behind the tasks of a lowered program: kernel calls of compute steps, transfers of moves, with all
// addresses.
//
// Law: a compute task calls its operator's kernel with the box of loops that its rank works on and the blocks of its
// values; a move task carries out its receiver's transfers. Items are those of lower_program.hpp. Made once, read by
// all threads; nothing is allocated in a run.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/program/lower_program.hpp>
#include <hyperparallel/runtime/kernel.hpp>
#include <hyperparallel/runtime/model_kernels/operator_call.hpp>
#include <hyperparallel/runtime/move_task.hpp>
#include <hyperparallel/runtime/paced_queue.hpp>
#include <hyperparallel/runtime/program_error.hpp>
#include <hyperparallel/runtime/program_memory.hpp>

namespace hyperparallel {

namespace detail {

/// Throws program_error where an operator's box has another size than the block of its value.
inline void check_block(const sharded_program& p, const graph_operator& op, int value, extent_t elements) {
  if (elements == local_elements(p, value)) return;
  throw program_error(std::string("operator \"") + p.graph.text_at(op.name) + "\" works on " +
                      std::to_string(elements) + " elements of \"" + p.graph.name_of_tensor(p.value[value].tensor) +
                      "\", a device has " + std::to_string(local_elements(p, value)));
}

}  // namespace detail

/// How errors call a step.
inline std::string name_of_step(const sharded_program& p, int step) {
  if (p.step[step].is_move)
    return std::string(name_of(cache_operator_of(p, p.move[p.step[step].index]))) + " of " +
           p.graph.name_of_tensor(p.value[p.move[p.step[step].index].target].tensor);
  const graph_operator& op = p.graph.op[p.compute[p.step[step].index].op];
  return std::string(p.graph.text_at(op.name)) + " (" + name_of(op.kind) + ")";
}

/// The call of a compute step on one rank. Its operator belongs to the program. Throws program_error where the step's
/// placement and the layouts of its values do not agree.
inline operator_call call_of(const sharded_program& p, const program_memory& memory, int step, int rank) {
  const program_compute& c = p.compute[p.step[step].index];
  const graph_operator& op = p.graph.op[c.op];
  const mesh_shape& m = p.mesh.shape;
  const coordinate at = coordinates_of(m, rank);
  operator_call call;
  call.op = &op;
  for (int l = 0; l < op.loop_count; ++l) {
    const interval part = loop_interval(op, c.placement, m, at, l);
    call.loop[l] = {part.begin, part.end - part.begin, op.loop[l].extent};
  }
  for (int i = 0; i < op.operand_count; ++i) {
    detail::check_block(p, op, c.operand[i], call.operand_elements(i));
    call.operand[i] = memory.block(c.operand[i], rank);
  }
  for (int i = 0; i < op.result_count; ++i) {
    detail::check_block(p, op, c.result[i], call.result_elements(i));
    call.result[i] = memory.block(c.result[i], rank);
  }
  return call;
}

/// The transfers of a move step, none where it is a detach: of move step i and rank r at i · ranks + r.
inline std::vector<move_task> transfers_of(const sharded_program& p, const program_pulls& pulls,
                                           const program_memory& memory, int step) {
  const int number = p.step[step].index, staged = p.storage.size + number;
  const program_move& m = p.move[number];
  const move_pulls& how = pulls.of(number);
  const data_type type = p.graph.tensor[p.value[m.source].tensor].type;
  const auto place = [&](int block) {
    return block == 0 ? p.value[m.source].storage : block == how.steps ? p.value[m.target].storage : staged;
  };
  std::vector<move_task> tasks;
  if (m.detaches) {
    for (int r = 0; r < memory.ranks(); ++r) tasks.emplace_back(nullptr, nullptr, 0, true);
    return tasks;
  }
  for (int i = 0; i < how.steps; ++i)
    for (int r = 0; r < memory.ranks(); ++r) {
      std::byte* const target = memory.address(place(i + 1), r);
      const auto block = [&](int sender) { return memory.address(place(i), sender); };
      if (how.plan.step_count > 0) {
        tasks.emplace_back(how.plan, i, r, type, block, target);
      } else {
        const int sender = how.sender[r];
        tasks.emplace_back(block(sender), target, local_bytes(p, m.target), sender == r);
      }
    }
  return tasks;
}

/// The work of all steps of a program. Tasks of step s are bound by `bind_step(…, s)`.
class program_tasks {
 public:
  /// `tier_link` is the link each way between tier 0 and a slower one, from tier 1 on; tiers behind its end have none.
  program_tasks(const sharded_program& p, const program_pulls& pulls, const program_memory& memory,
                kernel_choice choose, const std::vector<offload_link>& tier_link = {}, bool measured = false)
      : ranks_(static_cast<std::size_t>(memory.ranks())), link_(tier_link), pace_(2 * ranks_) {
    for (int s = 0; s < p.step.size; ++s) {
      step_work& work = *step_.emplace_back(std::make_unique<step_work>());
      work.training_step = &training_step_;
      work.name = name_of_step(p, s);
      if (measured) work.spent.resize(2 * ranks_);
      if (p.step[s].is_move) {
        work.move = transfers_of(p, pulls, memory, s);
        pace(p, s, work);
        continue;
      }
      work.kernel = choose(p.graph.op[p.compute[p.step[s].index].op].kind);
      for (int r = 0; r < memory.ranks(); ++r) work.call.push_back(call_of(p, memory, s, r));
    }
  }

  /// Number of the training step that kernels are told; from 1. Domain: not during a run.
  void set_training_step(std::int64_t step) { training_step_ = step; }

  template <class Executor>
  void bind_step(Executor& executor, int step) {
    step_work& work = *step_[static_cast<std::size_t>(step)];
    if (!work.spent.empty()) return executor.bind(step, &program_tasks::timed, &work);
    executor.bind(step,
                  work.link != nullptr ? &program_tasks::paced_copy
                  : work.call.empty()  ? &program_tasks::move
                                       : &program_tasks::compute,
                  &work);
  }
  /// Of each step: picoseconds on one rank, the median of the last runs, in the mean of the ranks. Domain: measured,
  /// not during a run.
  std::vector<std::int64_t> durations() const {
    std::vector<std::int64_t> all;
    for (const std::unique_ptr<step_work>& s : step_) {
      std::int64_t nanoseconds = 0;
      for (const time_spent& t : s->spent) nanoseconds += t.median();
      all.push_back(nanoseconds * 1000 / static_cast<std::int64_t>(ranks_));
    }
    return all;
  }
  const char* name(int step) const { return step_[static_cast<std::size_t>(step)]->name.c_str(); }
  /// Bytes that others bring to `rank` in one run of the step.
  std::int64_t received(int step, int rank, int ranks) const {
    const std::vector<move_task>& tasks = step_[static_cast<std::size_t>(step)]->move;
    std::int64_t bytes = 0;
    for (std::size_t i = static_cast<std::size_t>(rank); i < tasks.size(); i += static_cast<std::size_t>(ranks))
      bytes += tasks[i].received();
    return bytes;
  }

 private:
  /// The last runs of a task. What disturbs one of them, its first above all, does not change the median.
  struct time_spent {
    static constexpr std::size_t kept = 15;
    std::int64_t nanoseconds[kept] = {};
    std::size_t times = 0;
    std::int64_t median() const {
      std::int64_t sorted[kept] = {};
      const std::size_t count = std::min(times, kept);
      if (count == 0) return 0;
      std::copy_n(nanoseconds, count, sorted);
      std::int64_t* const middle = sorted + (count - 1) / 2;
      std::nth_element(sorted, middle, sorted + count);
      return *middle;
    }
  };
  struct step_work {
    operator_kernel kernel = nullptr;
    std::vector<operator_call> call;  ///< of each rank
    std::vector<move_task> move;
    const offload_link* link = nullptr;  ///< of a copy between tiers
    std::int64_t bytes = 0;              ///< that it copies on each rank
    paced_queue* queue = nullptr;        ///< of each rank
    std::vector<time_spent> spent;       ///< of each item, where it is measured; one thread at a time has it
    const std::int64_t* training_step = nullptr;
    std::string name;
  };

  static void compute(const kernel_call& c) {
    const step_work& work = *static_cast<const step_work*>(c.user);
    operator_call call = work.call[static_cast<std::size_t>(c.item)];
    call.step = *work.training_step;
    work.kernel(call);
  }
  static void timed(const kernel_call& c) {
    step_work& work = *static_cast<step_work*>(c.user);
    const paced_queue::clock::time_point begin = paced_queue::clock::now();
    (work.link != nullptr ? &paced_copy : work.call.empty() ? &move : &compute)(c);
    time_spent& t = work.spent[static_cast<std::size_t>(c.item)];
    t.nanoseconds[t.times++ % time_spent::kept] = std::chrono::nanoseconds(paced_queue::clock::now() - begin).count();
  }
  static void paced_copy(const kernel_call& c) {
    const step_work& work = *static_cast<const step_work*>(c.user);
    work.queue[c.rank].carry(*work.link, work.bytes, c, [&] { move(c); });
  }
  static void move(const kernel_call& c) {
    static_cast<const step_work*>(c.user)->move[static_cast<std::size_t>(c.item)].run();
  }

  void pace(const sharded_program& p, int step, step_work& work) {
    const program_move& m = p.move[p.step[step].index];
    const cache_operator kind = cache_operator_of(p, m);
    if (kind != cache_operator::prefetch && kind != cache_operator::store) return;
    const bool in = kind == cache_operator::prefetch;
    const std::size_t slower = static_cast<std::size_t>(tier_of(p, in ? m.source : m.target));
    if (slower > link_.size()) return;
    work.link = &link_[slower - 1];
    work.bytes = local_bytes(p, m.target);
    work.queue = pace_.data() + (in ? 0 : ranks_);
  }

  std::size_t ranks_;
  std::vector<offload_link> link_;
  std::vector<paced_queue> pace_;  ///< of each rank, towards tier 0, then away from it
  std::vector<std::unique_ptr<step_work>> step_;
  std::int64_t training_step_ = 1;
};

}  // namespace hyperparallel
