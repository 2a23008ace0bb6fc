// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor plus a bias over some of its dims, alike along the others.

#include <hyperparallel/operators/ops/reduce.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// x, bias -> x + bias. The text is of a bias over the last dim; an instance with another has its own: "bcd,cd->bcd",
/// "boXY,o->boXY". The gradient of x is the
/// result's, without an operator; that of the bias is its sum over the dims that the bias lacks.
struct add_bias {
  static constexpr const char *name = "add_bias", *text = "*b,b->*b";
  static constexpr partial_words partials = linear_together(~0u);
  static constexpr unsigned starts_at_zero = 0b10, passes_gradient = 0b01;
  static constexpr bool adds_bias = true;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<reduce>("g0>1");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
