// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pre-norm transformer block: x + attention(norm(x)), then that + feed_forward(norm(that)).
//
//   transformer_block<attention_layer, mixture_of_experts>{.attention = {…}, .feed_forward = {…}}
//
// Shapes: x (batch, seq, hidden) -> the same, so a block may be repeated. Parts are any layers of one operand that keep
// the shape. Parameters "attention_norm.weight", "feed_forward_norm.weight" and those of the parts.
// Sources: Xiong et al., "On layer normalization in the transformer architecture", 2020; Touvron et al., "LLaMA", 2023.

#include <hyperparallel/layers/rms_norm.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// x + layer(m, norm(x)); the norm and the sum have names of their own.
template <class Norm = rms_norm_layer, class Layer>
constexpr int residual_branch(model_builder& m, const char* norm, const char* sum, double epsilon, int x,
                              const Layer& layer) {
  const int branch = layer(m, Norm{norm, epsilon}(m, x));
  return m.sum(sum, x, branch);
}

/// `Norm` is made of a name and an epsilon.
template <class Attention, class FeedForward, class Norm = rms_norm_layer>
struct transformer_block {
  Attention attention{};
  FeedForward feed_forward{};
  double epsilon = 1e-6;

  constexpr int operator()(model_builder& m, int x) const {
    x = residual_branch<Norm>(m, "attention_norm", "attention_residual", epsilon, x, attention);
    return residual_branch<Norm>(m, "feed_forward_norm", "feed_forward_residual", epsilon, x, feed_forward);
  }
};

}}  // namespace hyperparallel::v0_2
