// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout: each element is 0 with probability real[0], else divided by what remains. integer[0] = key of the operator,
// integer[1] = seed. Whether an element stays depends on (seed, operator, training step, micro-batch, place in the whole
// tensor) alone, so every strategy drops the same ones, and the gradient and a recomputed forward the same again.
// Source: Srivastava et al., "Dropout", 2014.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// x -> y; linear, so its gradient is itself.
struct dropout {
  static constexpr const char *name = "dropout", *text = "*->*";
  static constexpr int flops_per_point = 2;
  static constexpr partial_words partials = linear_in_each(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<dropout>("g0>0");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
