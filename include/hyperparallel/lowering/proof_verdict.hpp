// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the proof of a program says: a code, and the task and place where it fails.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class program_proof_code : unsigned char {
  ok,
  move_is_refused,
  task_is_missing,
  task_is_not_of_the_program,
  wait_is_not_behind,
  wait_is_not_answered,
  read_is_not_ordered,
  write_is_not_ordered,
  value_is_not_there,
  home_is_not_whole,
  row_uses_memory_twice,
  block_is_larger_than_its_place
};

constexpr const char* to_text(program_proof_code c) {
  constexpr const char* texts[] = {"ok",
                                   "a move is refused",
                                   "no queue of its rank has the task next",
                                   "a queue has a task that is not of the steps",
                                   "a wait is for a task that does not come before it",
                                   "a task that another waits for does not tell it",
                                   "a task may read before another has written",
                                   "a task may write what another still uses",
                                   "a task reads memory that another place has taken",
                                   "what lives from step to step is overwritten",
                                   "tasks of one row read and write the same memory",
                                   "a block is larger than the memory of its place"};
  return detail::enum_text<program_proof_code::block_is_larger_than_its_place>(texts, c);
}

/// `task` (in the order of rows, then ranks) and `place` are where it fails.
struct program_proof {
  program_proof_code code = program_proof_code::ok;
  int task = -1;
  int place = -1;
  extent_t bytes[max_memory_tiers] = {};  ///< of memory that the tasks touch, in the part that touches most
};

}}  // namespace hyperparallel::v0_2
