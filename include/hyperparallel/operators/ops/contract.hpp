// SPDX-License-Identifier: Apache-2.0
#pragma once
// Einsum of two operands: matmul, linear, batched products. Each instance has its own text.
// Every factor that the result lacks is summed. Its gradients are contractions of the same factors.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

struct contract {
  static constexpr const char *name = "contract", *text = "";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr int flops_per_point = 2;
  static constexpr bool is_product = true;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<contract>("g0,x1>0");
    b.template backward<contract>("g0,x0>1");
  }
  /// A factor that one operand has alone must be in the result: the other gradient could not know it.
  static constexpr bool has_gradient_for(const factor_rule& r) {
    return ((r.operand[0].mask ^ r.operand[1].mask) & ~r.result[0].mask) == 0;
  }
};

}}}  // namespace hyperparallel::v0_2::ops
