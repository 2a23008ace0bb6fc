// SPDX-License-Identifier: Apache-2.0
#pragma once
// Families whose layers are in turn of linear and of full attention: what their config.json says. Needs nlohmann-json on the include
// path; no front header includes this one.
//
//   family                           linear attention              full attention                       feed-forward
//   qwen3_next                       gated delta nets, but for     norms of queries and keys, a gate    as qwen3_moe, with a gated shared expert
//   qwen3_5_text, qwen3_5_moe_text   one in full_attention_…       of what it gives                     one layer, or as qwen3_next
//   nemotron_h                       Mamba-2                       no rotation, one branch a layer      max(x, 0)², experts in latents
//
// Source: the configuration and modelling files of each family in huggingface/transformers, and those published with Nemotron-H's checkpoints.

#include <algorithm>
#include <iterator>
#include <string>

#include <hyperparallel/io/decoder_fields.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline void read_linear_heads(config_fields& f, linear_attention_layer& a, const char* keys, const char* values) {
  a.key_heads = size_of_config(f, keys);
  a.value_heads = size_of_config(f, values);
  if (a.value_heads % a.key_heads != 0)
    f.refuse(values, "expected a multiple of " + std::string(keys) + ", " + std::to_string(a.key_heads));
}

/// Gated delta nets but for one layer in full_attention_interval, the last of them; layer_types says the same.
inline void read_delta_nets(config_fields& f, decoder& d) {
  linear_attention_layer& a = d.linear;
  d.has_linear = true;
  read_linear_heads(f, a, "linear_num_key_heads", "linear_num_value_heads");
  a.key_dim = size_of_config(f, "linear_key_head_dim");
  a.value_dim = size_of_config(f, "linear_value_head_dim");
  a.taps = size_of_config(f, "linear_conv_kernel_dim");
  a.epsilon = d.epsilon;
  f.only("mamba_ssm_dtype", {"float32"});
  d.full_every = f.optional_whole("full_attention_interval", largest_config_size).value_or(4);
  const nlohmann::json& types = f.value("layer_types");
  if (types.is_null()) return;
  if (!types.is_array() || types.size() != static_cast<std::size_t>(d.layers))
    f.refuse("layer_types", "expected a list of num_hidden_layers, " + std::to_string(d.layers) + ", texts");
  for (extent_t layer = 0; layer < d.layers; ++layer)
    if (types[static_cast<std::size_t>(layer)] != (d.is_linear(layer) ? "linear_attention" : "full_attention"))
      f.unsupported("layer_types",
                    "known: \"full_attention\" for one layer in full_attention_interval, the last of them, "
                    "\"linear_attention\" for the rest");
}
inline void read_gated_attention(config_fields& f, decoder& d) {
  read_trunk(f, d);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  d.attention.query_key_value_bias = d.attention.output_bias = f.flag("attention_bias", false);
  d.attention.query_key_norm = true;
  d.attention.output_gate = f.flag("attn_output_gate", true);
  read_delta_nets(f, d);
}
/// Modules of prediction are layers of full attention.
inline void read_mtp_layers(config_fields& f, decoder& d) {
  d.prediction_modules = f.optional_whole("mtp_num_hidden_layers", 64, 0).value_or(0);
  d.prediction_has_tables = f.flag("mtp_use_dedicated_embeddings", false);
}
inline void read_shared_expert(config_fields& f, decoder& d) {
  d.experts.shared_width = size_where(d.has_experts, f, "shared_expert_intermediate_size", 0);
  d.experts.shared_gate = true;
}

inline void read_qwen3_5_text(config_fields& f, decoder& d) {
  read_gated_attention(f, d);
  f.only("mlp_only_layers", {nlohmann::json::array()});
  read_mtp_layers(f, d);
  read_dense_width(f, d);
}
/// Every layer has experts.
inline void read_qwen3_5_moe_text(config_fields& f, decoder& d) {
  read_gated_attention(f, d);
  f.only("mlp_only_layers", {nlohmann::json::array()});
  f.only("decoder_sparse_step", {1});
  read_experts(f, d, "num_experts", "moe_intermediate_size");
  d.experts.normalise = f.flag("norm_topk_prob", true);
  read_shared_expert(f, d);
  read_mtp_layers(f, d);
  read_dense_width(f, d);
}

