// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scaled dot product attention with groups of queries per key head. integer[0] = causal: a query sees keys at its own
// position and before; integer[1] = window: unless 0, only keys less than this far away; real[0] = scale; real[1] = cap:
// unless 0, a scaled score s counts as cap · tanh(s / cap), whose operations are not in the cost.
// The keys' sequence is whole; a ring (attention_block.hpp) shards it.
//
// FLOPs: 2 · pairs · (D + E) for pairs of a query and a key in every head; the gradient computes the scores again:
// 2 · pairs · (3D + 2E). Causal: half of the pairs, as devices have on average.
// Sources: Dao, FlashAttention-2, 2023, section 4; Gemma 2, 2024, for the cap; the gpt-oss model card, 2025, for sinks.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// The pairs of queries and keys of the device's box, whose other dims have `widths` points. Operand `keys` has the keys
/// as second dim. A window counts in full for every query. Of a block of a ring that has travelled k places of n: (n - k)
/// / n of the pairs.
constexpr extent_t pairs_of_attention(const local_work& w, extent_t widths, int keys) {
  const extent_t pairs = w.points / widths, window = w.attribute[1];
  const bool causal = w.attribute[0] != 0;
  const int all = w.rule->operand[keys].term[1];
  const extent_t seen = causal ? window : 2 * window - 1;
  if (window > 0 && seen < w.whole[all]) return pairs / w.whole[all] * seen;
  if (!causal) return pairs;
  if (w.turns > 0 && w.ring_size > 1) return pairs / w.ring_size * (w.ring_size - w.turns % w.ring_size);
  return pairs / 2;
}

struct attention_block;
struct attention_merge;
struct attention_block_gradient;

/// do, q, k, v, o, log-sum-exp -> dq, dk, dv.
struct attention_gradient {
  using ring_block = attention_block_gradient;
  static constexpr const char *name = "attention_gradient", *text = "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{1, 2, true};
  static constexpr int flops_per_point = 10;
  static constexpr extent_t flops(const local_work& w) {
    const extent_t d = w.width(1), e = w.width(3);
    return 2 * pairs_of_attention(w, d * e, 2) * (3 * d + 2 * e);
  }
};

/// q, k, v -> o, log-sum-exp.
struct attention {
  using ring_block = attention_block;
  using ring_merge = attention_merge;
  static constexpr const char *name = "attention", *text = "bsmgD,bTmD,bTmE->bsmgE,bsmg";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{0, 1};
  static constexpr int flops_per_point = 4;
  static constexpr unsigned statistics = 0b10, without_gradient = 0b10;
  static constexpr extent_t flops(const local_work& w) {
    const extent_t d = w.width(0), e = w.width(2);
    return 2 * pairs_of_attention(w, d * e, 1) * (d + e);
  }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<attention_gradient>("g0,x0,x1,x2,y0,y1>012");
  }
};

/// do, sink, o, log-sum-exp -> d sink: what the sink takes of each row, times -do · o.
struct attention_sink_gradient {
  static constexpr const char *name = "attention_sink_gradient", *text = "bsmgE,mg,bsmgE,bsmg->mg";
  static constexpr int flops_per_point = 2;
  /// Behind attention its loops are those of attention, keys included.
  static constexpr extent_t flops(const local_work& w) {
    extent_t elements = 1;
    const tensor_factors& out = w.rule->operand[2];
    for (int d = 0; d < out.rank; ++d) elements *= w.extent[out.term[d]];
    return flops_per_point * elements;
  }
};

/// q, k, v, sink -> o, log-sum-exp: a score of each head that every query has beside those of the keys, with a value of 0.
/// Its part is in the log-sum-exp, so the gradient of the others is that of attention. Keys are not sharded in a ring.
struct attention_with_sinks {
  static constexpr const char *name = "attention_with_sinks", *text = "bsmgD,bTmD,bTmE,mg->bsmgE,bsmg";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr attention_operands attends{0, 1};
  static constexpr int flops_per_point = 4;
  static constexpr unsigned statistics = 0b10, without_gradient = 0b10;
  static constexpr extent_t flops(const local_work& w) { return attention::flops(w); }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<attention_gradient>("g0,x0,x1,x2,y0,y1>012");
    b.template backward<attention_sink_gradient>("g0,x3,y0,y1>3");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
