// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a world does against results that are silently wrong, on threads and over MPI, and what it throws when it finds one.
//
// Plans are deterministic: a task that runs twice on the same bytes writes the same bytes, and what one task has written is
// what the next one reads. Whatever breaks either law is an error of the machine, of a kernel that is not deterministic, or
// of a write where none belongs.
//
// Laws: no error without a difference; a difference ends the run as a kernel that throws does (exec/failure.hpp: the
// `task_error` has it nested), and what the run would have written has no value after it. Bits of training are those
// without checks. Between processes a message has a checksum with `moves` and with `state`. Costs: `tasks` doubles the computing of its share, `moves` the copying, `state` reads what tasks
// read and write once more; memory is what the largest task writes, a thread.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace hyperparallel { inline namespace v0_2 {

struct corruption_checks {
  bool tasks = false;  ///< tasks that compute run twice, and their results are compared bit for bit
  bool moves = false;  ///< likewise what a rank receives
  bool state = false;  ///< what a task has written has a checksum, which is compared when it is read, in any later step
  int share = 1;       ///< one in so many tasks runs twice in a step, the others in the steps after it

  constexpr bool any() const { return tasks || moves || state; }
};

/// "tasks moves state share 1", what is asked of it.
inline std::string text_of(const corruption_checks& c) {
  return std::string(c.tasks ? "tasks " : "") + (c.moves ? "moves " : "") + (c.state ? "state " : "") + "share " +
         std::to_string(c.share);
}

/// Bits that are not what they ought to be.
struct corruption_error : std::runtime_error {
  int rank;              ///< that has the block
  std::string tensor;    ///< its name
  std::int64_t element;  ///< first one that differs, row-major in the rank's block; -1: not known

  corruption_error(int rank_, const std::string& tensor_, std::int64_t element_ = -1)
      : std::runtime_error("\"" + tensor_ + "\" of rank " + std::to_string(rank_) +
                           (element_ < 0 ? std::string(" is not what was written: its checksum has changed")
                                         : " differs between two runs of the task, first in element " +
                                               std::to_string(element_) + " of the rank's block")),
        rank(rank_),
        tensor(tensor_),
        element(element_) {}
};

}}  // namespace hyperparallel::v0_2
