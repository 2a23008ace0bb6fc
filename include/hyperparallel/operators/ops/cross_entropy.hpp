// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross entropy of logits and labels, in the parts that a sharded vocabulary needs: the maximum (reduce), the sum
// of exponentials, the label's logit, and the loss of each token. A negative label is no label: its loss is 0.
// The gradient goes from a token's loss straight to the logits, over the loops of `exp_sum`; the parts have none of
// their own.

#include <hyperparallel/operators/ops/reduce.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// x, max -> Σ exp(x - max).
struct exp_sum {
  static constexpr const char *name = "exp_sum", *text = "*v,*->*";
  static constexpr int flops_per_point = 5;
  static constexpr unsigned statistics = 0b1, without_gradient = ~0u;
};

/// x, label -> x[label].
struct pick {
  static constexpr const char *name = "pick", *text = "*v,*->*";
  static constexpr int flops_per_point = 0;
  static constexpr unsigned indices = 0b10, statistics = 0b1, without_gradient = ~0u;
  static constexpr char index_below = 'v';
  static constexpr bool index_or_negative = true;
};

struct cross_entropy_gradient;

/// max, Σ exp, x[label], label -> max + log(Σ exp) - x[label].
struct token_loss {
  using largest = reduce;
  using exponentials = exp_sum;
  using picked = pick;
  using logits_gradient = cross_entropy_gradient;
  static constexpr const char *name = "token_loss", *text = "*,*,*,*->*";
  static constexpr int flops_per_point = 6;
  static constexpr unsigned indices = 0b1000, statistics = 0b1;
  static constexpr bool index_or_negative = true;
};

/// d loss, x, max, Σ exp, label -> dx.
struct cross_entropy_gradient {
  static constexpr const char *name = "cross_entropy_gradient", *text = "*,*v,*,*,*->*v";
  static constexpr int flops_per_point = 7;
  static constexpr unsigned indices = 0b10000, without_gradient = ~0u;
  static constexpr char index_below = 'v';
  static constexpr bool index_or_negative = true;
};

}}}  // namespace hyperparallel::v0_2::ops
