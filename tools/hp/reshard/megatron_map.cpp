// SPDX-License-Identifier: Apache-2.0
// The map of Megatron-LM's names, in the language of layout_map.hpp.
//
// Queries, keys and values are one tensor, by groups of heads: the query heads of a group, its key, its value. Ranks have equal rows of it,
// whole groups or, where there are more ranks than groups, parts of one, which Megatron-LM gathers as it computes. Gates lie before what they
// gate. Layers and experts have numbers of their own on every rank. Rows of the vocabulary are padded. Names are those of the modules
// with Transformer Engine; local experts are read in both forms and written one by one.
// Source: NVIDIA/Megatron-LM, megatron/core/models/gpt and megatron/core/transformer; NVIDIA-NeMo/Megatron-Bridge, documentation of
// bridge.models.conversion.param_mapping.

#include <string_view>

#include "named_maps.hpp"

namespace hp_tool::reshard {

const std::string_view megatron_map_text = R"map({"name": "megatron", "local": ["layer", "expert"],
 "tied": ["lm_head.weight", "model.embed_tokens.weight"], "rules": [
{"theirs": "embedding.word_embeddings.weight", "hf": "model.embed_tokens.weight", "rows_multiple": "vocabulary_multiple"},
{"theirs": "output_layer.weight", "hf": "lm_head.weight", "rows_multiple": "vocabulary_multiple"},
{"theirs": "decoder.final_layernorm.weight", "hf": "model.norm.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_qkv.weight", "is": "(g c head_dim) i", "join": "c", "cut": "joined",
 "of": [{"hf": "model.layers.{layer}.self_attn.q_proj.weight", "view": "(g c head_dim) i", "extent": "group_heads"},
 {"hf": "model.layers.{layer}.self_attn.k_proj.weight", "view": "(g c head_dim) i"},
 {"hf": "model.layers.{layer}.self_attn.v_proj.weight", "view": "(g c head_dim) i"}],
 "without": "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_qkv.bias", "is": "(g c head_dim)", "join": "c", "cut": "joined",
 "of": [{"hf": "model.layers.{layer}.self_attn.q_proj.bias", "view": "(g c head_dim)", "extent": "group_heads"},
 {"hf": "model.layers.{layer}.self_attn.k_proj.bias", "view": "(g c head_dim)"}, {"hf": "model.layers.{layer}.self_attn.v_proj.bias",
 "view": "(g c head_dim)"}],
 "without": "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_qkv.layer_norm_weight",
 "hf": "model.layers.{layer}.input_layernorm.weight", "without": "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "decoder.layers.{layer}.input_layernorm.weight", "hf": "model.layers.{layer}.input_layernorm.weight",
 "with": "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.q_layernorm.weight", "hf": "model.layers.{layer}.self_attn.q_norm.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.k_layernorm.weight", "hf": "model.layers.{layer}.self_attn.k_norm.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_proj.weight", "hf": "model.layers.{layer}.self_attn.o_proj.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_proj.bias", "hf": "model.layers.{layer}.self_attn.o_proj.bias"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_q_proj.weight", "hf": "model.layers.{layer}.self_attn.q_proj.weight",
 "with": "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_q_down_proj.weight",
 "hf": "model.layers.{layer}.self_attn.q_a_proj.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_q_up_proj.layer_norm_weight",
 "hf": "model.layers.{layer}.self_attn.q_a_layernorm.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_q_up_proj.weight",
 "hf": "model.layers.{layer}.self_attn.q_b_proj.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_kv_down_proj.weight",
 "hf": "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_kv_up_proj.layer_norm_weight",
 "hf": "model.layers.{layer}.self_attn.kv_a_layernorm.weight"},
{"theirs": "decoder.layers.{layer}.self_attention.linear_kv_up_proj.weight",
 "hf": "model.layers.{layer}.self_attn.kv_b_proj.weight"},
{"theirs": "decoder.layers.{layer}.mlp.linear_fc1.layer_norm_weight",
 "hf": "model.layers.{layer}.post_attention_layernorm.weight", "without": "model.layers.{layer}.mlp.gate.weight"},
{"theirs": "decoder.layers.{layer}.pre_mlp_layernorm.weight", "hf": "model.layers.{layer}.post_attention_layernorm.weight",
 "with": "model.layers.{layer}.mlp.gate.weight"},
{"theirs": "decoder.layers.{layer}.mlp.linear_fc1.weight", "is": "(c f) i", "join": "c",
 "of": [{"hf": "model.layers.{layer}.mlp.gate_proj.weight", "view": "(c f) i"},
 {"hf": "model.layers.{layer}.mlp.up_proj.weight", "view": "(c f) i"}]},
{"theirs": "decoder.layers.{layer}.mlp.linear_fc2.weight", "hf": "model.layers.{layer}.mlp.down_proj.weight"},
{"theirs": "decoder.layers.{layer}.mlp.router.weight", "hf": "model.layers.{layer}.mlp.gate.weight"},
{"theirs": "decoder.layers.{layer}.mlp.router.expert_bias", "hf": "model.layers.{layer}.mlp.gate.e_score_correction_bias"},
{"theirs": "decoder.layers.{layer}.mlp.experts.local_experts.{expert}.linear_fc1.weight", "is": "(c f) i", "join": "c",
 "of": [{"hf": "model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight", "view": "(c f) i"},
 {"hf": "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight", "view": "(c f) i"}]},
{"theirs": "decoder.layers.{layer}.mlp.experts.local_experts.{expert}.linear_fc2.weight",
 "hf": "model.layers.{layer}.mlp.experts.{expert}.down_proj.weight"},
{"theirs": "decoder.layers.{layer}.mlp.experts.linear_fc1.weight{expert}", "is": "(c f) i", "join": "c",
 "of": [{"hf": "model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight", "view": "(c f) i"},
 {"hf": "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight", "view": "(c f) i"}], "reads_only": true},
{"theirs": "decoder.layers.{layer}.mlp.experts.linear_fc2.weight{expert}",
 "hf": "model.layers.{layer}.mlp.experts.{expert}.down_proj.weight", "reads_only": true},
{"theirs": "decoder.layers.{layer}.mlp.shared_experts.linear_fc1.weight", "is": "(c f) i", "join": "c",
 "of": [{"hf": "model.layers.{layer}.mlp.shared_experts.gate_proj.weight", "view": "(c f) i"},
 {"hf": "model.layers.{layer}.mlp.shared_experts.up_proj.weight", "view": "(c f) i"}]},
{"theirs": "decoder.layers.{layer}.mlp.shared_experts.linear_fc2.weight",
 "hf": "model.layers.{layer}.mlp.shared_experts.down_proj.weight"}]})map";

}  // namespace hp_tool::reshard
