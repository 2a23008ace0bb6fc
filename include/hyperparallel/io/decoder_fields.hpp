// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a decoder as the fields of a config.json say them, which families of models share: trunk, heads, latents,
// windows, experts. Needs nlohmann-json on the include path; no front header includes this one.
//
//   heads      num_attention_heads, num_key_value_heads, head_dim     latents   kv_lora_rank, q_lora_rank, qk_…_head_dim, v_head_dim
//   windows    sliding_window, use_sliding_window, max_window_layers, layer_types
//   experts    how many, num_experts_per_tok, how wide; behind dense layers first_k_dense_replace, moe_layer_freq
//
// Each function throws io_error of a size that cannot be or is missing, and unsupported_model of a value that is not
// known. Which family has which part: model_families.hpp, with the sources.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Larger sizes and longer models are refused.
inline constexpr extent_t largest_config_size = extent_t{1} << 24;
inline constexpr extent_t most_config_layers = extent_t{1} << 16;

inline extent_t size_of_config(config_fields& f, const char* name) { return f.whole(name, largest_config_size); }

enum class absent_key_heads : unsigned char { refused, as_query_heads };
enum class absent_head_dim : unsigned char { refused, hidden_by_heads };

/// Sizes that families have whose fields are named as Llama's. The activation is one of `activations`.
inline void read_trunk(config_fields& f, decoder& d,
                       const std::vector<nlohmann::json>& activations = {"silu", "swish"}) {
  d.vocabulary = size_of_config(f, "vocab_size");
  d.hidden = size_of_config(f, "hidden_size");
  d.layers = f.whole("num_hidden_layers", most_config_layers);
  d.tied = f.flag("tie_word_embeddings", false);
  f.only("hidden_act", activations);
  d.epsilon = f.positive("rms_norm_eps").value_or(d.epsilon);
  d.attention.epsilon = d.latent_attention.epsilon = d.epsilon;
  double base = f.positive("rope_theta").value_or(d.latent_attention.rope_base);
  if (const nlohmann::json& rope = f.value("rope_parameters"); rope.is_object())
    base = config_fields(rope, f.path()).positive("rope_theta").value_or(base);
  d.attention.rope_base = d.latent_attention.rope_base = base;
}

/// Of a width that rotary positions turn in pairs.
inline constexpr const char* not_even = "expected an even number";

/// Grouped queries with rotary positions. Precondition: the trunk is read.
inline void read_heads(config_fields& f, decoder& d, absent_key_heads key_heads, absent_head_dim head_dim) {
  attention_layer& a = d.attention;
  a.query_heads = size_of_config(f, "num_attention_heads");
  if (key_heads == absent_key_heads::refused && !f.stands("num_key_value_heads")) f.missing("num_key_value_heads");
  a.key_heads = f.optional_whole("num_key_value_heads", largest_config_size).value_or(a.query_heads);
  if (a.query_heads % a.key_heads != 0)
    f.refuse("num_key_value_heads", "expected a divisor of num_attention_heads, " + std::to_string(a.query_heads));
  const std::optional<extent_t> width = f.optional_whole("head_dim", largest_config_size);
  if (!width && head_dim == absent_head_dim::refused) f.missing("head_dim");
  if (!width && d.hidden % a.query_heads != 0)
    f.refuse("hidden_size", "without head_dim a multiple of num_attention_heads, " + std::to_string(a.query_heads));
  a.head_dim = width ? *width : d.hidden / a.query_heads;
  if (a.head_dim % 2 == 0) return;
  if (width) f.refuse("head_dim", not_even);
  f.refuse("hidden_size", "without head_dim an even multiple of num_attention_heads, " + std::to_string(a.query_heads));
}

