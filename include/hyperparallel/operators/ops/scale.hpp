// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with a number, and of two tensors element by element.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// real[0] · x.
struct scale {
  static constexpr const char *name = "scale", *text = "*->*";
  static constexpr partial_words partials = linear_together(~0u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<scale>("g0>0");
  }
};

struct multiply {
  static constexpr const char *name = "multiply", *text = "*,*->*";
  static constexpr partial_words partials = partial_algebra::both_by(refuse_partials(), reduce_op::prod);
  static constexpr unsigned linear = 0b11;
  static constexpr unsigned starts_at_one = 0b11;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<multiply>("g0,x1>0");
    b.template backward<multiply>("g0,x0>1");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
