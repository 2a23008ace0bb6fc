// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear attention with a state that decays: gated delta rule and state space duality. A head has a state S (key width × value
// width), 0 before the first token; of each token
//
//   S ← exp(−decay) · S        u = strength · (v − Sᵀk), or without the delta rule strength · v
//   S ← S + k uᵀ               o = scale · Sᵀq
//
// integer[0] = 1: the delta rule; real[0] = scale; real[1]: unless 0, queries and keys are divided by the root of their sum of squares
// and it. Decays are at least 0. Heads of values share queries and keys in groups. The sequence is whole, batch and heads may be sharded.
//
// FLOPs: as devices compute it, in chunks of C tokens as products of matrices. Of a token and head with widths D and E: 4DE for what is added to
// the state and read of it and 2CE for tokens of its own chunk (C = 128); with the delta rule 6DE, and 6CD + 4CE for scores, their
// inverse and what it gives (C = 64). Gradients compute states again and are twice a forward. Published kernels are about as fast as these
// operations are on vector cores, so they are counted on these: of 64 heads of 128 x 128 and 8192 tokens 2.2 ms on an H20, where Triton's
// take 3.0 and CUDA's 1.6 (of Kimi delta attention, whose decays have a width of their own), and backward 3.3 times as long.
// Sources: Yang et al., "Gated Delta Networks", 2412.06464; Dao & Gu, "Transformers are SSMs", 2405.21060 (queries are C, keys B, values x,
// strengths steps); times: MoonshotAI/FlashKDA, BENCHMARK_H20.md and BENCHMARK_TRAIN_RTX5090.md.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Widths of a head, and tokens of all heads, where operand `keys` has the queries' dims and the next one the values'.
struct state_sizes {
  extent_t keys = 1, values = 1, rows = 1;
  constexpr state_sizes(const local_work& w, int key) {
    const tensor_factors &k = w.rule->operand[key], &v = w.rule->operand[key + 1];
    keys = w.extent[k.term[k.rank - 1]];
    values = w.extent[v.term[v.rank - 1]];
    rows = w.points / keys / values;
  }
};

constexpr extent_t flops_of_states(const local_work& w, int key) {
  const state_sizes s(w, key);
  return s.rows * (w.attribute[0] != 0 ? 6 * s.keys * s.values + 64 * (6 * s.keys + 4 * s.values)
                                       : 4 * s.keys * s.values + 2 * 128 * s.values);
}

/// Bytes that a forward in chunks writes and reads again: f32 states of each chunk, once as its own and once with those before it, and f32
/// scores of its tokens with each other. With the delta rule chunks have 64 tokens, scores are of each head and are inverted, and the rows that
/// solve the triangular system are three more; else 128, and heads of a group share scores.
constexpr extent_t scratch_of_states(const local_work& w, int key) {
  const state_sizes s(w, key);
  if (w.attribute[0] != 0) return 8 * (w.points / 64) + 8 * 64 * s.rows + 2 * (s.keys + 2 * s.values) * s.rows;
  const tensor_factors& k = w.rule->operand[key];
  extent_t groups = 1;
  for (int d = 0; d + 1 < k.rank; ++d) groups *= w.extent[k.term[d]];
  return 8 * (w.points / 128) + 4 * 128 * groups;
}

/// do, q, k, v, decay, strength -> dq, dk, dv, d decay, d strength.
struct linear_attention_gradient {
  static constexpr const char *name = "linear_attention_gradient",
                              *text = "bSmgE,bSmD,bSmD,bSmgE,bSmg,bSmg->bSmD,bSmD,bSmgE,bSmg,bSmg";
  static constexpr int flops_per_point = 18;
  static constexpr extent_t flops(const local_work& w) { return 3 * flops_of_states(w, 2); }
  static constexpr extent_t scratch_bytes(const local_work& w) { return 3 * scratch_of_states(w, 2); }
};

/// q, k, v, decay, strength -> o.
struct linear_attention {
  static constexpr const char *name = "linear_attention", *text = "bSmD,bSmD,bSmgE,bSmg,bSmg->bSmgE";
  static constexpr int flops_per_point = 6;
  static constexpr extent_t flops(const local_work& w) { return flops_of_states(w, 1); }
  static constexpr extent_t scratch_bytes(const local_work& w) { return scratch_of_states(w, 1); }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<linear_attention_gradient>("g0,x0,x1,x2,x3,x4>01234");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
