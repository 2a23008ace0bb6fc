// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gated delta net: linear attention whose state decays and is corrected, behind short convolutions, with a gated norm.
//
//   query, key       short convolution of x · query, x · key      (batch, seq, state_heads, state_key)
//   value            short convolution of x · value               (batch, seq, state_heads, state_group, state_value)
//   strength         sigmoid(x · strength)                        (batch, seq, state_heads, state_group)
//   decay            e^decay_log · softplus(x · decay + bias)     as strength
//   y = output · (norm(linear attention) · silu(x · gate))
//
// `value_heads / key_heads` heads of values share queries and keys. Inside "name.state" the sequence is whole: where it is sharded, strategies
// shard heads there. Parameters "name.query.weight", ".key.weight", ".value.weight", ".gate.weight", ".strength.weight", ".decay.weight",
// ".decay.bias", ".state.decay_log", ".state.query.taps", ".state.key.taps", ".state.value.taps", ".norm.weight", ".output.weight".
// Source: Yang, Kautz and Hatamizadeh, "Gated Delta Networks", 2412.06464; sizes as Qwen3-Next has them.

#include <hyperparallel/layers/attention.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct linear_attention_layer {
  const char* name = "linear_attention";
  extent_t key_heads = 1;
  extent_t value_heads = 1;  ///< a multiple of the key heads
  extent_t key_dim = 1;      ///< of a head
  extent_t value_dim = 1;
  extent_t taps = 4;  ///< of the convolutions
  double epsilon = 1e-6;

  constexpr int operator()(model_builder& m, int x) const {
    const token_dims d = token_dims_of(m, name, x);
    if (!d.valid) return -1;
    if (key_heads < 1 || value_heads < 1 || value_heads % key_heads != 0) {
      m.graph.fail({graph_code::heads_do_not_divide, m.scoped(name), -1, 0, 0, value_heads, key_heads});
      return -1;
    }
    const int heads = m.dim("state_heads", key_heads), group = m.dim("state_group", value_heads / key_heads);
    const int key_width = m.dim("state_key", key_dim), value_width = m.dim("state_value", value_dim);
    const int tap = m.dim("taps", taps);
    return m.scope(name, [&] {
      const int query = linear_layer{"query", {heads, key_width}}(m, x);
      const int key = linear_layer{"key", {heads, key_width}}(m, x);
      const int value = linear_layer{"value", {heads, group, value_width}}(m, x);
      const int gate = linear_layer{"gate", {heads, group, value_width}}(m, x);
      const int strength = linear_layer{"strength", {heads, group}}(m, x);
      const int decay = linear_layer{.name = "decay", .output = {heads, group}, .bias = true}(m, x);
      const int mixed = m.scope("state", [&] {
        const auto convolved = [&](const char* part, int from, const number_list& taps_of) {
          const int weight = m.scope(part, [&] { return m.parameter("taps", taps_of); });
          return m.apply<ops::short_convolution>(part, {from, weight});
        };
        const int rates = m.apply<ops::exp>("rates", {m.parameter("decay_log", {heads, group})});
        const int steps = m.apply<ops::softplus>("steps", {decay});
        return m.apply<ops::linear_attention>(
            "attend",
            {convolved("query", query, {heads, key_width, tap}), convolved("key", key, {heads, key_width, tap}),
             convolved("value", value, {heads, group, value_width, tap}),
             m.contract("decay", "*ab,ab->*ab", steps, rates), m.apply<ops::sigmoid>("strength", {strength})},
            {.integer = {1}, .real = {attention_scale(key_dim), epsilon}});
      });
      const int normed = rms_norm_layer{"norm", epsilon}(m, mixed);
      const int gated = m.apply<ops::swiglu>("gated", {gate, normed});
      return linear_layer{.name = "output", .output = {d.hidden}, .contracted = 3}(m, gated);
    });
  }
};

}}  // namespace hyperparallel::v0_2
