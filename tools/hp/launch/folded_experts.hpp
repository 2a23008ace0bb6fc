// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the experts of a framework's line lie in a plan: ep and etp, folded over the ranks that the rest of the model has.
//
//   launch::fold_experts(mixtral, {.ep = 8, .etp = 1, .data = 8, .tp = 4}, plan) == ""       plan.ep == 2, along tp, too
//
// ep · etp ranks have one copy of the experts. Where etp is 1 they are dealt to all tensor ranks, else cut as tensors are; the
// others are data and context ranks. Megatron-LM takes data ranks, and all context ranks where these do not do; torchtitan takes
// all context ranks first.
//
// Law: where it says nothing, expert_ranks_of(plan) is ep, and data ranks divide by plan.ep. O(1).

#include <string>

#include <hyperparallel/planner/decoder_plan.hpp>

namespace hp_tool::launch {

using namespace hyperparallel;

struct expert_ranks {
  int ep = 1, etp = 1;
  int data = 1, cp = 1, tp = 1;      ///< ranks that they may lie on
  bool context_first = false;        ///< all context ranks have experts of their own
  const char* place = "of a stage";  ///< where these ranks are, for what is said
};

/// Sets ep and experts_along of a plan; the plan's dp is what is left of its data ranks. Else says why not.
std::string fold_experts(const decoder& d, const expert_ranks& r, decoder_plan& p);

}  // namespace hp_tool::launch
