// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ring attention: blocks of keys travel around the devices that share a sequence, and what each gives is
// joined by the log-sum-exp of its scores. Costs are those of attention on the block. Source: Liu et al., "Ring
// Attention with Blockwise Transformers", 2023.

#include <hyperparallel/operators/ops/attention.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// q, k, v of one block -> o, log-sum-exp of that block alone, wherever it lies.
struct attention_block {
  static constexpr const char *name = "attention_block", *text = "bsmgD,btmD,btmE->bsmgE,bsmg";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{0, 1};
  static constexpr unsigned without_gradient = ~0u;
  static constexpr int flops_per_point = 4;
  static constexpr extent_t flops(const local_work& w) { return attention::flops(w); }
};

/// o, log-sum-exp, o, log-sum-exp -> o, log-sum-exp: two blocks of keys joined.
struct attention_merge {
  static constexpr const char *name = "attention_merge", *text = "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg";
  static constexpr unsigned without_gradient = ~0u;
  static constexpr int flops_per_point = 6;
};

/// do, q, k, v, o, log-sum-exp (joined) -> dq, dk, dv of one block.
struct attention_block_gradient {
  static constexpr const char *name = "attention_block_gradient",
                              *text = "bsmgE,bsmgD,btmD,btmE,bsmgE,bsmg->bsmgD,btmD,btmE";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{1, 2, true};
  static constexpr int flops_per_point = 10;
  static constexpr unsigned without_gradient = ~0u;
  static constexpr extent_t flops(const local_work& w) { return attention_gradient::flops(w); }
};

}}}  // namespace hyperparallel::v0_2::ops
