// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding: rotates the pairs (i, i + D/2) by position · base^(-2i/D), so D is even. real[0] = base,
// integer[0] = 1, or -1 to rotate back. Source: Su et al., RoFormer, 2021.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

struct rope {
  static constexpr const char *name = "rope", *text = "bs*D->bs*D";
  static constexpr int flops_per_point = 3;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<rope>("g0>0").reverses = true;
  }
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes&) {
    const tensor_factors& x = r.operand[0];
    const extent_t width = extent[x.term[x.rank - 1]];
    if (width % 2 == 0) return {};
    return {instance_fit::verdict::not_a_multiple, width, 2};
  }
};

}}}  // namespace hyperparallel::v0_2::ops
