// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pre-norm transformer blocks, one layer behind the other or both side by side.
//
//   transformer_block    x + attention(norm(x)), then that + feed_forward(norm(that))
//   parallel_block       x + attention(norm(x)) + feed_forward(norm(x)), of one norm or of two
//
//   transformer_block<attention_layer, mixture_of_experts>{.attention = {…}, .feed_forward = {…}}
//
// Side by side, what both layers leave as pending sums under tensor parallelism is added before it is reduced: one
// all-reduce a block in forward. A bias behind a layer (its `output_bias`, its `bias`) is added to what is reduced, so a
// layer with one is reduced by itself.
// Shapes: x (batch, seq, hidden) -> the same, so a block may be repeated. Parts are any layers of one operand that keep
// the shape. Parameters "attention_norm.weight", "feed_forward_norm.weight" and those of the parts.
// One norm of a parallel block is "norm.weight".
// Sources: Xiong et al., "On layer normalization in the transformer architecture", 2020; Touvron et al., "LLaMA", 2023;
// Wang & Komatsuzaki, "GPT-J", 2021; Chowdhery et al., "PaLM", 2022; Almazrouei et al., "Falcon", 2023.

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

/// Both layers read the block's input: through one norm (GPT-J, PaLM, Falcon 7B), or each through its own (GPT-NeoX,
/// Falcon 40B). The result is the tensor "residual".
template <class Attention, class FeedForward, class Norm = rms_norm_layer>
struct parallel_block {
  Attention attention{};
  FeedForward feed_forward{};
  double epsilon = 1e-6;
  bool two_norms = false;

  constexpr int operator()(model_builder& m, int x) const {
    const int attention_input = Norm{two_norms ? "attention_norm" : "norm", epsilon}(m, x);
    const int other_input = two_norms ? Norm{"feed_forward_norm", epsilon}(m, x) : attention_input;
    const int attended = attention(m, attention_input);
    return m.apply<ops::sum>("residual", {x, attended, feed_forward(m, other_input)});
  }
};

}}  // namespace hyperparallel::v0_2
