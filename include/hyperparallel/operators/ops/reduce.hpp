// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sum, or maximum, over the factors that the result lacks; and its transpose, which repeats over the factors that
// the operand lacks; the mean and its transpose. Each instance has its own text.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

struct broadcast;

/// Einsum of one operand; the instance says the reduction. Sums alone have a gradient.
struct reduce {
  static constexpr const char *name = "reduce", *text = "";
  static constexpr unsigned statistics = 0b1;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<broadcast>("g0>0");
  }
  static constexpr bool has_gradient_for(const factor_rule& r) {
    for (int f = 0; f < r.factor_count; ++f)
      if (r.factor[f].op != reduce_op::none && r.factor[f].op != reduce_op::sum) return false;
    return true;
  }
};

struct broadcast {
  static constexpr const char *name = "broadcast", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr unsigned starts_at_zero = 0b1;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<reduce>("g0>0");
  }
};

/// dy -> dx: repeated as `broadcast` repeats, divided by how many elements each mean is of.
struct mean_gradient {
  static constexpr const char *name = "mean_gradient", *text = "";
  static constexpr partial_words partials = linear_in_each(0b1u);
};

/// The sum over the dims that the result lacks, "abc->ac", divided by how many elements these dims have in the whole
/// tensor: where they are sharded the quotients of the pieces wait for a sum, as those of `reduce` do.
struct mean {
  static constexpr const char *name = "mean", *text = "";
  static constexpr unsigned statistics = 0b1;
  static constexpr partial_words partials = linear_in_each(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<mean_gradient>("g0>0");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
