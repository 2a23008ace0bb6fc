// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of tensors of one shape. Pending sums pass where all operands wait alike.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Of 2 to 8 operands. Of types of layouts whole operands are sliced to meet sharded ones.
struct sum {
  static constexpr const char *name = "sum", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::adds;
  static constexpr unsigned starts_at_zero = ~0u, passes_gradient = ~0u;
  static constexpr bool adds = true, yields = true;
};

/// Sum so far, new -> sum, in place: gradients over micro-batches, which have none themselves.
struct accumulate {
  static constexpr const char *name = "accumulate", *text = "*,*->*";
  static constexpr partial_words partials = linear_together(~0u);
  static constexpr unsigned without_gradient = ~0u;
  static constexpr bool accumulates = true;
};

}}}  // namespace hyperparallel::v0_2::ops
