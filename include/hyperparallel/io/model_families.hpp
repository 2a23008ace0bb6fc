// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the config.json of each family of decoders says: which fields its layers are made of, and which it needs not have.
// Needs nlohmann-json on the include path; no front header includes this one.
//
//   family                      attention                          feed-forward
//   llama                       attention_bias: q, k, v and o      mlp_bias
//   mistral                     no biases                          no biases
//   qwen2                       q, k and v have biases, no field   no biases
//   qwen3                       norms of queries and keys          no biases
//   phi3                        no biases                          no biases
//   minicpm                     attention_bias: q, k, v and o      no biases; scale_emb, scale_depth, dim_model_base
//   gpt2                        biases                             GELU without a gate, biases; layer norms, learned positions
//   gpt_neox                    attention_bias, true               GELU without a gate, biases, beside attention; layer norms
//   gemma2, gemma3_text         windows in turn with none          gated GELU; norms before and behind each
//   mixtral                     no biases                          every layer num_local_experts
//   qwen2_moe, qwen3_moe        as qwen2, qwen3                    decoder_sparse_step, mlp_only_layers; a gated shared expert
//   deepseek_v2, _v3, kimi_k2   latents                            first_k_dense_replace, moe_layer_freq; shared experts
//   glm4_moe                    attention_bias: q, k and v, not o  as deepseek_v3
//   deepseek_v32, glm_moe_dsa   latents, an indexer of keys        as deepseek_v3
//   gpt_oss                     as gemma2's windows; sinks         every layer num_local_experts, with biases
//   llama4_text                 no biases                          interleave_moe_layer_step; one shared expert; no bias of routers
//   mimo                        q, k and v have biases             no biases; modules of prediction
//   minimax_m2                  norms over all query, key heads    every layer num_local_experts
//   qwen3_next, qwen3_5_…,
//   nemotron_h                  hybrid_families.hpp
//
// Law: a field is optional only where the family's published code has one value for files without it that other sizes do
// not change. Source: the configuration and modelling files of each family in huggingface/transformers, and the files
// published with the checkpoints of DeepSeek, Kimi and MiniCPM.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hyperparallel/io/decoder_fields.hpp>
#include <hyperparallel/io/dense_families.hpp>
#include <hyperparallel/io/hybrid_families.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The families of decoders that a config.json is read of: its `model_type`, the class in `architectures`, and what
/// reads the fields.
struct model_family {
  const char* model_type;
  const char* architecture;
  void (*read)(config_fields& f, decoder& d);
};

/// Sinks, windows in every other layer, biases of projections, router and experts, gates with a limit.
inline void read_gpt_oss(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  f.only("attention_bias", {true});
  d.attention.query_key_value_bias = d.attention.output_bias = d.attention.sinks = true;
  d.full_every = 2;
  read_window(f, d, 128);
  read_experts(f, d, "num_local_experts", "intermediate_size");
  if (!d.has_experts) f.refuse("num_local_experts", "expected at least 1");
  f.only("experts_per_token", {d.experts.top_k});
  d.experts.bias = true;
  d.experts.gate_limit = f.positive("swiglu_limit").value_or(7.0);
  f.value("initial_context_length");  // what the scaling of rotary positions starts from, which names it itself
}

inline void read_mixtral(config_fields& f, decoder& d) {
  read_mistral_attention(f, d, 0);
  read_experts(f, d, "num_local_experts", "intermediate_size");
  if (!d.has_experts) f.refuse("num_local_experts", "expected at least 1");
}

inline void read_qwen2_attention(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::hidden_by_heads);
  d.attention.query_key_value_bias = true;
  f.only("use_mrope", {false});
  read_upper_window(f, d);
}
inline void read_qwen3_attention(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  d.attention.query_key_value_bias = d.attention.output_bias = f.flag("attention_bias", false);
  d.attention.query_key_norm = true;
  read_upper_window(f, d);
}
inline void read_qwen2(config_fields& f, decoder& d) {
  read_qwen2_attention(f, d);
  read_dense_width(f, d);
}
inline void read_qwen3(config_fields& f, decoder& d) {
  read_qwen3_attention(f, d);
  read_dense_width(f, d);
}

