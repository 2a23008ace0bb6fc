// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of task_checks.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/task_checks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Memory for block `use` of a second run, which stays the thread's.
HYPERPARALLEL_BODY std::byte* memory_of_second_run(int use, std::int64_t bytes) {
  static thread_local std::vector<std::byte> memory[2 * max_results];
  std::vector<std::byte>& m = memory[use];
  if (m.size() < static_cast<std::size_t>(bytes)) m.resize(static_cast<std::size_t>(bytes));
  return m.data();
}

/// Of the block up to the last of these bytes.
HYPERPARALLEL_BODY std::int64_t reach_of(const light_vector<byte_run>& runs) {
  return runs.empty() ? 0 : runs.back().begin + runs.back().bytes;
}

HYPERPARALLEL_BODY task_checks::task_checks(const sharded_program& p, const program_pulls& pulls,
                                            const program_slots& s, const program_memory& memory,
                                            const corruption_checks& checks)
    : program_(p),
      checks_(checks),
      sums_(p, s, memory),
      ranks_(memory.ranks()),
      compute_(static_cast<std::size_t>(p.step.size)),
      move_(static_cast<std::size_t>(p.step.size)) {
  if (checks.share < 1)
    throw program_error("checks: one in " + std::to_string(checks.share) + " tasks cannot run twice");
  for (int step = 0; step < p.step.size; ++step) {
    if (p.step[step].is_move)
      add_move(step, pulls, s);
    else
      add_compute(step, memory);
  }
}

HYPERPARALLEL_BODY void task_checks::add_compute(int step, const program_memory& memory) {
  const sharded_program& p = program_;
  const program_step& s = p.step[step];
  const program_compute& c = p.compute[s.index];
  const graph_operator& op = p.graph.op[c.op];
  const int part = part_of_step(p, s), first = first_rank_of(p, part);
  for (int rank = first; rank < first + ranks_of_part(p, part); ++rank) {
    compute_uses& uses = compute_[static_cast<std::size_t>(step)].emplace_back();
    if (!memory.hosts(rank)) continue;
    bool is_replaced[max_operands] = {};
    for (int r = 0; r < op.result_count; ++r) {
      uses.result[r] = runs_of(p, c.result[r], s.tile, rank);
      uses.written.push_back(sums_.pieces_of(p.value[c.result[r]].storage, c.result[r], s.tile, rank));
      uses.operand[r] = -1;
      for (int i = 0; i < op.operand_count; ++i) {
        if (memory.block(c.operand[i], rank) != memory.block(c.result[r], rank)) continue;
        is_replaced[i] = true;
        uses.operand[r] = i;
        uses.replaced[r] = runs_of(p, c.operand[i], s.tile, rank);
      }
    }
    for (int i = 0; i < op.operand_count; ++i) {
      const bool goes_by = p.graph.tensor[op.operand[i]].type == data_type::i32;
      (is_replaced[i] || goes_by ? uses.before : uses.after)
          .push_back(sums_.pieces_of(p.value[c.operand[i]].storage, c.operand[i], s.tile, rank));
    }
  }
}

HYPERPARALLEL_BODY void task_checks::add_move(int step, const program_pulls& pulls, const program_slots& s) {
  const sharded_program& p = program_;
  const int number = p.step[step].index;
  const program_move& m = p.move[number];
  if (m.detaches) return;
  const move_pulls& how = pulls.of(number);
  const step_tile& tile = p.step[step].tile;
  const int part = part_of_step(p, p.step[step]), first = first_rank_of(p, part);
  const int senders = first_rank_of(p, part_of_value(p, m.source));
  const auto value_at = [&](int place) {
    return place == p.value[m.source].storage ? m.source : place == p.value[m.target].storage ? m.target : -1;
  };
  for (int i = 0; i < how.row.size; ++i) {
    const int from = place_read(p, pulls.moves, number, how.row[i]);
    const int to = place_written(p, pulls.moves, number, how.row[i]);
    bool is_partly_written = false,
         is_written_again = false;  // what it reads, by this row or a later one; what it writes
    for (int k = i; k < how.row.size; ++k) {
      const int place = place_written(p, pulls.moves, number, how.row[k]);
      is_partly_written = is_partly_written || place == from;
      is_written_again = is_written_again || (k > i && place == to);
    }
    for (int r = 0; r < ranks_of_part(p, part); ++r) {
      move_uses& uses = move_[static_cast<std::size_t>(step)].emplace_back();
      if (!is_written_again && s.place[to].bytes > 0) uses.written = sums_.pieces_of(to, value_at(to), tile, first + r);
      if (is_partly_written) continue;
      const receiver_records all = records_of_move(p, how, step, i, r);
      std::vector<bool> known(static_cast<std::size_t>(ranks_), false);
      for (const int sender : all.sender) {
        const int rank = senders + sender;
        if (known[static_cast<std::size_t>(rank)]) continue;
        known[static_cast<std::size_t>(rank)] = true;
        uses.read.push_back(sums_.pieces_of(from, value_at(from), tile, rank));
      }
    }
  }
}

