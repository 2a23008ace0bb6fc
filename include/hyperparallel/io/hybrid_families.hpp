// SPDX-License-Identifier: Apache-2.0
#pragma once
// Families whose layers are in turn of linear and of full attention: what their config.json says. Needs nlohmann-json on the include
// path; no front header includes this one.
//
//   family                           linear attention              full attention                       feed-forward
//   qwen3_next                       gated delta nets, but for     norms of queries and keys, a gate    as qwen3_moe, with a gated shared expert
//   qwen3_5_text, qwen3_5_moe_text   one in full_attention_…       of what it gives                     one layer, or as qwen3_next
//
// Source: the configuration and modelling files of each family in huggingface/transformers.

#include <hyperparallel/io/decoder_fields.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Gated delta nets but for one layer in full_attention_interval, the last of them; layer_types says the same.
inline void read_delta_nets(config_fields& f, decoder& d) {
  linear_attention_layer& a = d.linear;
  d.has_linear = true;
  a.key_heads = size_of_config(f, "linear_num_key_heads");
  a.value_heads = size_of_config(f, "linear_num_value_heads");
  if (a.value_heads % a.key_heads != 0)
    f.refuse("linear_num_value_heads", "expected a multiple of linear_num_key_heads, " + std::to_string(a.key_heads));
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

}}}  // namespace hyperparallel::v0_2::detail
