// SPDX-License-Identifier: Apache-2.0
#pragma once
// Three towers and their fusion: a text, an image and a sound are encoded side by side, with nothing in common but the batch,
// and layers of fusion that go on from the text look at both; the loss is that of the next tokens.
//
// Inputs: "tokens" and "labels" (batch, seq); "image" (batch, patches, patch_values); "sound" (batch, frames, frame_values).
// Modules by name: "text", "vision", "audio", "fusion". The model knows nothing of the groups that they run on.
// Source of the shape: encoders of Dosovitskiy et al., "ViT", 2020, and Radford et al., "Whisper", 2022, fusion as the
// decoder of Vaswani et al., 2017, all pre-norm.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

struct omni_sizes {
  hp::extent_t batch = 8, sequence = 8, patches = 8, frames = 8;
  hp::extent_t text_layers = 1, vision_layers = 2, audio_layers = 1, fusion_layers = 1;  ///< at most 8 of the fusion
  hp::extent_t hidden = 16, heads = 4, width = 32, vocabulary = 32, patch_values = 12, frame_values = 10;
};

/// Half a billion parameters: the loads that the figures of docs/how-to/train-an-omni-modal-model.md are of.
inline constexpr omni_sizes large_omni{.batch = 16,
                                       .sequence = 512,
                                       .patches = 576,
                                       .frames = 750,
                                       .text_layers = 6,
                                       .vision_layers = 16,
                                       .audio_layers = 4,
                                       .fusion_layers = 5,
                                       .hidden = 1024,
                                       .heads = 16,
                                       .width = 2816,
                                       .vocabulary = 32000,
                                       .patch_values = 768,
                                       .frame_values = 128};

inline constexpr const char* omni_modules[] = {"text", "vision", "audio", "fusion"};

constexpr void build_omni_modal(hp::model_builder& m, const omni_sizes& s) {
  constexpr const char* layer_names[] = {"layers.0", "layers.1", "layers.2", "layers.3",
                                         "layers.4", "layers.5", "layers.6", "layers.7"};
  const hp::extent_t head_dim = s.hidden / s.heads;
  const int batch = m.dim("batch", s.batch), sequence = m.dim("seq", s.sequence), patches = m.dim("patches", s.patches),
            frames = m.dim("frames", s.frames), hidden = m.dim("hidden", s.hidden);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const int image = m.input("image", {batch, patches, m.dim("patch_values", s.patch_values)});
  const int sound = m.input("sound", {batch, frames, m.dim("frame_values", s.frame_values)});
  const hp::swiglu_layer feed_forward{.width = s.width};
  const auto attention = [&](bool causal) {
    return hp::attention_layer{.query_heads = s.heads, .key_heads = s.heads, .head_dim = head_dim, .causal = causal};
  };
  const auto tower = [&](hp::extent_t layers, bool causal, int x) {
    using block = hp::transformer_block<hp::attention_layer, hp::swiglu_layer>;
    x = hp::position_embedding{"position"}(m, x);
    x = m.repeat("layers", layers, x, block{.attention = attention(causal), .feed_forward = feed_forward});
    return hp::rms_norm_layer{"norm"}(m, x);
  };
  int x = m.scope("text", [&] {
    return tower(s.text_layers, true, hp::token_embedding{"embedding", s.vocabulary, s.hidden}(m, tokens));
  });
  const int seen =
      m.scope("vision", [&] { return tower(s.vision_layers, false, hp::linear_layer{"patch", {hidden}}(m, image)); });
  const int heard =
      m.scope("audio", [&] { return tower(s.audio_layers, false, hp::linear_layer{"frame", {hidden}}(m, sound)); });
  m.scope("fusion", [&] {
    const auto look_at = [&](const char* name, int context) {
      return [=](hp::model_builder& b, int y) {
        return hp::cross_attention_layer{name, s.heads, s.heads, head_dim}(b, y, context);
      };
    };
    constexpr double epsilon = 1e-6;
    for (hp::extent_t i = 0; i < s.fusion_layers; ++i)
      x = m.scope(layer_names[i], [&] {
        int y = hp::residual_branch(m, "attention_norm", "attention_residual", epsilon, x, attention(true));
        y = hp::residual_branch(m, "vision_norm", "vision_residual", epsilon, y, look_at("vision_attention", seen));
        y = hp::residual_branch(m, "audio_norm", "audio_residual", epsilon, y, look_at("audio_attention", heard));
        return hp::residual_branch(m, "feed_forward_norm", "feed_forward_residual", epsilon, y, feed_forward);
      });
    hp::language_head{.vocabulary = s.vocabulary}(m, x, labels);
    return x;
  });
}

}  // namespace models