/// Layers i with (i + 1) a multiple of decoder_sparse_step have experts, but for those of mlp_only_layers.
inline void read_qwen_experts(config_fields& f, decoder& d) {
  read_experts(f, d, "num_experts", "moe_intermediate_size");
  d.sparse.period = f.optional_whole("decoder_sparse_step", largest_config_size).value_or(1);
  d.sparse.phase = d.sparse.period - 1;
  const nlohmann::json& dense = f.value("mlp_only_layers");
  if (!dense.is_null() && !dense.is_array()) f.refuse("mlp_only_layers", "expected a list of layers");
  for (const nlohmann::json& layer : dense) {
    if (!layer.is_number_unsigned() || layer.get<std::uint64_t>() >= static_cast<std::uint64_t>(d.layers))
      f.refuse("mlp_only_layers", "expected numbers of layers from 0 to " + std::to_string(d.layers - 1));
    if (!d.sparse.except.push(layer.get<extent_t>()))
      f.unsupported("mlp_only_layers", "known: at most " + std::to_string(d.sparse.except.capacity()) + " layers");
  }
  d.experts.normalise = f.flag("norm_topk_prob", false);
  read_dense_width(f, d);
}
inline void read_qwen2_moe(config_fields& f, decoder& d) {
  read_qwen2_attention(f, d);
  d.attention.query_key_value_bias = f.flag("qkv_bias", true);
  read_qwen_experts(f, d);
  d.experts.shared_width = size_where(d.has_experts, f, "shared_expert_intermediate_size", 0);
  d.experts.shared_gate = true;
}
inline void read_qwen3_next(config_fields& f, decoder& d) {
  read_gated_attention(f, d);
  read_qwen_experts(f, d);
  d.experts.normalise = f.flag("norm_topk_prob", true);
  read_shared_expert(f, d);
}
/// Some files name, as not there or always there, what other families have.
inline void read_qwen3_moe(config_fields& f, decoder& d) {
  read_qwen3_attention(f, d);
  f.only("qkv_bias", {false});
  f.only("use_qk_norm", {true});
  f.only("shared_expert_intermediate_size", {0});
  read_qwen_experts(f, d);
}

inline void read_deepseek_v2(config_fields& f, decoder& d) {
  read_latents(f, d);
  f.only("mlp_bias", {false});
  f.only("scoring_func", {"softmax"});
  f.only("topk_method", {"greedy", "group_limited_greedy"});
  read_deepseek_experts(f, d, expert_scores::softmax, false);
  read_dense_width(f, d);
}
inline void read_prediction(config_fields& f, decoder& d) {
  constexpr extent_t most_modules = 64;
  f.only("scoring_func", {"sigmoid"});
  f.only("topk_method", {"noaux_tc"});
  read_deepseek_experts(f, d, expert_scores::sigmoid, true);
  d.prediction_modules = f.optional_whole("num_nextn_predict_layers", most_modules, 0).value_or(0);
  read_dense_width(f, d);
}
inline void read_deepseek_v3(config_fields& f, decoder& d) {
  read_latents(f, d);
  read_prediction(f, d);
}
inline void read_deepseek_v32(config_fields& f, decoder& d) {
  read_deepseek_v3(f, d);
  f.only("num_experts", {d.experts.experts});
  f.only("mlp_bias", {false});
  f.value("moe_router_dtype");  // of the router's products
  read_indexer(f, d);
}
inline void read_glm_moe_dsa(config_fields& f, decoder& d) {
  read_deepseek_v32(f, d);
  d.prediction_has_tables = false;
}
inline void read_glm4_moe(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  d.attention.query_key_value_bias = f.flag("attention_bias", false);
  d.attention.query_key_norm = f.flag("use_qk_norm", false);
  read_prediction(f, d);
}

