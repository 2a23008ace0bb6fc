// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layer norm and group norm: x - mean over its deviation, times a weight, plus a bias. real[0] = epsilon.
// Sources: Ba et al., "Layer Normalization", 2016; Wu & He, "Group Normalization", 2018.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// d result, x, weight -> dx, d weight, d bias.
struct layer_norm_gradient {
  static constexpr const char *name = "layer_norm_gradient", *text = "*H,*H,H->*H,H,H";
  static constexpr int flops_per_point = 14;
};

/// x, weight, bias -> y, over the last dim.
struct layer_norm {
  static constexpr const char *name = "layer_norm", *text = "*H,H,H->*H";
  static constexpr int flops_per_point = 8;
  static constexpr unsigned starts_at_one = 0b010, starts_at_zero = 0b100;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<layer_norm_gradient>("g0,x0,x1>012");
  }
};

/// d result, x, weight -> dx, d weight, d bias.
struct group_norm_gradient {
  static constexpr const char *name = "group_norm_gradient", *text = "";
  static constexpr int flops_per_point = 14;
};

/// x, weight, bias -> y: over the channels of a group and all positions. Each instance has its own text, such as
/// "bgCHW,gC,gC->bgCHW": groups and batch may be sharded, channels and positions are whole.
struct group_norm {
  static constexpr const char *name = "group_norm", *text = "";
  static constexpr int flops_per_point = 8;
  static constexpr unsigned starts_at_one = 0b010, starts_at_zero = 0b100;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<group_norm_gradient>("g0,x0,x1>012");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