/// Layers from the first windowed one on, where the list says the same of every layer. Precondition: the trunk is read.
inline void read_layer_types(config_fields& f, decoder& d) {
  const nlohmann::json& types = f.value("layer_types");
  if (types.is_null()) return;
  if (!types.is_array() || types.size() != static_cast<std::size_t>(d.layers))
    f.refuse("layer_types", "expected a list of num_hidden_layers, " + std::to_string(d.layers) + ", texts");
  for (extent_t layer = 0; layer < d.layers; ++layer)
    if (types[static_cast<std::size_t>(layer)] != (d.is_windowed(layer) ? "sliding_attention" : "full_attention"))
      f.unsupported("layer_types",
                    "known: \"sliding_attention\" for the layers that the other fields give a window, "
                    "\"full_attention\" for the rest");
}

/// A window of every layer; `otherwise` where the field does not stand, none where it is null.
inline void read_window(config_fields& f, decoder& d, extent_t otherwise) {
  d.attention.window = f.stands("sliding_window") ? 0 : otherwise;
  if (const auto window = f.optional_whole("sliding_window", largest_config_size)) d.attention.window = *window;
  read_layer_types(f, d);
}

/// A window of the layers from max_window_layers on, where it is used.
inline void read_upper_window(config_fields& f, decoder& d) {
  const std::optional<extent_t> window = f.optional_whole("sliding_window", largest_config_size);
  const std::optional<extent_t> first = f.optional_whole("max_window_layers", largest_config_size, 0);
  if (f.flag("use_sliding_window", false)) {
    if (!window) f.missing("sliding_window");
    if (!first) f.missing("max_window_layers");
    d.attention.window = *window;
    d.first_windowed = *first;
  }
  read_layer_types(f, d);
}

