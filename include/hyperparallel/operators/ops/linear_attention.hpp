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
// FLOPs: of each element of the state and token a product for the decay, two for the sum and two for the output, with the delta rule two
// more for what the state has of the key, and one for the sum with it; gradients compute states again, and are twice a forward. Devices take
// tokens in chunks, as products of matrices, whose states and scores lie in memory between kernels; published kernels are as fast as
// these operations are on vector cores, so they are counted on these: of 64 heads of 128 x 128 and 8192 tokens on an H20 1.6 ms, where
// Triton's take 3.0 and CUDA's 1.6 (of Kimi delta attention, whose decays have a width), and backward 3.3 times as long.
// Sources: Yang et al., "Gated Delta Networks", 2412.06464; Dao & Gu, "Transformers are SSMs", 2405.21060 (queries are C, keys B, values x,
// strengths steps); times: MoonshotAI/FlashKDA, BENCHMARK_H20.md and BENCHMARK_TRAIN_RTX5090.md.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Operations of a token on an element of the state.
constexpr extent_t flops_of_state(const local_work& w) { return w.attribute[0] != 0 ? 8 : 5; }

/// Bytes that a forward in chunks writes and reads again: f32 states of each chunk, once as its own and once with those before it, and f32
/// scores of its tokens with each other. With the delta rule chunks have 64 tokens, scores are of each head and are inverted, and the rows that
/// solve the triangular system are three more; else 128, and heads of a group share scores. Operand `keys` has the queries' dims.
constexpr extent_t scratch_of_states(const local_work& w, int keys) {
  const tensor_factors &key = w.rule->operand[keys], &value = w.rule->operand[keys + 1];
  const extent_t key_width = w.extent[key.term[key.rank - 1]], value_width = w.extent[value.term[value.rank - 1]];
  const extent_t rows = w.points / key_width / value_width;  // of all heads
  if (w.attribute[0] != 0) return 8 * (w.points / 64) + 8 * 64 * rows + 2 * (key_width + 2 * value_width) * rows;
  extent_t groups = 1;
  for (int d = 0; d + 1 < key.rank; ++d) groups *= w.extent[key.term[d]];
  return 8 * (w.points / 128) + 4 * 128 * groups;
}

/// do, q, k, v, decay, strength -> dq, dk, dv, d decay, d strength.
struct linear_attention_gradient {
  static constexpr const char *name = "linear_attention_gradient",
                              *text = "bSmgE,bSmD,bSmD,bSmgE,bSmg,bSmg->bSmD,bSmD,bSmgE,bSmg,bSmg";
  static constexpr int flops_per_point = 24;
  static constexpr extent_t flops(const local_work& w) { return 3 * flops_of_state(w) * w.points; }
  static constexpr extent_t scratch_bytes(const local_work& w) { return 3 * scratch_of_states(w, 2); }
};

/// q, k, v, decay, strength -> o.
struct linear_attention {
  static constexpr const char *name = "linear_attention", *text = "bSmD,bSmD,bSmgE,bSmg,bSmg->bSmgE";
  static constexpr int flops_per_point = 8;
  static constexpr extent_t flops(const local_work& w) { return flops_of_state(w) * w.points; }
  static constexpr extent_t scratch_bytes(const local_work& w) { return scratch_of_states(w, 1); }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<linear_attention_gradient>("g0,x0,x1,x2,x3,x4>01234");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
