// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plug between a plan and the code that does its work.
//
// A kernel is a plain function; tasks name it by the operation number that the lowering wrote. Law: whatever a kernel
// wrote before it returned is visible to every task that waits for one of its task's signals.

namespace hyperparallel {

/// What a kernel learns about the task it runs. `user` is the pointer given when the kernel was bound.
struct kernel_call {
  int rank;
  int task;
  int operation;
  int item;
  void* user;
};

/// May throw; the run then ends with a `task_error`.
using kernel = void (*)(const kernel_call&);

/// Names for messages and pictures; a missing table or entry reads as "operation 3", "slot 5".
struct program_names {
  const char* const* operation = nullptr;
  int operations = 0;
  const char* const* slot = nullptr;
  int slots = 0;
};

}  // namespace hyperparallel
