// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exponential, logarithm, root, difference, quotient and maximum of elements. A root and a quotient count as one operation, a
// transcendental as four.
//
// Operands run over the loops of the result; one that is repeated along a loop has no gradient.

#include <hyperparallel/operators/ops/scale.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Whether every operand runs over all loops of the result.
constexpr bool repeats_no_operand(const factor_rule& r) {
  for (int i = 0; i < r.operand_count; ++i)
    if (r.operand[i].mask != r.result[0].mask) return false;
  return true;
}

struct negate {
  static constexpr const char *name = "negate", *text = "*->*";
  static constexpr partial_words partials = hyperparallel::detail::falling(linear_together(~0u), 0);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<negate>("g0>0");
  }
};
/// x - y. Pending sums pass where both operands wait alike.
struct subtract {
  static constexpr const char *name = "subtract", *text = "*,*->*";
  static constexpr partial_words partials = partial_algebra::subtracts;
  static constexpr unsigned starts_at_zero = 0b11, passes_gradient = 0b01;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<negate>("g0>1");
  }
  static constexpr bool has_gradient_for(const factor_rule& r) { return repeats_no_operand(r); }
};

/// x + real[0].
struct shift {
  static constexpr const char *name = "shift", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::shifts;
  static constexpr unsigned passes_gradient = 0b1;
};

struct exp {
  static constexpr const char *name = "exp", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises;
  static constexpr int flops_per_point = 4;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<multiply>("g0,y0>0");
  }
};

/// dy, x, y -> the gradient of y in x / y.
struct divide_gradient {
  static constexpr const char *name = "divide_gradient", *text = "*,*,*->*";
  static constexpr int flops_per_point = 4;
  static constexpr partial_words partials = linear_in_each(0b001);
};
/// x / y. Pending sums of x pass.
struct divide {
  static constexpr const char *name = "divide", *text = "*,*->*";
  static constexpr partial_words partials = partial_algebra::quotients;
  static constexpr unsigned starts_at_one = 0b11;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<divide>("g0,x1>0");
    b.template backward<divide_gradient>("g0,x0,x1>1");
  }
  static constexpr bool has_gradient_for(const factor_rule& r) { return repeats_no_operand(r); }
};

/// The natural logarithm.
struct log {
  static constexpr const char *name = "log", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises_above;
  static constexpr int flops_per_point = 4;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<divide>("g0,x0>0");
  }
};

/// dy, y -> dx.
struct sqrt_gradient {
  static constexpr const char *name = "sqrt_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 2;
};
struct sqrt {
  static constexpr const char *name = "sqrt", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises_above;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<sqrt_gradient>("g0,y0>0");
  }
};

/// dz, x, y -> dx, dy: dz goes to the operand whose element the maximum is, where they are equal to x.
struct maximum_gradient {
  static constexpr const char *name = "maximum_gradient", *text = "*,*,*->*,*";
};
/// The larger of x and y, a NaN where one of them is.
struct maximum {
  static constexpr const char *name = "maximum", *text = "*,*->*";
  static constexpr partial_words partials = partial_algebra::takes_larger;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<maximum_gradient>("g0,x0,x1>01");
  }
  static constexpr bool has_gradient_for(const factor_rule& r) { return repeats_no_operand(r); }
};

}}}  // namespace hyperparallel::v0_2::ops
