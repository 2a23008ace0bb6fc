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
//   mixtral                     no biases                          every layer num_local_experts
//   qwen2_moe, qwen3_moe        as qwen2, qwen3                    decoder_sparse_step, mlp_only_layers; a gated shared expert
//   deepseek_v2, _v3, kimi_k2   latents                            first_k_dense_replace, moe_layer_freq; shared experts
//   glm4_moe                    attention_bias: q, k and v, not o  as deepseek_v3
//
// Law: a field is optional only where the family's published code has one value for files without it that other sizes do
// not change. Source: the configuration and modelling files of each family in huggingface/transformers, and the files
// published with the checkpoints of DeepSeek, Kimi and MiniCPM.

#include <cstdint>
#include <string>

#include <hyperparallel/io/decoder_fields.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The families of decoders that a config.json is read of: its `model_type`, the class in `architectures`, and what
/// reads the fields.
struct model_family {
  const char* model_type;
  const char* architecture;
  void (*read)(config_fields& f, decoder& d);
};

namespace detail {

inline void read_llama(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::as_query_heads, absent_head_dim::hidden_by_heads);
  d.attention.query_key_value_bias = d.attention.output_bias = f.flag("attention_bias", false);
  d.feed_forward.bias = f.flag("mlp_bias", false);
  read_dense_width(f, d);
}

/// Mistral's attention; its code has a window of 4096 for files without the field.
inline void read_mistral_attention(config_fields& f, decoder& d, extent_t window) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::hidden_by_heads);
  f.only("attention_bias", {false});
  read_window(f, d, window);
}
inline void read_mistral(config_fields& f, decoder& d) {
  read_mistral_attention(f, d, 4096);
  read_dense_width(f, d);
}
/// Checkpoints of Phi-3 store queries, keys and values as one matrix, gate and up as another.
inline void read_phi3(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::as_query_heads, absent_head_dim::hidden_by_heads);
  for (const char* bias : {"attention_bias", "mlp_bias", "lm_head_bias"}) f.only(bias, {false});
  for (const char* long_context : {"full_attn_mod", "interpolate_factor"}) f.only(long_context, {1});
  f.value("auto_map");
  read_window(f, d, 0);
  read_dense_width(f, d);
}
/// Values are scaled behind the embedding, before each sum of the residual stream, and before the logits. Sparse attention
/// of MiniCPM4 has no weights and is set aside.
inline void read_minicpm(config_fields& f, decoder& d) {
  read_trunk(f, d);
  f.value("auto_map");
  d.tied = f.flag("tie_word_embeddings", true);
  read_heads(f, d, absent_key_heads::as_query_heads, absent_head_dim::hidden_by_heads);
  d.attention.query_key_value_bias = d.attention.output_bias = f.flag("attention_bias", false);
  d.embedding_scale = f.positive("scale_emb").value_or(1.0);
  d.branch_scale = f.positive("scale_depth").value_or(1.0) * attention_scale(d.layers);
  d.hidden_scale = f.positive("dim_model_base").value_or(1.0) / static_cast<double>(d.hidden);
  read_dense_width(f, d);
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
inline void read_glm4_moe(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  d.attention.query_key_value_bias = f.flag("attention_bias", false);
  d.attention.query_key_norm = f.flag("use_qk_norm", false);
  read_prediction(f, d);
}

}  // namespace detail

inline constexpr model_family model_families[] = {
    {"llama", "LlamaForCausalLM", detail::read_llama},
    {"mistral", "MistralForCausalLM", detail::read_mistral},
    {"qwen2", "Qwen2ForCausalLM", detail::read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", detail::read_qwen3},
    {"phi3", "Phi3ForCausalLM", detail::read_phi3},
    {"minicpm", "MiniCPMForCausalLM", detail::read_minicpm},
    {"mixtral", "MixtralForCausalLM", detail::read_mixtral},
    {"qwen2_moe", "Qwen2MoeForCausalLM", detail::read_qwen2_moe},
    {"qwen3_moe", "Qwen3MoeForCausalLM", detail::read_qwen3_moe},
    {"deepseek_v2", "DeepseekV2ForCausalLM", detail::read_deepseek_v2},
    {"deepseek_v3", "DeepseekV3ForCausalLM", detail::read_deepseek_v3},
    {"kimi_k2", "DeepseekV3ForCausalLM", detail::read_deepseek_v3},
    {"glm4_moe", "Glm4MoeForCausalLM", detail::read_glm4_moe},
};

}}  // namespace hyperparallel::v0_2
