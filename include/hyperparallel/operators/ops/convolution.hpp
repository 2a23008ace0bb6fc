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

/// Places of a kernel of `taps` on a dim of `in` positions.
constexpr extent_t convolution_places(extent_t in, extent_t taps, extent_t stride, extent_t padding) {
  const extent_t past = in + 2 * padding - taps;
  return past < 0 || stride < 1 || padding < 0 ? 0 : past / stride + 1;
}

/// Whether the result's positions, the dims that it alone has, are those of stride and padding.
constexpr instance_fit fit_of_convolution(const factor_rule& r, const extent_t* extent, const operator_attributes& a) {
  const tensor_factors &x = r.operand[0], &weight = r.operand[1], &y = r.result[0];
  for (int last = 1; last <= x.rank && last <= weight.rank && last <= y.rank; ++last) {
    const int place = y.term[y.rank - last], in = x.term[x.rank - last], taps = weight.term[weight.rank - last];
    if (has_factor(x, place) || has_factor(weight, place)) break;
    const extent_t there = convolution_places(extent[in], extent[taps], a.integer[0], a.integer[1]);
    if (extent[place] != there) return {instance_fit::verdict::extent_differs, extent[place], there};
  }
  return {};
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
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes& a) {
    return fit_of_convolution(r, extent, a);
  }
};

}}}  // namespace hyperparallel::v0_2::ops
