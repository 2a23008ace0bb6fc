// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan that a row of published measurements ran, as `hp plan --fix` names it, and what of it the row leaves open.
//
// What a row does not say: ZeRO 1 where several ranks deal the batch among them, no recomputation, sequence parallelism, a sequence
// in a micro-batch; of a peak of memory that holds for any number of micro-batches, twice the stages. What the library's plans
// of training do not have is refused by name.

#include <string>
#include <vector>

#include <hyperparallel/planner/plan_check.hpp>

#include "architectures.hpp"

namespace truth {

struct row_plan {
  hp::decoder_plan plan{};
  bool is_overlapped = false;       ///< on the stack megatron: it is not dealt as FSDP
  bool steps_are_skewed = false;    ///< a rank begins its next step when it has ended its own
  std::vector<std::string> open{};  ///< what the row does not say and the plan has
};

/// Throws not_predicted. `model` is the row's decoder. `micro_batches` counts where the row holds for several numbers of them.
row_plan plan_of(const published_row& r, const hp::decoder& model);

}  // namespace truth
