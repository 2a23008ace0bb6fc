// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps that have names, in the language of layout_map.hpp: of families that fuse projections, of Megatron-LM, of this library's decoders.

#include <string>
#include <string_view>

namespace hp_tool::reshard {

/// Size: group_heads.
extern const std::string_view fused_map_text;

/// Sizes: group_heads and head_dim; vocabulary and vocabulary_multiple where rows are padded.
extern const std::string_view megatron_map_text;

/// Sizes: head_dim and group_heads, or nope_dim, rope_dim, value_dim and latent_rank; dense_layers.
std::string own_map_text();

}  // namespace hp_tool::reshard