/// Every interleave_moe_layer_step-th layer has experts and a shared one, chosen by sigmoids that no bias balances; others are of
/// another width. Queries and keys are normalised without weights, and rotated in three layers of four within chunks.
inline void read_llama4_text(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  f.only("attention_bias", {false});
  for (const char* shapeless : {"use_qk_norm", "attention_chunk_size", "attn_temperature_tuning", "attn_scale",
                                "floor_scale", "no_rope_layers", "no_rope_layer_interval", "for_llm_compressor"})
    f.value(shapeless);
  read_experts(f, d, "num_local_experts", "intermediate_size");
  if (!d.has_experts) f.refuse("num_local_experts", "expected at least 1");
  d.sparse.period = f.whole("interleave_moe_layer_step", largest_config_size);
  d.sparse.phase = d.sparse.period - 1;
  if (const nlohmann::json& layers = f.value("moe_layers"); !layers.is_null()) {
    nlohmann::json expected = nlohmann::json::array();
    for (extent_t layer = 0; layer < d.layers; ++layer)
      if (d.is_sparse(layer)) expected.push_back(layer);
    if (layers != expected) f.unsupported("moe_layers", "known: one in interleave_moe_layer_step, the last of them");
  }
  d.experts.scores = expert_scores::sigmoid;
  d.experts.balanced_by_bias = d.experts.normalise = false;
  d.experts.shared_width = d.experts.width;
  d.feed_forward.width = size_of_config(f, "intermediate_size_mlp");
}
inline void read_mimo(config_fields& f, decoder& d) {
  read_qwen2_attention(f, d);
  f.only("attention_bias", {true});
  d.prediction_modules = f.optional_whole("num_nextn_predict_layers", 64, 0).value_or(0);
  d.prediction_has_tables = false;
  read_dense_width(f, d);
}
inline void read_minimax_m2(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  f.only("attention_bias", {false});
  d.attention.query_key_norm = f.flag("use_qk_norm", true);
  f.only("qk_norm_type", {"per_layer"});
  d.attention.norms_all_heads = true;
  f.value("rotary_dim");  // positions turn a part of each head
  f.value("auto_map");
  f.only("attn_type_list", {std::vector<int>(static_cast<std::size_t>(d.layers), 1)});  // none is linear
  read_experts(f, d, "num_local_experts", "intermediate_size");
  if (!d.has_experts) f.refuse("num_local_experts", "expected at least 1");
  f.only("shared_intermediate_size", {0});
  f.only("scoring_func", {"sigmoid"});
  d.experts.scores = expert_scores::sigmoid;
  d.experts.balanced_by_bias = f.flag("use_routing_bias", true);
  f.only("mtp_transformer_layers", {1});
  const extent_t modules = f.optional_whole("num_mtp_modules", 64, 0).value_or(0);
  d.prediction_modules = f.flag("use_mtp", modules > 0) ? modules : 0;
}

inline constexpr model_family model_families[] = {
    {"llama", "LlamaForCausalLM", detail::read_llama},
    {"mistral", "MistralForCausalLM", detail::read_mistral},
    {"qwen2", "Qwen2ForCausalLM", detail::read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", detail::read_qwen3},
    {"phi3", "Phi3ForCausalLM", detail::read_phi3},
    {"minicpm", "MiniCPMForCausalLM", detail::read_minicpm},
    {"gpt2", "GPT2LMHeadModel", detail::read_gpt2},
    {"gpt_neox", "GPTNeoXForCausalLM", detail::read_gpt_neox},
    {"gemma2", "Gemma2ForCausalLM", detail::read_gemma2},
    {"gemma3_text", "Gemma3ForCausalLM", detail::read_gemma3_text},
    {"mixtral", "MixtralForCausalLM", detail::read_mixtral},
    {"qwen2_moe", "Qwen2MoeForCausalLM", detail::read_qwen2_moe},
    {"qwen3_moe", "Qwen3MoeForCausalLM", detail::read_qwen3_moe},
    {"qwen3_next", "Qwen3NextForCausalLM", detail::read_qwen3_next},
    {"deepseek_v2", "DeepseekV2ForCausalLM", detail::read_deepseek_v2},
    {"deepseek_v3", "DeepseekV3ForCausalLM", detail::read_deepseek_v3},
    {"deepseek_v32", "DeepseekV32ForCausalLM", detail::read_deepseek_v32},
    {"kimi_k2", "DeepseekV3ForCausalLM", detail::read_deepseek_v3},
    {"glm4_moe", "Glm4MoeForCausalLM", detail::read_glm4_moe},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM", detail::read_glm_moe_dsa},
    {"gpt_oss", "GptOssForCausalLM", detail::read_gpt_oss},
    {"mimo", "MiMoForCausalLM", detail::read_mimo},
    {"nemotron_h", "NemotronHForCausalLM", detail::read_nemotron_h},
    {"minimax_m2", "MiniMaxM2ForCausalLM", detail::read_minimax_m2},
    // The text models inside those that also see; their files name the whole model's class.
    {"llama4_text", "Llama4ForConditionalGeneration", detail::read_llama4_text},
    {"qwen2_5_vl_text", "Qwen2_5_VLForConditionalGeneration", detail::read_qwen2},
    {"qwen3_vl_text", "Qwen3VLForConditionalGeneration", detail::read_qwen3},
    {"qwen3_5_text", "Qwen3_5ForConditionalGeneration", detail::read_qwen3_5_text},
    {"qwen3_5_moe_text", "Qwen3_5MoeForConditionalGeneration", detail::read_qwen3_5_moe_text},
    {"qwen3_vl_moe_text", "Qwen3VLMoeForConditionalGeneration", detail::read_qwen3_moe},
};

}}}  // namespace hyperparallel::v0_2::detail
