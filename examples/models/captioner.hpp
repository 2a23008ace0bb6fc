// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two encoders and a decoder: an image's patches and a prompt are encoded side by side, with nothing in common but the
// batch, and a text decoder looks at both.
//
// Inputs: "image" (batch, patches, patch_values), the values of each patch; "prompt_tokens" (batch, prompt); "tokens"
// and "labels" (batch, seq). The branches share no operator before the decoder, so they may run on different devices.
// Source of the shape: encoders of Dosovitskiy et al., "ViT", 2020, decoder of Vaswani et al., 2017, both pre-norm.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

struct captioner_sizes {
  hp::extent_t batch = 1, patches = 196, prompt = 32, sequence = 64;
  hp::extent_t image_layers = 12, prompt_layers = 6, decoder_layers = 6;  ///< at most 6 of the decoder
  hp::extent_t hidden = 768, vocabulary = 32000, patch_values = 16 * 16 * 3, heads = 12, width = 2048;
};

template <captioner_sizes S = captioner_sizes{}>
struct captioner {
  static constexpr hp::extent_t heads = S.heads, head_dim = S.hidden / S.heads, width = S.width;

  using block = hp::transformer_block<hp::attention_layer, hp::swiglu_layer>;
  static constexpr block image_block{
      .attention = {.query_heads = heads, .key_heads = heads, .head_dim = head_dim, .causal = false},
      .feed_forward = {.width = width}};
  static constexpr block prompt_block{.attention = {.query_heads = heads,
                                                    .key_heads = heads,
                                                    .head_dim = head_dim,
                                                    .causal = false,
                                                    .rope_base = 10000.0},
                                      .feed_forward = {.width = width}};

  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", S.batch), patches = m.dim("patches", S.patches),
              prompt = m.dim("prompt", S.prompt);
    const int sequence = m.dim("seq", S.sequence), model_width = m.dim("hidden", S.hidden);
    const int image = m.input("image", {batch, patches, m.dim("patch_values", S.patch_values)});
    const int prompt_tokens = m.index_input("prompt_tokens", {batch, prompt});
    const int tokens = m.index_input("tokens", {batch, sequence});
    const int labels = m.index_input("labels", {batch, sequence});

    int seen = hp::linear_layer{"patch_embedding", {model_width}}(m, image);
    seen = hp::position_embedding{"patch_position"}(m, seen);
    seen = m.repeat("image_layers", S.image_layers, seen, image_block);
    seen = hp::rms_norm_layer{"image_norm"}(m, seen);

    int asked = hp::token_embedding{"prompt_embedding", S.vocabulary, S.hidden}(m, prompt_tokens);
    asked = m.repeat("prompt_layers", S.prompt_layers, asked, prompt_block);
    asked = hp::rms_norm_layer{"prompt_norm"}(m, asked);

    int x = hp::token_embedding{"embedding", S.vocabulary, S.hidden}(m, tokens);
    // Written out: a repeated segment takes nothing with a gradient from outside but the tensor that it carries.
    for (hp::extent_t i = 0; i < S.decoder_layers; ++i)
      x = m.scope(decoder_layer_names[i], [&] { return decode(m, x, seen, asked); });
    hp::language_head{.vocabulary = S.vocabulary}(m, x, labels);
  }

 private:
  static constexpr const char* decoder_layer_names[] = {"decoder_layers.0", "decoder_layers.1", "decoder_layers.2",
                                                        "decoder_layers.3", "decoder_layers.4", "decoder_layers.5"};
  static constexpr int decode(hp::model_builder& m, int x, int seen, int asked) {
    const auto look_at = [](const char* name, int context) {
      return [=](hp::model_builder& b, int y) {
        return hp::cross_attention_layer{name, heads, heads, head_dim}(b, y, context);
      };
    };
    constexpr double epsilon = 1e-6;
    const hp::attention_layer self{
        .query_heads = heads, .key_heads = heads, .head_dim = head_dim, .rope_base = 10000.0};
    x = hp::residual_branch(m, "attention_norm", "attention_residual", epsilon, x, self);
    x = hp::residual_branch(m, "image_attention_norm", "image_attention_residual", epsilon, x,
                            look_at("image_attention", seen));
    x = hp::residual_branch(m, "prompt_attention_norm", "prompt_attention_residual", epsilon, x,
                            look_at("prompt_attention", asked));
    return hp::residual_branch(m, "feed_forward_norm", "feed_forward_residual", epsilon, x,
                               hp::swiglu_layer{.width = width});
  }
};

}  // namespace models
