// SPDX-License-Identifier: Apache-2.0
// Each family has the layers of its published code: biases, norms, experts, and which fields it cannot do without.

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

json with(json object, const json& more) {
  object.update(more);
  return object;
}
json without(json object, const char* name) {
  object.erase(name);
  return object;
}

hp::decoder read(const json& config) { return hp::parse_model_config(config.dump(), "f").model; }
hp::extent_t total(const json& config) { return hp::parameters_of(read(config)).total(); }

std::string complaint(const json& config) {
  try {
    read(config);
  } catch (const hp::unsupported_model& e) {
    return "unsupported: " + std::string(e.what()).substr(17);
  } catch (const hp::io_error& e) {
    return std::string(e.what()).substr(17);
  }
  return "read";
}

/// A small model of grouped queries: 4 heads of 8, 2 key heads, 3 layers.
json dense(const char* family) {
  return {{"model_type", family},   {"vocab_size", 50},         {"hidden_size", 24},
          {"num_hidden_layers", 3}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"head_dim", 8},          {"intermediate_size", 40},  {"sliding_window", nullptr}};
}
json sparse(const char* family) {
  return with(dense(family), {{"num_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 10}});
}
json deepseek(const char* family) {
  return {{"model_type", family},      {"vocab_size", 50},         {"hidden_size", 24},
          {"num_hidden_layers", 3},    {"num_attention_heads", 4}, {"intermediate_size", 40},
          {"kv_lora_rank", 12},        {"q_lora_rank", 16},        {"qk_nope_head_dim", 8},
          {"qk_rope_head_dim", 4},     {"v_head_dim", 6},          {"n_routed_experts", 6},
          {"n_shared_experts", 1},     {"num_experts_per_tok", 2}, {"moe_intermediate_size", 10},
          {"first_k_dense_replace", 1}};
}
json glm() {
  return with(dense("glm4_moe"), {{"n_routed_experts", 6},
                                  {"n_shared_experts", 1},
                                  {"num_experts_per_tok", 2},
                                  {"moe_intermediate_size", 10},
                                  {"first_k_dense_replace", 1},
                                  {"num_nextn_predict_layers", 1}});
}

constexpr hp::extent_t bare = 2 * 50 * 24 + 24 + 3 * (2 * 24 * 32 + 2 * 24 * 16 + 2 * 24 + 3 * 24 * 40);
constexpr hp::extent_t qkv_biases = 3 * (32 + 2 * 16), output_biases = 3 * 24, query_key_norms = 3 * 2 * 8;

TEST(model_families, biases_are_where_the_family_has_them) {
  EXPECT_EQ(total(dense("llama")), bare);
  EXPECT_EQ(total(with(dense("llama"), {{"attention_bias", true}})), bare + qkv_biases + output_biases);
  EXPECT_EQ(total(with(dense("llama"), {{"mlp_bias", true}})), bare + 3 * (2 * 40 + 24));
  EXPECT_EQ(total(dense("mistral")), bare);
  EXPECT_EQ(complaint(with(dense("mistral"), {{"attention_bias", true}})),
            "unsupported: attention_bias is true; known: false");
  EXPECT_EQ(total(dense("qwen2")), bare + qkv_biases);
  EXPECT_EQ(total(dense("qwen3")), bare + query_key_norms);
  EXPECT_EQ(total(with(dense("qwen3"), {{"attention_bias", true}})),
            bare + query_key_norms + qkv_biases + output_biases);
  const hp::extent_t glm_bare = total(glm());
  EXPECT_EQ(total(with(glm(), {{"attention_bias", true}})), glm_bare + qkv_biases);
  EXPECT_EQ(total(with(glm(), {{"use_qk_norm", true}})), glm_bare + query_key_norms);
  EXPECT_EQ(total(with(dense("llama"), {{"tie_word_embeddings", true}})), bare - 50 * 24);
}

TEST(model_families, phi3_and_minicpm_are_llama_with_other_fields) {
  for (const char* family : {"phi3", "minicpm"}) {
    const json untied = with(dense(family), {{"tie_word_embeddings", false}});
    EXPECT_EQ(total(untied), bare);
    EXPECT_EQ(total(with(untied, {{"num_key_value_heads", nullptr}})),
              total(with(untied, {{"num_key_value_heads", 4}})));
  }
  EXPECT_EQ(total(dense("phi3")), bare);
  EXPECT_EQ(read(with(dense("phi3"), {{"sliding_window", 7}})).attention.window, 7);
  EXPECT_EQ(complaint(with(dense("phi3"), {{"lm_head_bias", true}})),
            "unsupported: lm_head_bias is true; known: false");
  // MiniCPM ties its head where the file does not say otherwise, and scales values.
  EXPECT_EQ(total(dense("minicpm")), bare - 50 * 24);
  EXPECT_EQ(total(with(dense("minicpm"), {{"attention_bias", true}})), bare - 50 * 24 + qkv_biases + output_biases);
  const hp::decoder d = read(with(
      dense("minicpm"), {{"scale_emb", 12}, {"scale_depth", 1.5}, {"dim_model_base", 6}, {"num_hidden_layers", 9}}));
  EXPECT_EQ(d.embedding_scale, 12.0);
  EXPECT_DOUBLE_EQ(d.branch_scale, 0.5);
  EXPECT_EQ(d.hidden_scale, 0.25);
  EXPECT_EQ(total(with(dense("minicpm"), {{"mup_denominator", 32}})), bare - 50 * 24);
  EXPECT_EQ(complaint(with(dense("minicpm"), {{"scale_emb", -1}})),
            "scale_emb is -1; expected a number greater than 0");
}

json gpt2() {
  return {{"model_type", "gpt2"}, {"vocab_size", 50}, {"n_embd", 32},
          {"n_layer", 3},         {"n_head", 4},      {"n_positions", 20}};
}
json neox() { return with(without(dense("gpt_neox"), "sliding_window"), {{"num_key_value_heads", nullptr}}); }
json gemma(const char* family) {
  return with(dense(family),
              {{"sliding_window", 7}, {"hidden_activation", "gelu_pytorch_tanh"}, {"query_pre_attn_scalar", 16}});
}
json oss() {
  return with(dense("gpt_oss"), {{"sliding_window", 7}, {"num_local_experts", 6}, {"num_experts_per_tok", 2}});
}

TEST(model_families, gpt2_and_gpt_neox_have_layer_norms_and_biases) {
  const hp::extent_t layer = 4 * 32 * 32 + 4 * 32 + 2 * 32 * 128 + 128 + 32 + 4 * 32;
  EXPECT_EQ(total(gpt2()), 50 * 32 + 20 * 32 + 3 * layer + 2 * 32);
  EXPECT_EQ(total(with(gpt2(), {{"tie_word_embeddings", false}})), total(gpt2()) + 50 * 32);
  EXPECT_EQ(total(gpt2()) - total(with(gpt2(), {{"n_inner", 100}})), 3 * 28 * (2 * 32 + 1));
  EXPECT_EQ(read(gpt2()).form, hp::feed_forward_form::gelu_tanh);
  EXPECT_EQ(read(with(gpt2(), {{"activation_function", "gelu"}})).form, hp::feed_forward_form::gelu);
  EXPECT_EQ(complaint(with(gpt2(), {{"activation_function", "relu"}})),
            "unsupported: activation_function is \"relu\"; known: \"gelu\", \"gelu_new\", \"gelu_fast\", "
            "\"gelu_pytorch_tanh\"");
  EXPECT_EQ(complaint(with(gpt2(), {{"n_head", 5}})), "n_embd is 32; expected a multiple of n_head, 5");
  EXPECT_EQ(complaint(with(gpt2(), {{"scale_attn_by_inverse_layer_idx", true}})),
            "unsupported: scale_attn_by_inverse_layer_idx is true; known: false");
  EXPECT_EQ(complaint(with(gpt2(), {{"n_ctx", 21}})), "unsupported: n_ctx is 21; known: 20");

  const hp::extent_t biases = 3 * (3 * 32 + 24) + 3 * (40 + 24), norms = 24 + 3 * 2 * 24;
  EXPECT_EQ(total(neox()), 2 * 50 * 24 + 2 * norms + 3 * (4 * 24 * 32 + 2 * 24 * 40) + biases);
  EXPECT_EQ(total(neox()) - total(with(neox(), {{"attention_bias", false}})), 3 * (3 * 32 + 24));
  EXPECT_TRUE(read(neox()).side_by_side);
  EXPECT_FALSE(read(with(neox(), {{"use_parallel_residual", false}})).side_by_side);
  EXPECT_EQ(complaint(with(neox(), {{"num_key_value_heads", 2}})),
            "unsupported: num_key_value_heads is 2; known: as many as num_attention_heads");
}

TEST(model_families, gemma_has_four_norms_caps_and_windows_in_turn) {
  for (const char* family : {"gemma2", "gemma3_text"}) {
    const hp::extent_t norms = 3 * 2 * 24 + (family[5] == '3' ? query_key_norms : 0);
    EXPECT_EQ(total(gemma(family)), bare - 50 * 24 + norms);
    EXPECT_EQ(read(gemma(family)).attention.scale, 0.25);
    EXPECT_EQ(complaint(with(gemma(family), {{"hidden_act", "silu"}})),
              "unsupported: hidden_act is \"silu\"; known: \"gelu_pytorch_tanh\"");
  }
  const auto windows = [](const json& config) {
    std::string of;
    const hp::decoder d = read(config);
    for (hp::extent_t layer = 0; layer < d.layers; ++layer) of += d.is_windowed(layer) ? 'w' : '-';
    return of;
  };
  EXPECT_EQ(windows(gemma("gemma2")), "w-w");
  EXPECT_EQ(windows(with(gemma("gemma3_text"), {{"num_hidden_layers", 8}})), "wwwww-ww");
  EXPECT_EQ(windows(with(gemma("gemma3_text"), {{"num_hidden_layers", 8}, {"sliding_window_pattern", 4}})), "www-www-");
  EXPECT_EQ(windows(with(oss(), {{"num_hidden_layers", 4}})), "w-w-");
  EXPECT_EQ(complaint(with(gemma("gemma2"), {{"layer_types", {"full_attention", "full_attention", "full_attention"}}}))
                .substr(0, 27),
            "unsupported: layer_types is");
  EXPECT_EQ(read(gemma("gemma2")).attention.score_cap, 50.0);
  EXPECT_EQ(read(gemma("gemma2")).logit_cap, 30.0);
  EXPECT_EQ(read(with(gemma("gemma2"), {{"attn_logit_softcapping", nullptr}})).attention.score_cap, 0.0);
  EXPECT_EQ(read(gemma("gemma3_text")).attention.score_cap, 0.0);
  EXPECT_EQ(read(gemma("gemma3_text")).attention.rope_base, 1e6);
  EXPECT_EQ(read(with(gemma("gemma3_text"), {{"rope_local_base_freq", 5}})).windowed_rope_base, 5.0);
}

TEST(model_families, gpt_oss_has_sinks_and_biases_of_experts) {
  const hp::decoder_parameters<> p = hp::parameters_of(read(oss()));
  EXPECT_EQ(p.attention, 3 * (2 * 24 * 32 + 2 * 24 * 16 + 32 + 2 * 16 + 24 + 4));
  EXPECT_EQ(p.experts, 3 * 6 * (3 * 24 * 40 + 2 * 40 + 24));
  EXPECT_EQ(p.router, 3 * (24 * 6 + 6));
  EXPECT_EQ(hp::active_parameters_of(read(oss())).experts * 3, p.experts);
  EXPECT_EQ(read(oss()).experts.gate_limit, 7.0);
  EXPECT_EQ(read(with(oss(), {{"swiglu_limit", 3}})).experts.gate_limit, 3.0);
  EXPECT_EQ(complaint(with(oss(), {{"attention_bias", false}})), "unsupported: attention_bias is false; known: true");
  EXPECT_EQ(complaint(with(oss(), {{"experts_per_token", 3}})), "unsupported: experts_per_token is 3; known: 2");
}

TEST(model_families, layers_with_experts) {
  const auto sparse_layers = [](const json& config) {
    std::string layers;
    const hp::decoder d = read(config);
    for (hp::extent_t layer = 0; layer < d.layers; ++layer)
      if (d.is_sparse(layer)) layers += std::to_string(layer);
    return layers;
  };
  EXPECT_EQ(sparse_layers(sparse("qwen3_moe")), "012");
  EXPECT_EQ(sparse_layers(with(sparse("qwen3_moe"), {{"decoder_sparse_step", 2}})), "1");
  EXPECT_EQ(sparse_layers(with(sparse("qwen3_moe"), {{"mlp_only_layers", {0}}})), "12");
  EXPECT_EQ(sparse_layers(with(sparse("qwen3_moe"), {{"num_experts", 0}})), "");
  EXPECT_EQ(complaint(with(sparse("qwen3_moe"), {{"mlp_only_layers", {3}}})),
            "mlp_only_layers is [3]; expected numbers of layers from 0 to 2");
  EXPECT_EQ(complaint(with(sparse("qwen3_moe"), {{"mlp_only_layers", 3}})),
            "mlp_only_layers is 3; expected a list of layers");
  EXPECT_EQ(sparse_layers(with(dense("mixtral"), {{"num_local_experts", 4}, {"num_experts_per_tok", 2}})), "012");
  EXPECT_EQ(sparse_layers(deepseek("deepseek_v2")), "12");
  EXPECT_EQ(sparse_layers(with(deepseek("deepseek_v3"), {{"moe_layer_freq", 2}})), "2");
  EXPECT_EQ(sparse_layers(glm()), "12");
}

TEST(model_families, routers_and_shared_experts) {
  const auto parts = [](const json& config) { return hp::parameters_of(read(config)); };
  const json qwen2 = with(sparse("qwen2_moe"), {{"shared_expert_intermediate_size", 20}});
  EXPECT_EQ(parts(qwen2).shared_experts, 3 * (3 * 24 * 20 + 24));
  EXPECT_EQ(parts(qwen2).router, 3 * 24 * 6);
  EXPECT_EQ(parts(with(qwen2, {{"qkv_bias", false}})).attention + qkv_biases, parts(qwen2).attention);
  EXPECT_EQ(parts(deepseek("deepseek_v2")).router, 2 * 24 * 6);
  for (const char* family : {"deepseek_v3", "kimi_k2"}) EXPECT_EQ(parts(deepseek(family)).router, 2 * (24 * 6 + 6));
  EXPECT_EQ(parts(glm()).router, 2 * (24 * 6 + 6));
  EXPECT_EQ(parts(with(deepseek("deepseek_v2"), {{"n_shared_experts", 2}})).shared_experts, 2 * 3 * 24 * 20);
  EXPECT_EQ(complaint(with(deepseek("deepseek_v2"), {{"topk_method", "noaux_tc"}})),
            "unsupported: topk_method is \"noaux_tc\"; known: \"greedy\", \"group_limited_greedy\"");
  // A published file names what its family never has, or always.
  const json coder = {{"qkv_bias", false}, {"use_qk_norm", true}, {"shared_expert_intermediate_size", 0}};
  EXPECT_EQ(total(with(sparse("qwen3_moe"), coder)), total(sparse("qwen3_moe")));
  EXPECT_EQ(complaint(with(sparse("qwen3_moe"), {{"shared_expert_intermediate_size", 20}})),
            "unsupported: shared_expert_intermediate_size is 20; known: 0");
}

TEST(model_families, modules_of_multi_token_prediction_are_apart) {
  const json v3 = deepseek("deepseek_v3");
  const json predicting = with(v3, {{"num_nextn_predict_layers", 1}});
  EXPECT_EQ(total(predicting), total(v3));
  // A block with experts, a projection of two hidden vectors, three norms, and copies of embedding and head.
  const hp::extent_t block = total(with(v3, {{"num_hidden_layers", 4}})) - total(v3);
  EXPECT_EQ(hp::parameters_of(read(predicting)).prediction, block + 2 * 24 * 24 + 3 * 24 + 2 * 50 * 24);
}

TEST(model_families, what_a_family_cannot_do_without_is_named) {
  const auto needs = [](const json& config, const std::vector<const char*>& names) {
    EXPECT_EQ(complaint(config), "read");
    for (const char* name : names) EXPECT_EQ(complaint(without(config, name)), std::string(name) + " is missing");
  };
  const std::vector<const char*> trunk = {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"};
  for (const char* family : {"llama", "mistral", "qwen2", "qwen3"}) {
    needs(dense(family), trunk);
    needs(dense(family), {"intermediate_size"});
  }
  for (const char* family : {"phi3", "minicpm"}) {
    needs(dense(family), trunk);
    needs(dense(family), {"intermediate_size"});
  }
  needs(gpt2(), {"vocab_size", "n_embd", "n_layer", "n_head", "n_positions"});
  needs(neox(), trunk);
  for (const char* family : {"gemma2", "gemma3_text"}) {
    needs(gemma(family), trunk);
    needs(gemma(family), {"num_key_value_heads", "head_dim", "intermediate_size"});
  }
  needs(oss(), {"num_key_value_heads", "head_dim", "num_local_experts", "num_experts_per_tok", "intermediate_size"});
  EXPECT_EQ(complaint(without(dense("llama"), "num_key_value_heads")), "read");
  needs(dense("mistral"), {"num_key_value_heads"});
  needs(dense("qwen3"), {"num_key_value_heads", "head_dim"});
  needs(with(sparse("qwen2_moe"), {{"shared_expert_intermediate_size", 20}}),
        {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size"});
  needs(with(dense("mixtral"), {{"num_local_experts", 4}, {"num_experts_per_tok", 2}}),
        {"num_local_experts", "num_experts_per_tok", "intermediate_size"});
  for (const char* family : {"deepseek_v2", "deepseek_v3", "kimi_k2"}) {
    needs(deepseek(family), trunk);
    needs(deepseek(family), {"kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"});
  }
  needs(glm(), {"head_dim", "n_routed_experts", "first_k_dense_replace"});
}

}  // namespace
