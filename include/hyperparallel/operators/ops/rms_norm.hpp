// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root mean square norm over the last dim, times a weight. real[0] = epsilon; integer[0] = 1: over the last two dims. The weight may have
// dims before them: "*aBC,aBC->*aBC" has one for each a.
// Source: Zhang & Sennrich, "Root Mean Square Layer Normalization", 2019.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// d result, x, weight -> dx, d weight.
struct rms_norm_gradient {
  static constexpr const char *name = "rms_norm_gradient", *text = "*H,*H,H->*H,H";
  static constexpr int flops_per_point = 10;
};

/// x, weight -> x / root(mean x² + epsilon) · weight.
struct rms_norm {
  static constexpr const char *name = "rms_norm", *text = "*H,H->*H";
  static constexpr int flops_per_point = 4;
  static constexpr unsigned starts_at_one = 0b10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<rms_norm_gradient>("g0,x0,x1>01");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
