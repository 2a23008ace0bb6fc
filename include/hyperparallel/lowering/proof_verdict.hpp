// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the proof of a program says: a code, and the task and place where it fails.

#include <hyperparallel/hardware/device.hpp>

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
  switch (c) {
    case program_proof_code::ok:
      return "ok";
    case program_proof_code::move_is_refused:
      return "a move is refused";
    case program_proof_code::task_is_missing:
      return "no queue of its rank has the task next";
    case program_proof_code::task_is_not_of_the_program:
      return "a queue has a task that is not of the steps";
    case program_proof_code::wait_is_not_behind:
      return "a wait is for a task that does not come before it";
    case program_proof_code::wait_is_not_answered:
      return "a task that another waits for does not tell it";
    case program_proof_code::read_is_not_ordered:
      return "a task may read before another has written";
    case program_proof_code::write_is_not_ordered:
      return "a task may write what another still uses";
    case program_proof_code::value_is_not_there:
      return "a task reads memory that another place has taken";
    case program_proof_code::home_is_not_whole:
      return "what lives from step to step is overwritten";
    case program_proof_code::row_uses_memory_twice:
      return "tasks of one row read and write the same memory";
    case program_proof_code::block_is_larger_than_its_place:
      return "a block is larger than the memory of its place";
  }
  return "unknown";
}

/// `task` (in the order of rows, then ranks) and `place` are where it fails.
struct program_proof {
  program_proof_code code = program_proof_code::ok;
  int task = -1;
  int place = -1;
  extent_t bytes[max_memory_tiers] = {};  ///< of memory that the tasks touch, in the part that touches most
};

}}  // namespace hyperparallel::v0_2