/// Layers of one branch each, as hybrid_override_pattern has them, M, -, * and E, or layers_block_type in words.
inline void read_branches(config_fields& f, decoder& d, const char* pattern, const char* words) {
  const nlohmann::json &letters = f.value(pattern), &list = f.value(words);
  const struct {
    char letter;
    const char* word;
    layer_branch branch;
  } known[] = {{'M', "mamba", layer_branch::linear_attention},
               {'*', "attention", layer_branch::attention},
               {'-', "mlp", layer_branch::feed_forward},
               {'E', "moe", layer_branch::experts}};
  const bool is_list = letters.is_null() && list.is_array();
  if (!is_list && !letters.is_string()) f.missing(pattern);
  const std::string text = is_list ? std::string() : letters.get<std::string>();
  const std::size_t layers = is_list ? list.size() : text.size();
  const char* const field = is_list ? words : pattern;
  if (layers == 0 || layers > static_cast<std::size_t>(layer_branches::capacity()))
    f.unsupported(field, "known: 1 to " + std::to_string(layer_branches::capacity()) + " layers");
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const auto* const end = std::end(known);
    const auto* const at = std::find_if(std::begin(known), end, [&](const auto& k) {
      return is_list ? list[layer] == k.word : text[layer] == k.letter;
    });
    if (at == end) f.unsupported(field, "known: M (mamba), * (attention), - (mlp) and E (moe)");
    d.branches.push(at->branch);
  }
  if (const auto n = f.optional_whole("num_hidden_layers", most_config_layers);
      n && *n != static_cast<extent_t>(layers))
    f.refuse("num_hidden_layers", std::string("expected those of ") + field + ", " + std::to_string(layers));
  d.layers = static_cast<extent_t>(layers);
}
/// A module of prediction is a layer of attention and one of experts.
inline void read_branch_modules(config_fields& f, decoder& d) {
  d.prediction_modules = f.optional_whole("num_nextn_predict_layers", 64, 0).value_or(0);
  d.prediction_has_tables = false;
  f.only("mtp_hybrid_override_pattern", {"*E"});
  f.only("mtp_layers_block_type", {nlohmann::json({"attention", "moe"})});
}
inline void read_mamba(config_fields& f, decoder& d) {
  linear_attention_layer& a = d.linear;
  a.form = linear_form::state_space;
  a.epsilon = d.epsilon;
  read_linear_heads(f, a, "n_groups", "mamba_num_heads");
  a.value_dim = size_of_config(f, "mamba_head_dim");
  a.key_dim = size_of_config(f, "ssm_state_size");
  a.taps = size_of_config(f, "conv_kernel");
  f.only("use_conv_bias", {true});
  f.only("use_bias", {false});
  f.only("mamba_proj_bias", {false});
  f.only("mamba_hidden_act", {"silu"});
  for (const char* of_steps : {"time_step_floor", "time_step_limit", "time_step_max", "time_step_min", "time_step_rank",
                               "chunk_size", "expand", "use_mamba_kernels", "mamba_ssm_cache_dtype"})
    f.value(of_steps);
}
inline void read_nemotron_experts(config_fields& f, decoder& d) {
  mixture_of_experts& e = d.experts;
  read_experts(f, d, "n_routed_experts", "moe_intermediate_size");
  e.gated = false;
  e.scores = expert_scores::sigmoid;
  e.normalise = f.flag("norm_topk_prob", true);
  e.weight_scale = f.positive("routed_scaling_factor").value_or(1.0);
  e.latent = f.optional_whole("moe_latent_size", largest_config_size).value_or(0);
  f.only("n_shared_experts", {1});
  e.shared_width = size_of_config(f, "moe_shared_expert_intermediate_size");
  f.value("moe_shared_expert_overlap");  // of streams
}
/// Sizes of layers that no letter names are of no layer.
inline void read_nemotron_h(config_fields& f, decoder& d) {
  d.vocabulary = size_of_config(f, "vocab_size");
  d.hidden = size_of_config(f, "hidden_size");
  read_branches(f, d, "hybrid_override_pattern", "layers_block_type");
  d.tied = f.flag("tie_word_embeddings", false);
  d.epsilon = f.positive("layer_norm_epsilon").value_or(1e-5);
  f.value("rms_norm_eps");
  f.value("norm_eps");
  f.value("auto_map");
  attention_layer& a = d.attention;
  a.epsilon = d.epsilon;
  a.query_heads = size_of_config(f, "num_attention_heads");
  a.key_heads = size_of_config(f, "num_key_value_heads");
  if (a.query_heads % a.key_heads != 0)
    f.refuse("num_key_value_heads", "expected a divisor of num_attention_heads, " + std::to_string(a.query_heads));
  const char* const width = f.stands("head_dim") ? "head_dim" : "attention_head_dim";
  a.head_dim = size_of_config(f, width);
  f.value("rope_theta");  // the family's code does not rotate
  f.only("attention_bias", {false});
  f.only("sliding_window", {});
  f.only("mlp_bias", {false});
  f.only("mlp_hidden_act", {"relu2"});
  d.form = feed_forward_form::squared_relu;
  const auto has = [&](layer_branch b) {
    return std::find(d.branches.begin(), d.branches.end(), b) != d.branches.end();
  };
  d.has_linear = has(layer_branch::linear_attention);
  if (d.has_linear) read_mamba(f, d);
  if (has(layer_branch::experts))
    read_nemotron_experts(f, d);
  else
    for (const char* of_experts : {"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
                                   "moe_latent_size", "n_shared_experts", "moe_shared_expert_intermediate_size",
                                   "norm_topk_prob", "routed_scaling_factor", "moe_shared_expert_overlap"})
      f.value(of_experts);
  d.feed_forward.width = size_where(has(layer_branch::feed_forward), f, "intermediate_size", 1);
  read_branch_modules(f, d);
  for (const char* idle : {"num_logits_to_keep", "rescale_prenorm_residual", "residual_in_fp32"}) f.value(idle);
}

}}}  // namespace hyperparallel::v0_2::detail
