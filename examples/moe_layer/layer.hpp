// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layer of this example: a DeepSeek-V3-style mixture-of-experts feed-forward layer as a model of one layer. At full size the
// compiler plans it, in tiles (planned.cpp); at a reduced size it runs (run.cpp).

#include <hyperparallel/layers.hpp>

namespace moe_layer {

namespace hp = hyperparallel;

/// Expert parallelism over 8 dies: tokens and experts are spread over one axis.
inline constexpr int devices = 8;

struct layer_sizes {
  int hidden, width, experts, top_k;
  int tokens;  ///< of a device
};

/// One 4096-token step of each die through 64 experts of DeepSeek-V3's size.
inline constexpr layer_sizes full_size{.hidden = 7168, .width = 2048, .experts = 64, .top_k = 8, .tokens = 4096};

/// The same layer at a size that simulated ranks compute in a moment.
inline constexpr layer_sizes reduced{.hidden = 128, .width = 64, .experts = 64, .top_k = 8, .tokens = 64};

/// What the tiles are made of.
inline constexpr char tiled_operators[] = "*.experts.*";

/// Bytes, one token each, through the layer to the byte that follows. A rank has one sequence.
constexpr void build(hp::model_builder& m, const layer_sizes& layer) {
  const int batch = m.dim("batch", devices), sequence = m.dim("seq", layer.tokens);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const int x = hp::token_embedding{.vocabulary = 256, .hidden = layer.hidden}(m, tokens);
  const hp::mixture_of_experts experts{.experts = layer.experts,
                                       .top_k = layer.top_k,
                                       .width = layer.width,
                                       .scores = hp::expert_scores::sigmoid,
                                       .balanced_by_bias = false,
                                       .capacity_factor = 2.0};
  hp::language_head{.vocabulary = 256}(m, m.sum("residual", x, experts(m, x)), labels);
}

}  // namespace moe_layer
