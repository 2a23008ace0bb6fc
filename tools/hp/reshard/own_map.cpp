// SPDX-License-Identifier: Apache-2.0
// The map of the names that this library's decoders give their parameters (layers/decoder.hpp), in the language of layout_map.hpp.
//
// Weights are (inputs, outputs), heads and groups are dims, experts are stacked. Rotary channels are halves of a head here; latent attention
// of Hugging Face stores them in pairs. Layers without experts of a decoder with experts are "dense_layers", and the first of the model.

#include "named_maps.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace hp_tool::reshard {

namespace {

constexpr std::string_view own_model_rules =
    R"map({"theirs": "embedding.weight", "hf": "model.embed_tokens.weight"},
{"theirs": "head.norm.weight", "hf": "model.norm.weight"},
{"theirs": "head.logits.weight", "is": "i rows", "hf": {"hf": "lm_head.weight", "view": "rows i"}})map";

/// Of the layers behind the dense ones.
constexpr std::string_view own_layer_rules =
    R"map({"theirs": "layers.{layer}.attention_norm.weight", "hf": "model.layers.{layer+dense_layers}.input_layernorm.weight"},
{"theirs": "layers.{layer}.feed_forward_norm.weight",
 "hf": "model.layers.{layer+dense_layers}.post_attention_layernorm.weight"},
{"theirs": "layers.{layer}.attention.query.weight", "is": "i g group_heads head_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_proj.weight", "view": "(g group_heads head_dim) i"},
 "without": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "layers.{layer}.attention.key.weight", "is": "i g head_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.k_proj.weight", "view": "(g head_dim) i"}},
{"theirs": "layers.{layer}.attention.value.weight", "is": "i g head_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.v_proj.weight", "view": "(g head_dim) i"}},
{"theirs": "layers.{layer}.attention.query.bias", "is": "g group_heads head_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_proj.bias", "view": "(g group_heads head_dim)"}},
{"theirs": "layers.{layer}.attention.key.bias", "is": "g head_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.k_proj.bias", "view": "(g head_dim)"}},
{"theirs": "layers.{layer}.attention.value.bias", "is": "g head_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.v_proj.bias", "view": "(g head_dim)"}},
{"theirs": "layers.{layer}.attention.query_norm.weight",
 "hf": "model.layers.{layer+dense_layers}.self_attn.q_a_layernorm.weight",
 "beside": "layers.{layer}.attention.query_down.weight"},
{"theirs": "layers.{layer}.attention.query_norm.weight",
 "hf": "model.layers.{layer+dense_layers}.self_attn.q_norm.weight"},
{"theirs": "layers.{layer}.attention.key_norm.weight",
 "hf": "model.layers.{layer+dense_layers}.self_attn.k_norm.weight"},
{"theirs": "layers.{layer}.attention.output.weight", "is": "g group_heads head_dim i",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.o_proj.weight", "view": "i (g group_heads head_dim)"},
 "without": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "layers.{layer}.attention.query_down.weight", "is": "i r",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_a_proj.weight", "view": "r i"}},
{"theirs": "layers.{layer}.attention.query_up.weight", "is": "r h nope_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_b_proj.weight", "view": "(h c) r", "take": "c",
 "of": "nope_dim+rope_dim", "as": "nope_dim"}, "beside": "layers.{layer}.attention.query_down.weight"},
{"theirs": "layers.{layer}.attention.query_rope.weight", "is": "r h (two rope_pairs)",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_b_proj.weight", "view": "(h c) r", "take": "c",
 "from": "nope_dim", "of": "nope_dim+rope_dim", "as": "(rope_pairs two)"},
 "beside": "layers.{layer}.attention.query_down.weight"},
{"theirs": "layers.{layer}.attention.query_up.weight", "is": "r h nope_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_proj.weight", "view": "(h c) r", "take": "c",
 "of": "nope_dim+rope_dim", "as": "nope_dim"},
 "with": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "layers.{layer}.attention.query_rope.weight", "is": "r h (two rope_pairs)",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.q_proj.weight", "view": "(h c) r", "take": "c",
 "from": "nope_dim", "of": "nope_dim+rope_dim", "as": "(rope_pairs two)"},
 "with": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "layers.{layer}.attention.key_value_down.weight", "is": "i latent_rank",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight", "view": "c i", "take": "c",
 "of": "latent_rank+rope_dim", "as": "latent_rank"}},
{"theirs": "layers.{layer}.attention.key_rope.weight", "is": "i (two rope_pairs)",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight", "view": "c i", "take": "c",
 "from": "latent_rank", "of": "latent_rank+rope_dim", "as": "(rope_pairs two)"}},
{"theirs": "layers.{layer}.attention.key_value_norm.weight",
 "hf": "model.layers.{layer+dense_layers}.self_attn.kv_a_layernorm.weight"},
{"theirs": "layers.{layer}.attention.key_up.weight", "is": "r h nope_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.kv_b_proj.weight", "view": "(h c) r", "take": "c",
 "of": "nope_dim+value_dim", "as": "nope_dim"}},
{"theirs": "layers.{layer}.attention.value_up.weight", "is": "r h value_dim",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.kv_b_proj.weight", "view": "(h c) r", "take": "c",
 "from": "nope_dim", "of": "nope_dim+value_dim", "as": "value_dim"}},
{"theirs": "layers.{layer}.attention.output.weight", "is": "h value_dim i",
 "hf": {"hf": "model.layers.{layer+dense_layers}.self_attn.o_proj.weight", "view": "i (h value_dim)"},
 "with": "model.layers.{layer+dense_layers}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "layers.{layer}.feed_forward.gate.weight", "is": "i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.gate_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.feed_forward.up.weight", "is": "i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.up_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.feed_forward.down.weight", "is": "i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.down_proj.weight", "view": "o i"}})map";

constexpr std::string_view own_expert_rules = R"map({"theirs": "layers.{layer}.moe.router.weight", "is": "i e",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.gate.weight", "view": "e i"}},
{"theirs": "layers.{layer}.moe.router.bias",
 "hf": "model.layers.{layer+dense_layers}.mlp.gate.e_score_correction_bias"},
{"theirs": "layers.{layer}.moe.experts.gate.weight", "is": "expert i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.experts.{expert}.gate_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.moe.shared.gate.weight", "is": "i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.shared_experts.gate_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.moe.experts.up.weight", "is": "expert i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.experts.{expert}.up_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.moe.shared.up.weight", "is": "i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.shared_experts.up_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.moe.experts.down.weight", "is": "expert i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.experts.{expert}.down_proj.weight", "view": "o i"}},
{"theirs": "layers.{layer}.moe.shared.down.weight", "is": "i o",
 "hf": {"hf": "model.layers.{layer+dense_layers}.mlp.shared_experts.down_proj.weight", "view": "o i"}})map";

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size())
    text.replace(at, old.size(), by);
  return text;
}

}  // namespace

std::string own_map_text() {
  const std::string layers(own_layer_rules);
  const std::string dense = replaced(replaced(layers, "\"layers.{layer}.", "\"dense_layers.{layer}."),
                                     "{layer+dense_layers}", "{layer<dense_layers}");
  std::string text = "{\"name\": \"ours\", \"rules\": [";
  for (const std::string_view rules : {own_model_rules, std::string_view(dense), std::string_view(layers)})
    text.append(rules).append(",\n");
  return text.append(own_expert_rules).append("]}");
}

}  // namespace hp_tool::reshard
