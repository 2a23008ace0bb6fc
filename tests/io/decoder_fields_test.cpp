// SPDX-License-Identifier: Apache-2.0
// Parts of a decoder are read from their fields, by the rules that families share.

#include <hyperparallel/io/decoder_fields.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
using hp::detail::absent_head_dim;
using hp::detail::absent_key_heads;
using nlohmann::json;

namespace {

json trunk() { return {{"vocab_size", 100}, {"hidden_size", 64}, {"num_hidden_layers", 6}}; }
json with(json object, const json& more) {
  object.update(more);
  return object;
}

/// What `read` makes of the trunk and `more`, or its complaint behind "cannot read 'f': ".
struct outcome {
  hp::decoder model{};
  std::string complaint{};
};
template <class Read>
outcome read(const json& more, const Read& part) {
  const json object = with(trunk(), more);
  hp::detail::config_fields f(object, "f");
  outcome o;
  try {
    hp::detail::read_trunk(f, o.model);
    part(f, o.model);
  } catch (const hp::io_error& e) {
    o.complaint = std::string(e.what()).substr(17);
  }
  return o;
}

outcome heads(const json& more, absent_key_heads k = absent_key_heads::as_query_heads,
              absent_head_dim d = absent_head_dim::hidden_by_heads) {
  return read(with({{"num_attention_heads", 8}}, more),
              [&](hp::detail::config_fields& f, hp::decoder& m) { hp::detail::read_heads(f, m, k, d); });
}

TEST(decoder_fields, the_trunk) {
  const hp::decoder d =
      read({{"tie_word_embeddings", true}, {"rms_norm_eps", 1e-5}, {"rope_parameters", {{"rope_theta", 5e5}}}},
           [](hp::detail::config_fields&, hp::decoder&) {})
          .model;
  EXPECT_EQ(d.vocabulary, 100);
  EXPECT_EQ(d.hidden, 64);
  EXPECT_EQ(d.layers, 6);
  EXPECT_TRUE(d.tied);
  EXPECT_EQ(d.attention.epsilon, 1e-5);
  EXPECT_EQ(d.attention.rope_base, 5e5);
  EXPECT_EQ(read({{"hidden_act", "gelu"}}, [](hp::detail::config_fields&, hp::decoder&) {}).complaint,
            "hidden_act is \"gelu\"; known: \"silu\", \"swish\"");
}

TEST(decoder_fields, heads) {
  EXPECT_EQ(heads(json::object()).model.attention.key_heads, 8);
  EXPECT_EQ(heads(json::object()).model.attention.head_dim, 8);
  EXPECT_EQ(heads({{"head_dim", 32}, {"num_key_value_heads", 2}}).model.attention.head_dim, 32);
  EXPECT_EQ(heads({{"num_key_value_heads", nullptr}}, absent_key_heads::refused).model.attention.key_heads, 8);
  EXPECT_EQ(heads(json::object(), absent_key_heads::refused).complaint, "num_key_value_heads is missing");
  EXPECT_EQ(heads(json::object(), absent_key_heads::as_query_heads, absent_head_dim::refused).complaint,
            "head_dim is missing");
  EXPECT_EQ(heads({{"num_key_value_heads", 3}}).complaint,
            "num_key_value_heads is 3; expected a divisor of num_attention_heads, 8");
  // Rotary positions turn pairs of numbers.
  EXPECT_EQ(heads({{"head_dim", 127}}).complaint, "head_dim is 127; expected an even number");
  EXPECT_EQ(heads({{"num_attention_heads", 64}, {"num_key_value_heads", 64}}).complaint,
            "hidden_size is 64; without head_dim an even multiple of num_attention_heads, 64");
  EXPECT_EQ(heads({{"num_attention_heads", 7}}).complaint,
            "hidden_size is 64; without head_dim a multiple of num_attention_heads, 7");
}

TEST(decoder_fields, windows) {
  const auto every = [](hp::detail::config_fields& f, hp::decoder& d) { hp::detail::read_window(f, d, 4096); };
  EXPECT_EQ(read(json::object(), every).model.attention.window, 4096);
  EXPECT_EQ(read({{"sliding_window", nullptr}}, every).model.attention.window, 0);
  EXPECT_EQ(read({{"sliding_window", 16}}, every).model.attention.window, 16);
  const auto upper = hp::detail::read_upper_window;
  const json fields = {{"sliding_window", 16}, {"max_window_layers", 4}};
  EXPECT_EQ(read(fields, upper).model.attention.window, 0);
  const json used = with(fields, {{"use_sliding_window", true}});
  EXPECT_EQ(read(used, upper).model.attention.window, 16);
  EXPECT_EQ(read(used, upper).model.first_windowed, 4);
  EXPECT_EQ(read({{"use_sliding_window", true}}, upper).complaint, "sliding_window is missing");
  const json full = "full_attention", sliding = "sliding_attention";
  EXPECT_EQ(read(with(used, {{"layer_types", {full, full, full, full, sliding, sliding}}}), upper).complaint, "");
  EXPECT_EQ(read({{"layer_types", {full, full}}}, upper).complaint.substr(0, 14), "layer_types is");
  EXPECT_NE(read({{"layer_types", {full, full, full, full, full, sliding}}}, upper).complaint, "");
  EXPECT_NE(read({{"layer_types", {full, full, full, full, full, 1}}}, upper).complaint, "");
}

TEST(decoder_fields, latents) {
  const json fields = {{"num_attention_heads", 4}, {"kv_lora_rank", 16},    {"q_lora_rank", nullptr},
                       {"qk_nope_head_dim", 8},    {"qk_rope_head_dim", 4}, {"v_head_dim", 6}};
  const auto latents = hp::detail::read_latents;
  const hp::latent_attention_layer a = read(fields, latents).model.latent_attention;
  EXPECT_EQ(a.heads, 4);
  EXPECT_EQ(a.query_rank, 0);
  EXPECT_EQ(a.key_value_rank, 16);
  EXPECT_EQ(a.head_dim, 8);
  EXPECT_EQ(a.rope_dim, 4);
  EXPECT_EQ(a.value_dim, 6);
  EXPECT_EQ(read(with(fields, {{"qk_head_dim", 12}, {"head_dim", 4}, {"auto_map", json::object()}}), latents).complaint,
            "");
  EXPECT_EQ(read(with(fields, {{"qk_head_dim", 13}}), latents).complaint, "qk_head_dim is 13; known: 12");
  EXPECT_EQ(read(with(fields, {{"num_key_value_heads", 2}}), latents).complaint,
            "num_key_value_heads is 2; known: as many as num_attention_heads, 4");
  EXPECT_EQ(read(with(fields, {{"qk_rope_head_dim", 3}}), latents).complaint,
            "qk_rope_head_dim is 3; expected an even number");
  json without = fields;
  without.erase("q_lora_rank");
  EXPECT_EQ(read(without, latents).complaint, "q_lora_rank is missing");
}

TEST(decoder_fields, experts) {
  const json fields = {{"n_routed_experts", 8},      {"num_experts_per_tok", 2}, {"moe_intermediate_size", 5},
                       {"first_k_dense_replace", 1}, {"n_shared_experts", 2},    {"intermediate_size", 40}};
  const auto experts = [](hp::detail::config_fields& f, hp::decoder& d) {
    hp::detail::read_deepseek_experts(f, d, hp::expert_scores::sigmoid, true);
    hp::detail::read_dense_width(f, d);
  };
  const hp::decoder d = read(fields, experts).model;
  EXPECT_EQ(d.experts.experts, 8);
  EXPECT_EQ(d.experts.top_k, 2);
  EXPECT_EQ(d.experts.shared_width, 10);
  EXPECT_EQ(d.feed_forward.width, 40);
  EXPECT_FALSE(d.is_sparse(0));
  EXPECT_TRUE(d.is_sparse(1));
  EXPECT_FALSE(read(with(fields, {{"n_routed_experts", nullptr}}), experts).model.has_experts);
  EXPECT_EQ(read(with(fields, {{"num_experts_per_tok", 9}}), experts).complaint,
            "num_experts_per_tok is 9; expected at most 8, the experts");
  for (const char* name : {"n_routed_experts", "moe_intermediate_size", "first_k_dense_replace", "n_shared_experts",
                           "intermediate_size"}) {
    json without = fields;
    without.erase(name);
    EXPECT_EQ(read(without, experts).complaint, std::string(name) + " is missing");
  }
  json all_sparse = with(fields, {{"first_k_dense_replace", 0}});
  all_sparse.erase("intermediate_size");
  EXPECT_EQ(read(all_sparse, experts).complaint, "");
}

}  // namespace
