// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of a model that maps need, from its config.json and from texts.
//
//   query_heads, key_heads, head_dim, hidden, vocabulary, dense_layers, nope_dim, rope_dim, value_dim, latent_rank, tied
//
// Laws: a size is from 0 to 2^40; a field that is missing gives none. Errors: io_error of one line that names file and field. Needs
// nlohmann-json on the include path.

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "library.hpp"

namespace hp_tool::reshard {

inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;

/// Sizes of a config.json of Hugging Face, of a model of text and images those of the text; `path` is what errors name.
numbers sizes_of_config(const nlohmann::json& config, const std::string& path);

/// "head_dim=128,key_heads=8", over those that are there.
void read_sizes(std::string_view text, numbers& sizes, const std::string& option);

}  // namespace hp_tool::reshard
