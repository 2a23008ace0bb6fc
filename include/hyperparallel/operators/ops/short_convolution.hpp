// SPDX-License-Identifier: Apache-2.0
#pragma once
// A causal convolution of each channel by itself over the last few tokens, then SiLU, as linear attention has it before its heads:
//
//   z[t] = Σ over taps j of weight[j] · x[t − taps + 1 + j]        y = z · sigmoid(z)
//
// Tokens before the first one are 0. The sequence and the taps are whole, batch and channels may be sharded.
// FLOPs: two a tap, five for SiLU counted as two more taps; gradients compute z again. Source: Gu & Dao, "Mamba", 2312.00752.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// dy, x, weight -> dx, d weight.
struct short_convolution_gradient {
  static constexpr const char *name = "short_convolution_gradient", *text = "bS*,bS*,*U->bS*,*U";
  static constexpr int flops_per_point = 8;
};

/// dy, x, weight, bias -> dx, d weight, d bias.
struct biased_short_convolution_gradient {
  static constexpr const char *name = "biased_short_convolution_gradient", *text = "bS*,bS*,*U,*->bS*,*U,*";
  static constexpr int flops_per_point = 8;
};

/// x, weight, bias -> y, with the bias of each channel in z.
struct biased_short_convolution {
  static constexpr const char *name = "biased_short_convolution", *text = "bS*,*U,*->bS*";
  static constexpr int flops_per_point = 3;
  static constexpr unsigned starts_at_zero = 0b100;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<biased_short_convolution_gradient>("g0,x0,x1,x2>012");
  }
};

/// x, weight -> y.
struct short_convolution {
  static constexpr const char *name = "short_convolution", *text = "bS*,*U->bS*";
  static constexpr int flops_per_point = 3;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<short_convolution_gradient>("g0,x0,x1>01");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
