// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layer of this example: a DeepSeek-V3-style mixture-of-experts feed-forward layer, at full size. As a type, whose
// tiles the compiler plans (planned.cpp); and as a model of one layer, which runs at a reduced size (run.cpp).

#include <hyperparallel/layers.hpp>
#include <hyperparallel/lowering/moe_program.hpp>

namespace moe_layer {

namespace hp = hyperparallel;

/// Expert parallelism over 8 dies: tokens and experts are spread over one axis.
struct mesh : hp::device_matrix<hp::axis{"ep", 8}> {};

/// One 4096-token step of each die through 64 experts of DeepSeek-V3's size.
inline constexpr hp::moe_layer full_size{
    .hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};

/// Everything about it, derived by the compiler: layouts, moves, taskflow, proof, timeline.
using program = hp::moe_program<full_size, mesh, hp::matrix384>;

/// The same layer at a size that simulated ranks compute in a moment; a step takes 64 tokens of each rank.
inline constexpr hp::moe_layer reduced{.hidden = 128, .intermediate = 64, .experts = 64, .top_k = 8, .tokens = 8 * 64};

/// Bytes, one token each, through the layer to the byte that follows. A rank has one sequence.
inline void build(hp::model_builder& m, const hp::moe_layer& layer) {
  const int batch = m.dim("batch", program::devices), sequence = m.dim("seq", layer.tokens / program::devices);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const int x = hp::token_embedding{.vocabulary = 256, .hidden = layer.hidden}(m, tokens);
  const hp::mixture_of_experts experts{.experts = layer.experts,
                                       .top_k = layer.top_k,
                                       .width = layer.intermediate,
                                       .scores = hp::expert_scores::sigmoid,
                                       .balanced_by_bias = false,
                                       .capacity_factor = 2.0};
  hp::language_head{.vocabulary = 256}(m, m.sum("residual", x, experts(m, x)), labels);
}

}  // namespace moe_layer
