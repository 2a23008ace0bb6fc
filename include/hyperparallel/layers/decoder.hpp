// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder-only language model as one value: pre-norm blocks of attention and a feed-forward layer, some with experts.
//
//   embedding -> layers x (norm, attention, norm, feed-forward or experts) -> norm -> logits
//
//   constexpr hp::decoder llama3{.vocabulary = 128256, .hidden = 4096, .layers = 32,
//                                .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
//                                .feed_forward = {.width = 14336}};
//   llama3(m, tokens, labels);                    adds the operators to a graph under construction
//   hp::parameters_of(llama3).total();            decoder_parameters.hpp: the same from the sizes alone
//
// The families llama, mistral, qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe, deepseek_v2, deepseek_v3, kimi_k2 and
// glm4_moe, phi3 and minicpm are values of this type; io/model_config.hpp reads them from their config.json. Equal layers behind each other
// are one repeated segment: "layers", in a decoder with experts "dense_layers" where they have none; of several segments
// of one name the second is "layers_1". Modules of multi-token prediction are counted and not built.

#include <hyperparallel/layers/embedding.hpp>
#include <hyperparallel/layers/language_head.hpp>
#include <hyperparallel/layers/latent_attention.hpp>
#include <hyperparallel/layers/mixture_of_experts.hpp>
#include <hyperparallel/layers/transformer_block.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Which layers have experts: those from `first` on whose number is `phase` modulo `period`, but for `except`.
/// Invariant: period ≥ 1, 0 ≤ phase < period.
struct expert_layers {
  extent_t first = 0;
  extent_t period = 1;
  extent_t phase = 0;
  static_vector<extent_t, 64> except{};

  constexpr bool has(extent_t layer) const {
    if (layer < first || layer % period != phase) return false;
    for (const extent_t e : except)
      if (e == layer) return false;
    return true;
  }
  friend constexpr bool operator==(const expert_layers&, const expert_layers&) = default;
};

/// Invariants: sizes are positive, key heads divide query heads, top_k ≤ experts.
struct decoder {
  extent_t vocabulary = 1;
  extent_t hidden = 1;
  extent_t layers = 1;
  attention_layer attention{};                ///< where `has_latents` is not set
  latent_attention_layer latent_attention{};  ///< where it is
  bool has_latents = false;
  extent_t first_windowed = 0;   ///< layers from this one on have the window of `attention`, those before it none
  swiglu_layer feed_forward{};   ///< of layers without experts
  mixture_of_experts experts{};  ///< of the layers `sparse`
  bool has_experts = false;
  expert_layers sparse{};
  bool tied = false;                ///< the head reads the table of the embedding
  double epsilon = 1e-6;            ///< of the norms of blocks and head
  double embedding_scale = 1.0;     ///< of what the embedding gives
  double branch_scale = 1.0;        ///< of what attention and feed-forward layers add to the residual stream
  double hidden_scale = 1.0;        ///< of what the logits are made of
  extent_t prediction_modules = 0;  ///< of multi-token prediction, behind the layers

  /// Whether layer `layer` has experts; modules of multi-token prediction are numbered behind the layers.
  constexpr bool is_sparse(extent_t layer) const { return has_experts && sparse.has(layer); }
  constexpr bool is_windowed(extent_t layer) const {
    return !has_latents && attention.window > 0 && layer >= first_windowed;
  }

  /// Makes the graph's loss of `tokens` and `labels` (batch, seq) and returns the cross entropy. A size that cannot be is
  /// in the graph's status. Law: the elements of the graph's parameters and router biases are `parameters_of(*this)`.
  constexpr int operator()(model_builder& m, int tokens, int labels) const {
    int x = token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, tokens);
    x = scaled(m, "embedding_scaled", x, embedding_scale);
    int dense_runs = 0, other_runs = 0;
    for (extent_t begin = 0, end = 0; begin < layers; begin = end) {
      const bool with_experts = is_sparse(begin), windowed = is_windowed(begin);
      while (end < layers && is_sparse(end) == with_experts && is_windowed(end) == windowed) ++end;
      const bool named_dense = has_experts && !with_experts;
      const run_name name(named_dense ? "dense_layers" : "layers", named_dense ? dense_runs++ : other_runs++);
      x = m.repeat(name.text, end - begin, x,
                   [&](model_builder& b, int y) { return block(b, y, with_experts, windowed); });
    }
    return language_head{.vocabulary = vocabulary,
                         .epsilon = epsilon,
                         .hidden_scale = hidden_scale,
                         .tied_to = tied ? "embedding" : nullptr}(m, x, labels);
  }

 private:
  /// The name of run number `run`, "layers" or "layers_1".
  struct run_name {
    char text[32] = {};
    constexpr run_name(const char* name, int run) {
      int size = 0;
      while (*name != '\0') text[size++] = *name++;
      if (run == 0) return;
      text[size++] = '_';
      int digit = 1;
      while (run / digit >= 10) digit *= 10;
      for (; digit > 0; digit /= 10) text[size++] = static_cast<char>('0' + run / digit % 10);
    }
  };

  constexpr int block(model_builder& m, int x, bool with_experts, bool windowed) const {
    attention_layer grouped = attention;
    if (!windowed) grouped.window = 0;
    const auto attend = [&](model_builder& b, int y) {
      return scaled(b, "attention_scaled", has_latents ? latent_attention(b, y) : grouped(b, y), branch_scale);
    };
    const auto feed = [&](model_builder& b, int y) {
      return scaled(b, "feed_forward_scaled", with_experts ? experts(b, y) : feed_forward(b, y), branch_scale);
    };
    x = residual_branch(m, "attention_norm", "attention_residual", epsilon, x, attend);
    return residual_branch(m, "feed_forward_norm", "feed_forward_residual", epsilon, x, feed);
  }
};

}}  // namespace hyperparallel::v0_2
