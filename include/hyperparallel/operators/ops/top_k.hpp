// SPDX-License-Identifier: Apache-2.0
#pragma once
// A router's choice of experts. Ties go to the lower index. integer[1] = normalise the weights, real[0] = their
// scale.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// d weight, p, index -> dp; attributes of its forward operator.
struct top_k_gradient {
  static constexpr const char *name = "top_k_gradient", *text = "*K,*E,*K->*E";
  static constexpr int flops_per_point = 2;
  static constexpr unsigned indices = 0b100;
  static constexpr char index_below = 'E';
};

/// Whether there are as many experts as are to be chosen.
constexpr instance_fit fit_of_choice(const factor_rule& r, const extent_t* extent) {
  const tensor_factors &p = r.operand[0], &weight = r.result[0];
  const extent_t made = extent[weight.term[weight.rank - 1]], there = extent[p.term[p.rank - 1]];
  if (made <= there) return {};
  return {instance_fit::verdict::extent_differs, made, there};
}

/// p -> weight, index.
struct top_k {
  static constexpr const char *name = "top_k", *text = "*E->*K,*K";
  static constexpr int flops_per_point = 2;
  static constexpr unsigned index_results = 0b10, constant = 0b10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<top_k_gradient>("g0,x0,y1>0");
  }
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes&) {
    return fit_of_choice(r, extent);
  }
};

/// p, bias -> weight, index: chosen by p + bias, weights of p alone. Source: Wang et al., "Auxiliary-Loss-Free Load
/// Balancing Strategy for Mixture-of-Experts", 2024.
struct biased_top_k {
  static constexpr const char *name = "biased_top_k", *text = "*E,E->*K,*K";
  static constexpr int flops_per_point = 3, balanced_by = 1;
  static constexpr unsigned index_results = 0b10, constant = 0b10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<top_k_gradient>("g0,x0,y1>0");
  }
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes&) {
    return fit_of_choice(r, extent);
  }
};

/// Index -> how often each expert was chosen.
struct count_experts {
  static constexpr const char *name = "count_experts", *text = "*K->e";
  static constexpr int flops_per_point = 0;
  static constexpr unsigned indices = 0b1, statistics = 0b1;
  static constexpr char index_below = 'e';
  static constexpr bool not_differentiable = true, counts_choices = true;
};

/// bias, counts -> bias + real[0] · sign(mean - count).
struct update_bias {
  static constexpr const char *name = "update_bias", *text = "E,E->E";
  static constexpr int flops_per_point = 3;
  static constexpr bool not_differentiable = true;
};

}}}  // namespace hyperparallel::v0_2::ops
