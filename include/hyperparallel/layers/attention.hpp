// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax attention with grouped queries: `query_heads / key_heads` query heads share a key and a value head.
//
//   query   (batch, seq, key_heads, query_group, head_dim)      key, value   (batch, seq, key_heads, head_dim)
//   y = output · softmax(query · key / sqrt(head_dim)) · value
//
// As many key as query heads are multi-head attention, one key head is multi-query attention. Rotary embedding where
// `rope_base` is not 0; `query_key_norm` normalises each query and key head before it (Qwen3); where `norms_all_heads`, the
// model has one norm over all heads of a projection (MiniMax-M2), which is counted so and built head by head.
// `query_key_value_bias` (Qwen2) and `output_bias` (with the former GPT-2) add biases to the projections.
// `sinks` adds a score of each head, with a value of 0, to those of the keys (gpt-oss); `score_cap` bounds scores by a tanh
// (Gemma 2); `output_gate` multiplies what each head gives by a sigmoid of a projection (Qwen3-Next).
// Parameters "name.query.weight", ".key.weight", ".value.weight", ".output.weight", each with ".bias" beside it where it
// has one, ".query_norm.weight", ".key_norm.weight", ".sinks", ".gate.weight". Sources: Vaswani et al., 2017; Ainslie et al., "GQA", 2023.

#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/layers/rms_norm.hpp>
#include <hyperparallel/layers/rope.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// 1 / sqrt(width): scores of independent unit vectors keep unit variance. Newton's iteration from above.
constexpr double attention_scale(extent_t width) {
  const double square = width > 0 ? static_cast<double>(width) : 1.0;
  double root = square < 1.0 ? 1.0 : square;
  for (double next = 0.5 * (root + square / root); next < root; next = 0.5 * (root + square / root)) root = next;
  return 1.0 / root;
}

}  // namespace detail

struct attention_layer {
  const char* name = "attention";
  extent_t query_heads = 1;
  extent_t key_heads = 1;  ///< divides the query heads
  extent_t head_dim = 1;
  bool causal = true;
  extent_t window = 0;     ///< sliding window: a query sees keys less than this far away; 0: all
  double rope_base = 0.0;  ///< 0: no rotation
  bool query_key_norm = false;
  bool norms_all_heads = false;  ///< of a norm of queries and keys
  double epsilon = 1e-6;
  bool query_key_value_bias = false;
  bool output_bias = false;
  double scale = 0.0;      ///< of scores; 0: 1 / sqrt(head_dim)
  double score_cap = 0.0;  ///< a scaled score s counts as cap · tanh(s / cap); 0: as it is
  bool sinks = false;
  bool output_gate = false;

  constexpr int operator()(model_builder& m, int x) const { return attend(m, x, x); }

  /// Queries of `x`, keys and values of `context`.
  constexpr int attend(model_builder& m, int x, int context) const {
    const token_dims d = detail::token_dims_of(m, name, x);
    if (!d.valid || !detail::token_dims_of(m, name, context).valid) return -1;
    if (key_heads < 1 || query_heads < 1 || query_heads % key_heads != 0) {
      m.graph.fail({graph_code::heads_do_not_divide, m.scoped(name), -1, 0, 0, query_heads, key_heads});
      return -1;
    }
    const int heads = m.dim("key_heads", key_heads), group = m.dim("query_group", query_heads / key_heads);
    const int width = m.dim("head_dim", head_dim);
    return m.scope(name, [&] {
      const auto project = [&](const char* part, int from, const number_list& to) {
        return linear_layer{.name = part, .output = to, .bias = query_key_value_bias}(m, from);
      };
      int query = project("query", x, {heads, group, width});
      int key = project("key", context, {heads, width});
      const int value = project("value", context, {heads, width});
      if (query_key_norm) {
        query = rms_norm_layer{"query_norm", epsilon}(m, query);
        key = rms_norm_layer{"key_norm", epsilon}(m, key);
      }
      if (rope_base > 0.0) {
        query = rotary_layer{"query_rotated", rope_base}(m, query);
        key = rotary_layer{"key_rotated", rope_base}(m, key);
      }
      const operator_options how{.integer = {causal ? 1 : 0, window},
                                 .real = {scale > 0.0 ? scale : detail::attention_scale(head_dim), score_cap}};
      const int sink = sinks ? m.parameter("sinks", {heads, group}) : -1;
      int mixed = sinks ? m.apply<ops::attention_with_sinks>("attend", {query, key, value, sink}, how)
                        : m.apply<ops::attention>("attend", {query, key, value}, how);
      if (output_gate) {
        const int open = m.apply<ops::sigmoid>("gate_open", {linear_layer{"gate", {heads, group, width}}(m, x)});
        mixed = m.apply<ops::multiply>("gated", {mixed, open});
      }
      return linear_layer{.name = "output", .output = {d.hidden}, .contracted = 3, .bias = output_bias}(m, mixed);
    });
  }
};

}}  // namespace hyperparallel::v0_2
