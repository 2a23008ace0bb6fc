// SPDX-License-Identifier: Apache-2.0
// The map of families of Hugging Face that fuse projections (Phi-3 and those like it), in the language of layout_map.hpp.
//
// "qkv_proj" has all rows of queries, then of keys, then of values; "gate_up_proj" the rows of the gate, then what it gates. Every other
// name is the same on both sides.

#include <string_view>

#include "named_maps.hpp"

namespace hp_tool::reshard {

const std::string_view fused_map_text = R"map({"name": "hf-fused", "others": "same", "rules": [
{"theirs": "model.layers.{layer}.self_attn.qkv_proj.weight", "is": "(c u) i", "join": "c",
 "of": [{"hf": "model.layers.{layer}.self_attn.q_proj.weight", "view": "(c u) i", "extent": "group_heads"},
 {"hf": "model.layers.{layer}.self_attn.k_proj.weight", "view": "(c u) i"},
 {"hf": "model.layers.{layer}.self_attn.v_proj.weight", "view": "(c u) i"}]},
{"theirs": "model.layers.{layer}.self_attn.qkv_proj.bias", "is": "(c u)", "join": "c",
 "of": [{"hf": "model.layers.{layer}.self_attn.q_proj.bias", "view": "(c u)", "extent": "group_heads"},
 {"hf": "model.layers.{layer}.self_attn.k_proj.bias", "view": "(c u)"}, {"hf": "model.layers.{layer}.self_attn.v_proj.bias",
 "view": "(c u)"}]},
{"theirs": "model.layers.{layer}.mlp.gate_up_proj.weight", "is": "(c f) i", "join": "c",
 "of": [{"hf": "model.layers.{layer}.mlp.gate_proj.weight", "view": "(c f) i"},
 {"hf": "model.layers.{layer}.mlp.up_proj.weight", "view": "(c f) i"}]}]})map";

}  // namespace hp_tool::reshard
