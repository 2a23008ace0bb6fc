// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution in one, two or three spatial dims, channels first. integer[0] = stride, integer[1] = padding on either
// side, alike in all dims. Each instance has its own text: "bcX,ocK->boY", "bcHW,ocKL->boYX"; channels may be several
// dims. Batch and channels may be sharded, the input's leave a pending sum; positions are whole.
// FLOPs: 2 a product of an output and a tap of its kernel, padding included.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Operands' and results' points of x, the weight and the output; positions of the input do not count.
constexpr extent_t flops_of_convolution(const local_work& w, const tensor_factors& x, const tensor_factors& weight,
                                        const tensor_factors& out) {
  extent_t points = w.points;
  for (int d = 0; d < x.rank; ++d)
    if (!has_factor(weight, x.term[d]) && !has_factor(out, x.term[d])) points /= w.extent[x.term[d]];
  return 2 * points;
}

/// dy, weight -> dx.
struct convolution_input_gradient {
  static constexpr const char *name = "convolution_input_gradient", *text = "";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr int flops_per_point = 2;
  static constexpr extent_t flops(const local_work& w) {
    return flops_of_convolution(w, w.rule->result[0], w.rule->operand[1], w.rule->operand[0]);
  }
};
/// dy, x -> d weight.
struct convolution_weight_gradient {
  static constexpr const char *name = "convolution_weight_gradient", *text = "";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr int flops_per_point = 2;
  static constexpr extent_t flops(const local_work& w) {
    return flops_of_convolution(w, w.rule->operand[1], w.rule->result[0], w.rule->operand[0]);
  }
};

/// x, weight -> y.
struct convolution {
  static constexpr const char *name = "convolution", *text = "";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr int flops_per_point = 2;
  static constexpr extent_t flops(const local_work& w) {
    return flops_of_convolution(w, w.rule->operand[0], w.rule->operand[1], w.rule->result[0]);
  }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<convolution_input_gradient>("g0,x1>0");
    b.template backward<convolution_weight_gradient>("g0,x0>1");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
