// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks of diffusion models: every position sees every other.
//
//   operator()(m, x)               masked diffusion: a pre-norm transformer block without a causal mask
//   operator()(m, x, condition)    conditioned on a vector a sample, such as the embedded time, (batch, condition):
//                                  h = norm(x) ⊙ (1 + scale) + shift;  x + gate ⊙ layer(h), for both layers
//
// Shapes: x (batch, seq, hidden) -> the same. Scale, shift and gate are linear in silu(condition): parameters
// "{attention,feed_forward}_{scale,shift,gate}.weight" (condition, hidden), which begin at 0: training begins with blocks
// that are the identity. The attention is never causal, whatever its own setting.
// Sources: Nie et al., "Large language diffusion models", 2025; Peebles & Xie, "DiT", 2023 (adaLN-Zero).

#include <hyperparallel/layers/attention.hpp>
#include <hyperparallel/layers/feed_forward.hpp>
#include <hyperparallel/layers/transformer_block.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class FeedForward = swiglu_layer>
struct diffusion_block {
  attention_layer attention{};
  FeedForward feed_forward{};
  double epsilon = 1e-6;

  constexpr int operator()(model_builder& m, int x) const {
    return transformer_block<attention_layer, FeedForward>{bidirectional(), feed_forward, epsilon}(m, x);
  }

  constexpr int operator()(model_builder& m, int x, int condition) const {
    const token_dims d = detail::token_dims_of(m, "diffusion_block", x);
    if (!d.valid || !has_rank(m, "diffusion_block", condition, 2)) return -1;
    const int active = m.apply<ops::silu>("condition", {condition});
    x = conditioned_branch(m, d, {"attention_norm", "attention_scale", "attention_shift", "attention_gate"},
                           {"attention_scaled", "attention_shifted", "attention_gated", "attention_residual"}, x,
                           active, bidirectional());
    return conditioned_branch(
        m, d, {"feed_forward_norm", "feed_forward_scale", "feed_forward_shift", "feed_forward_gate"},
        {"feed_forward_scaled", "feed_forward_shifted", "feed_forward_gated", "feed_forward_residual"}, x, active,
        feed_forward);
  }

 private:
  struct branch_parameters {
    const char *norm, *scale, *shift, *gate;
  };
  struct branch_results {
    const char *scaled, *shifted, *gated, *sum;
  };

  constexpr attention_layer bidirectional() const {
    attention_layer layer = attention;
    layer.causal = false;
    return layer;
  }

  /// A linear map of the condition, the same at every position.
  static constexpr int at_every_position(model_builder& m, const token_dims& d, const char* name, int active) {
    const int vector = linear_layer{.name = name, .output = {d.hidden}, .first = first_value::zeros}(m, active);
    return m.scope(name, [&] {
      return m.apply<ops::broadcast>("repeated", {vector},
                                     {.text = "bh->bsh", .created = {{'s', d.sequence}}, .created_count = 1});
    });
  }

  template <class Layer>
  constexpr int conditioned_branch(model_builder& m, const token_dims& d, const branch_parameters& parameter,
                                   const branch_results& result, int x, int active, const Layer& layer) const {
    const int norm = rms_norm_layer{parameter.norm, epsilon}(m, x);
    const int scaled = m.apply<ops::multiply>(result.scaled, {norm, at_every_position(m, d, parameter.scale, active)});
    const int shifted =
        m.apply<ops::sum>(result.shifted, {norm, scaled, at_every_position(m, d, parameter.shift, active)});
    const int gated =
        m.apply<ops::multiply>(result.gated, {layer(m, shifted), at_every_position(m, d, parameter.gate, active)});
    return m.sum(result.sum, x, gated);
  }
};

}}  // namespace hyperparallel::v0_2
