// SPDX-License-Identifier: Apache-2.0
#pragma once
// exp(x - max x) / Σ exp(x - max x) over the last dim, which is whole.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// dy, y -> dx.
struct softmax_gradient {
  static constexpr const char *name = "softmax_gradient", *text = "*E,*E->*E";
  static constexpr int flops_per_point = 4;
};
struct softmax {
  static constexpr const char *name = "softmax", *text = "*E->*E";
  static constexpr int flops_per_point = 6;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<softmax_gradient>("g0,y0>0");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