/// The activation of feed-forward layers without a gate; `otherwise` where the field is absent.
inline void read_plain_activation(config_fields& f, decoder& d, const char* name, feed_forward_form otherwise) {
  f.only(name, {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
  const nlohmann::json& v = f.value(name);
  d.form = v.is_null() ? otherwise : v == "gelu" ? feed_forward_form::gelu : feed_forward_form::gelu_tanh;
}

/// A bound of scores or logits: `otherwise` where the field is absent, none (0) where it is null.
inline double cap_of_config(config_fields& f, const char* name, double otherwise) {
  return f.stands(name) ? f.positive(name).value_or(0.0) : otherwise;
}

/// A size that is needed where `needed`, and known but of no layer elsewhere: then `otherwise` where it is absent.
inline extent_t size_where(bool needed, config_fields& f, const char* name, extent_t otherwise) {
  const std::optional<extent_t> size = f.optional_whole(name, largest_config_size);
  if (needed && !size) f.missing(name);
  return size.value_or(otherwise);
}

/// The width of layers without experts, if there are any. Precondition: experts are read.
inline void read_dense_width(config_fields& f, decoder& d) {
  bool dense = false;
  for (extent_t layer = 0; layer < d.layers && !dense; ++layer) dense = !d.is_sparse(layer);
  d.feed_forward.width = size_where(dense, f, "intermediate_size", d.feed_forward.width);
}

/// Routed experts, their number in the field `count`, their width in `width`; none where the number is 0 or null.
inline void read_experts(config_fields& f, decoder& d, const char* count, const char* width) {
  if (!f.stands(count)) f.missing(count);
  const extent_t experts = f.optional_whole(count, largest_config_size, 0).value_or(0);
  d.has_experts = experts > 0;
  const extent_t top_k = size_where(d.has_experts, f, "num_experts_per_tok", 1);
  const extent_t wide = size_where(d.has_experts, f, width, 1);
  if (!d.has_experts) return;
  if (top_k > experts) f.refuse("num_experts_per_tok", "expected at most " + std::to_string(experts) + ", the experts");
  d.experts.experts = experts;
  d.experts.top_k = top_k;
  d.experts.width = wide;
}

/// Experts behind dense layers, with shared ones as wide together as `n_shared_experts` routed ones.
inline void read_deepseek_experts(config_fields& f, decoder& d, expert_scores scores, bool normalised) {
  read_experts(f, d, "n_routed_experts", "moe_intermediate_size");
  d.experts.scores = scores;
  d.experts.normalise = f.flag("norm_topk_prob", normalised);
  d.experts.weight_scale = f.positive("routed_scaling_factor").value_or(1.0);
  const std::optional<extent_t> first = f.optional_whole("first_k_dense_replace", largest_config_size, 0);
  if (d.has_experts && !first) f.missing("first_k_dense_replace");
  d.sparse.first = first.value_or(0);
  if (d.has_experts && !f.stands("n_shared_experts")) f.missing("n_shared_experts");
  const extent_t shared = f.optional_whole("n_shared_experts", largest_config_size, 0).value_or(0);
  d.experts.shared_width = shared * d.experts.width;
}
inline void read_latents(config_fields& f, decoder& d) {
  read_trunk(f, d);
  latent_attention_layer& a = d.latent_attention;
  d.has_latents = true;
  a.heads = size_of_config(f, "num_attention_heads");
  if (f.optional_whole("num_key_value_heads", largest_config_size).value_or(a.heads) != a.heads)
    f.unsupported("num_key_value_heads", "known: as many as num_attention_heads, " + std::to_string(a.heads));
  a.key_value_rank = size_of_config(f, "kv_lora_rank");
  if (!f.stands("q_lora_rank")) f.missing("q_lora_rank");
  a.query_rank = f.optional_whole("q_lora_rank", largest_config_size).value_or(0);
  a.head_dim = size_of_config(f, "qk_nope_head_dim");
  a.rope_dim = size_of_config(f, "qk_rope_head_dim");
  if (a.rope_dim % 2 != 0) f.refuse("qk_rope_head_dim", not_even);
  a.value_dim = size_of_config(f, "v_head_dim");
  a.bias = f.flag("attention_bias", false);
  f.value("auto_map");  // the published files name code beside them, whose layers are these
  f.only("head_dim", {a.rope_dim, a.head_dim, a.head_dim + a.rope_dim});
  f.only("qk_head_dim", {a.head_dim + a.rope_dim});
  d.sparse.period = f.optional_whole("moe_layer_freq", largest_config_size).value_or(1);
}

/// An indexer that picks the keys of sparse attention: of every layer, or of the first index_skip_topk_offset and then one in
/// index_topk_freq, the last of them; indexer_types says the same. Precondition: latents are read.
inline void read_indexer(config_fields& f, decoder& d) {
  attention_indexer& i = d.indexer;
  i.heads = size_of_config(f, "index_n_heads");
  i.head_dim = size_of_config(f, "index_head_dim");
  i.top_k = size_of_config(f, "index_topk");
  i.period = f.optional_whole("index_topk_freq", largest_config_size).value_or(1);
  i.first = f.optional_whole("index_skip_topk_offset", largest_config_size, 0).value_or(0);
  i.phase = (i.first + i.period - 1) % i.period;
  f.only("index_topk_pattern", {});
  for (const char* how : {"indexer_rope_interleave", "rope_interleave", "index_share_for_mtp_iteration"}) f.value(how);
  const auto says = [&](const char* name, const auto& expected, const char* known) {
    const nlohmann::json& list = f.value(name);
    if (list.is_null()) return;
    if (!list.is_array() || list.size() != static_cast<std::size_t>(d.layers))
      f.refuse(name, "expected a list of num_hidden_layers, " + std::to_string(d.layers) + ", texts");
    for (extent_t layer = 0; layer < d.layers; ++layer)
      if (list[static_cast<std::size_t>(layer)] != expected(layer)) f.unsupported(name, known);
  };
  says(
      "indexer_types", [&](extent_t layer) { return i.is_own(layer) ? "full" : "shared"; },
      "known: \"full\" for the first index_skip_topk_offset layers and then one in index_topk_freq, \"shared\" for the "
      "rest");
  says("layer_types", [](extent_t) { return "deepseek_sparse_attention"; }, "known: \"deepseek_sparse_attention\"");
  says(
      "mlp_layer_types", [&](extent_t layer) { return d.is_sparse(layer) ? "sparse" : "dense"; },
      "known: \"dense\" for the first first_k_dense_replace layers, \"sparse\" for the rest");
}

}}}  // namespace hyperparallel::v0_2::detail
