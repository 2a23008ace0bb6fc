// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multi-head latent attention: scores are the sum of two products, of which the rotary part has one key for all
// heads. Attributes and costs as attention, with D and the rotary width R in each product of scores.
// Source: DeepSeek-V2, 2024, section 2.1.

#include <hyperparallel/operators/ops/attention.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// do, q, q rotary, k, k rotary, v, o, log-sum-exp -> dq, dq rotary, dk, dk rotary, dv.
struct latent_attention_gradient {
  static constexpr const char *name = "latent_attention_gradient",
                              *text = "bsnE,bsnD,bsnR,bTnD,bTR,bTnE,bsnE,bsn->bsnD,bsnR,bTnD,bTR,bTnE";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{1, 3, true};
  static constexpr int flops_per_point = 10;
  static constexpr extent_t flops(const local_work& w) {
    const extent_t d = w.width(1), r = w.width(2), e = w.width(5);
    return 2 * pairs_of_attention(w, d * r * e, 3) * (3 * (d + r) + 2 * e);
  }
};

/// q, q rotary, k, k rotary, v -> o, log-sum-exp.
struct latent_attention {
  static constexpr const char *name = "latent_attention", *text = "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{0, 2};
  static constexpr int flops_per_point = 4;
  static constexpr unsigned statistics = 0b10, without_gradient = 0b10;
  static constexpr extent_t flops(const local_work& w) {
    const extent_t d = w.width(0), r = w.width(1), e = w.width(4);
    return 2 * pairs_of_attention(w, d * r * e, 2) * (d + r + e);
  }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<latent_attention_gradient>("g0,x0,x1,x2,x3,x4,y0,y1>01234");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
