// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the config.json of families without experts says (model_families.hpp has the table): which fields their layers are made of, and
// which it needs not have.

#include <hyperparallel/io/decoder_fields.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

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
  f.value("mup_denominator");  // the family's code does not read it
  d.tied = f.flag("tie_word_embeddings", true);
  read_heads(f, d, absent_key_heads::as_query_heads, absent_head_dim::hidden_by_heads);
  d.attention.query_key_value_bias = d.attention.output_bias = f.flag("attention_bias", false);
  d.embedding_scale = f.positive("scale_emb").value_or(1.0);
  d.branch_scale = f.positive("scale_depth").value_or(1.0) * attention_scale(d.layers);
  d.hidden_scale = f.positive("dim_model_base").value_or(1.0) / static_cast<double>(d.hidden);
  read_dense_width(f, d);
}
/// Layer norms, learned positions, a bias at every linear map. The approximations of GELU are the one by tanh.
inline void read_gpt2(config_fields& f, decoder& d) {
  d.vocabulary = size_of_config(f, "vocab_size");
  d.hidden = size_of_config(f, "n_embd");
  d.layers = f.whole("n_layer", most_config_layers);
  d.positions = size_of_config(f, "n_positions");
  f.only("n_ctx", {d.positions});
  d.attention.query_heads = d.attention.key_heads = size_of_config(f, "n_head");
  if (d.hidden % d.attention.query_heads != 0)
    f.refuse("n_embd", "expected a multiple of n_head, " + std::to_string(d.attention.query_heads));
  d.attention.head_dim = d.hidden / d.attention.query_heads;
  d.attention.query_key_value_bias = d.attention.output_bias = d.feed_forward.bias = true;
  d.feed_forward.width = f.optional_whole("n_inner", largest_config_size).value_or(4 * d.hidden);
  read_plain_activation(f, d, "activation_function", feed_forward_form::gelu_tanh);
  d.norm = norm_form::layer;
  d.epsilon = f.positive("layer_norm_epsilon").value_or(1e-5);
  d.tied = f.flag("tie_word_embeddings", true);
  f.only("scale_attn_weights", {true});
  f.only("scale_attn_by_inverse_layer_idx", {false});
  f.only("reorder_and_upcast_attn", {false, true});  // the order of operations
  // Of a head that sums a text up, and of training.
  for (const char* other : {"summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                            "summary_use_proj", "attn_pdrop"})
    f.value(other);
}
inline void read_gpt_neox(config_fields& f, decoder& d) {
  read_trunk(f, d, {"gelu", "gelu_fast", "gelu_new", "gelu_pytorch_tanh"});
  read_heads(f, d, absent_key_heads::as_query_heads, absent_head_dim::hidden_by_heads);
  if (d.attention.key_heads != d.attention.query_heads)
    f.unsupported("num_key_value_heads", "known: as many as num_attention_heads");
  read_plain_activation(f, d, "hidden_act", feed_forward_form::gelu);
  d.attention.query_key_value_bias = d.attention.output_bias = f.flag("attention_bias", true);
  d.attention.rope_base = f.positive("rotary_emb_base").value_or(d.attention.rope_base);
  d.feed_forward.bias = true;
  d.norm = norm_form::layer;
  d.epsilon = f.positive("layer_norm_eps").value_or(1e-5);
  d.side_by_side = f.flag("use_parallel_residual", true);
  read_dense_width(f, d);
}

/// Four norms a layer, gated GELU, windows in all layers but one of `full_every`. Norms store their weight less one.
inline void read_gemma(config_fields& f, decoder& d, extent_t full_every) {
  read_trunk(f, d, {"gelu_pytorch_tanh"});
  f.only("hidden_activation", {"gelu_pytorch_tanh"});
  d.tied = f.flag("tie_word_embeddings", true);
  read_heads(f, d, absent_key_heads::refused, absent_head_dim::refused);
  f.only("attention_bias", {false});
  d.attention.scale = attention_scale(f.optional_whole("query_pre_attn_scalar", largest_config_size).value_or(256));
  d.form = feed_forward_form::geglu;
  d.branch_norms = true;
  d.embedding_scale = 1.0 / attention_scale(d.hidden);
  d.full_every = full_every;
  read_window(f, d, 4096);
  f.value("cache_implementation");
  read_dense_width(f, d);
}
inline void read_gemma2(config_fields& f, decoder& d) {
  read_gemma(f, d, 2);
  d.attention.score_cap = cap_of_config(f, "attn_logit_softcapping", 50.0);
  d.logit_cap = cap_of_config(f, "final_logit_softcapping", 30.0);
}
inline void read_gemma3_text(config_fields& f, decoder& d) {
  const std::optional<extent_t> stored = f.optional_whole("_sliding_window_pattern", largest_config_size);
  read_gemma(f, d, f.optional_whole("sliding_window_pattern", largest_config_size).value_or(stored.value_or(6)));
  d.attention.query_key_norm = true;
  d.attention.score_cap = cap_of_config(f, "attn_logit_softcapping", 0.0);
  d.logit_cap = cap_of_config(f, "final_logit_softcapping", 0.0);
  if (!f.stands("rope_theta") && f.value("rope_parameters").is_null()) d.attention.rope_base = 1e6;
  d.windowed_rope_base = f.positive("rope_local_base_freq").value_or(1e4);
  f.only("use_bidirectional_attention", {false});
}

}}}  // namespace hyperparallel::v0_2::detail
