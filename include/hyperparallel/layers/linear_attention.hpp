// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear attention as layers of models: gated delta nets and Mamba-2, behind short convolutions, with a gated norm.
//
//   query, key       short convolution of x · query, x · key      (batch, seq, state_heads, state_key)
//   value            short convolution of x · value               (batch, seq, state_heads, state_group, state_value)
//   steps            softplus(x · decay + bias)                   (batch, seq, state_heads, state_group)
//   decay            e^decay_log · steps                          as steps
//
//   gated_delta      the delta rule, of strengths sigmoid(x · strength)       y = output · (norm(mixed) · silu(x · gate))
//   state_space      of strengths `steps`; skip · value is added to it        y = output · norm(mixed · silu(x · gate))
//
// `value_heads / key_heads` heads of values share queries and keys, as Mamba-2's heads do B and C of a group; its norm is over the heads of a
// group, that of a delta net over each head. Inside "name.state" the sequence is whole: where it is sharded, strategies shard heads there.
// Parameters ".weight" of "name.query", ".key", ".value", ".gate", ".decay", ".norm", ".output" and of a delta net ".strength", "name.decay.bias",
// ".state.decay_log", "name.state.query.taps" (key and value likewise); of Mamba-2 ".state.query.bias" (…) and ".state.skip".
// Sources: Yang, Kautz and Hatamizadeh, "Gated Delta Networks", 2412.06464; Dao & Gu, "Transformers are SSMs", 2405.21060; sizes as
// Qwen3-Next and Nemotron-H, 2504.03624, have them.

#include <hyperparallel/layers/attention.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class linear_form : unsigned char { gated_delta, state_space };

struct linear_attention_layer {
  const char* name = "linear_attention";
  extent_t key_heads = 1;    ///< Mamba-2: groups
  extent_t value_heads = 1;  ///< a multiple of the key heads
  extent_t key_dim = 1;      ///< of a head; Mamba-2: the state
  extent_t value_dim = 1;
  extent_t taps = 4;  ///< of the convolutions
  linear_form form = linear_form::gated_delta;
  double epsilon = 1e-6;

  constexpr bool is_delta() const { return form == linear_form::gated_delta; }
  /// Widths of all heads.
  constexpr extent_t keys() const { return key_heads * key_dim; }
  constexpr extent_t values() const { return value_heads * value_dim; }

  constexpr int operator()(model_builder& m, int x) const {
    const token_dims d = detail::token_dims_of(m, name, x);
    if (!d.valid) return -1;
    if (key_heads < 1 || value_heads < 1 || value_heads % key_heads != 0) {
      m.graph.fail({graph_code::heads_do_not_divide, m.scoped(name), -1, 0, 0, value_heads, key_heads});
      return -1;
    }
    const int heads = m.dim("state_heads", key_heads), group = m.dim("state_group", value_heads / key_heads);
    const number_list keys_of{heads, m.dim("state_key", key_dim)}, of_heads{heads, group},
        values_of{heads, group, m.dim("state_value", value_dim)};
    return m.scope(name, [&] {
      const int query = linear_layer{"query", keys_of}(m, x);
      const int key = linear_layer{"key", keys_of}(m, x);
      const int value = linear_layer{"value", values_of}(m, x);
      const int gate = linear_layer{"gate", values_of}(m, x);
      const int strength = is_delta() ? linear_layer{"strength", of_heads}(m, x) : -1;
      const int decay = linear_layer{.name = "decay", .output = of_heads, .bias = true}(m, x);
      const int mixed = m.scope("state", [&] {
        const int rates = m.apply<ops::exp>("rates", {m.parameter("decay_log", of_heads)});
        const int steps = m.apply<ops::softplus>("steps", {decay});
        const int queries = convolved(m, "query", query, keys_of), all_keys = convolved(m, "key", key, keys_of),
                  all_values = convolved(m, "value", value, values_of);
        const int decays = m.contract("decay", "*ab,ab->*ab", steps, rates);
        const int by = is_delta() ? m.apply<ops::sigmoid>("strength", {strength}) : steps;
        const operator_options how{
            .integer = {is_delta() ? 1 : 0},
            .real = {is_delta() ? detail::attention_scale(key_dim) : 1.0, is_delta() ? epsilon : 0.0}};
        const int seen = m.apply<ops::linear_attention>("attend", {queries, all_keys, all_values, decays, by}, how);
        if (is_delta()) return seen;
        const int skip = m.parameter("skip", of_heads);
        return m.sum("mixed", seen, m.contract("skipped", "*abc,ab->*abc", all_values, skip));
      });
      const int out = is_delta() ? m.apply<ops::swiglu>("gated", {gate, rms_norm_layer{"norm", epsilon}(m, mixed)})
                                 : normed_in_groups(m, m.apply<ops::swiglu>("gated", {gate, mixed}), values_of);
      return linear_layer{.name = "output", .output = {d.hidden}, .contracted = 3}(m, out);
    });
  }

 private:
  constexpr int convolved(model_builder& m, const char* part, int from, const number_list& channels) const {
    number_list taps_of = channels;
    taps_of.item[taps_of.count++] = m.dim("taps", taps);
    const int weight = m.scope(part, [&] { return m.parameter("taps", taps_of); });
    if (is_delta()) return m.apply<ops::short_convolution>(part, {from, weight});
    const int bias = m.scope(part, [&] { return m.parameter("bias", channels); });
    return m.apply<ops::biased_short_convolution>(part, {from, weight, bias});
  }
  constexpr int normed_in_groups(model_builder& m, int y, const number_list& values_of) const {
    const int weight = m.scope("norm", [&] { return m.parameter("weight", values_of); });
    return m.apply<ops::rms_norm>("norm", {y, weight}, {.text = "*aBC,aBC->*aBC", .integer = {1}, .real = {epsilon}});
  }
};

}}  // namespace hyperparallel::v0_2