HYPERPARALLEL_BODY bool task_checks::is_repeated(int step, int rank, std::int64_t number) const {
  return (std::int64_t{step} * ranks_ + rank + number) % checks_.share == 0;
}

HYPERPARALLEL_BODY void task_checks::refuse(int value, int rank, std::int64_t byte) const {
  const graph_tensor& t = program_.graph.tensor[program_.value[value].tensor];
  throw corruption_error(rank, program_.graph.name_of_tensor(program_.value[value].tensor),
                         byte < 0 ? byte : byte / bytes_of(t.type));
}

HYPERPARALLEL_BODY void task_checks::compute(int step, int rank, std::int64_t number, const tile_kernel& kernel,
                                             const operator_call& call) {
  const program_compute& c = program_.compute[program_.step[step].index];
  const int first = first_rank_of(program_, part_of_step(program_, program_.step[step]));
  const compute_uses& uses = compute_[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank - first)];
  const bool repeated = checks_.tasks && is_repeated(step, rank, number);
  operator_call second = call;
  for (int r = 0; r < call.rule->result_count && repeated; ++r) {
    second.result[r] = memory_of_second_run(r, reach_of(uses.result[r]));
    if (uses.operand[r] < 0) continue;
    std::byte* const kept = memory_of_second_run(max_results + r, reach_of(uses.replaced[r]));
    for (const byte_run& run : uses.replaced[r])
      std::memcpy(kept + run.begin, static_cast<const std::byte*>(call.result[r]) + run.begin,
                  static_cast<std::size_t>(run.bytes));
    second.operand[uses.operand[r]] = kept;
  }
  if (checks_.state)
    for (const block_sums::list& pieces : uses.before) sums_.check(pieces);
  kernel(call);
  if (checks_.state)
    for (const block_sums::list& pieces : uses.written) sums_.take(pieces);
  if (repeated) {
    kernel(second);
    for (int r = 0; r < call.rule->result_count; ++r)
      for (const byte_run& run : uses.result[r]) {
        const std::byte* const block = static_cast<const std::byte*>(call.result[r]) + run.begin;
        const std::byte* const other = static_cast<const std::byte*>(second.result[r]) + run.begin;
        const std::int64_t at = first_byte_apart(block, other, run.bytes);
        if (at >= 0) refuse(c.result[r], rank, run.begin + at);
      }
  }
  if (checks_.state)
    for (const block_sums::list& pieces : uses.after) sums_.check(pieces);
}

HYPERPARALLEL_BODY void task_checks::move(int step, int row, int rank, std::int64_t number, const move_task& task) {
  const program_move& m = program_.move[program_.step[step].index];
  const int part = part_of_step(program_, program_.step[step]);
  task.run();
  if (m.detaches) return;
  const std::size_t place =
      static_cast<std::size_t>(row * ranks_of_part(program_, part) + rank - first_rank_of(program_, part));
  const move_uses& uses = move_[static_cast<std::size_t>(step)][place];
  if (checks_.state) sums_.take(uses.written);
  if (repeats_move(step, rank, number)) repeat_move(step, rank, task);
  if (checks_.state)
    for (const block_sums::list& pieces : uses.read) sums_.check(pieces);
}

HYPERPARALLEL_BODY void task_checks::repeat_move(int step, int rank, const move_task& task) const {
  std::byte* const other = memory_of_second_run(0, task.reach());
  task.run_into(other);
  if (const std::int64_t at = task.first_difference(other); at >= 0) refuse_move(step, rank, at);
}

HYPERPARALLEL_BODY block_sums::list task_checks::pieces_of_row(int step, int row, bool written) const {
  block_sums::list all;
  const int ranks = ranks_of_part(program_, part_of_step(program_, program_.step[step]));
  for (int r = 0; r < ranks; ++r) {
    const move_uses& uses = move_[static_cast<std::size_t>(step)][static_cast<std::size_t>(row * ranks + r)];
    if (written) all.insert(all.end(), uses.written.begin(), uses.written.end());
    for (std::size_t i = 0; i < uses.read.size() && !written; ++i)
      all.insert(all.end(), uses.read[i].begin(), uses.read[i].end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

HYPERPARALLEL_BODY void task_checks::take_move(int step, int row) {
  if (checks_.state) sums_.take(pieces_of_row(step, row, true));
}
HYPERPARALLEL_BODY void task_checks::check_move(int step, int row) const {
  if (checks_.state) sums_.check(pieces_of_row(step, row, false));
}
HYPERPARALLEL_BODY void task_checks::forget_move(int step, int row) {
  if (checks_.state) sums_.forget(pieces_of_row(step, row, true));
}

}}}  // namespace hyperparallel::v0_2::detail
