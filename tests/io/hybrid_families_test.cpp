// SPDX-License-Identifier: Apache-2.0
// Families with linear attention: totals that their publishers name, and what their files may say.
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

json with(json object, const json& more) {
  object.update(more);
  return object;
}
hp::decoder read(const json& config) { return hp::parse_model_config(config.dump(), "f").model; }
std::string complaint(const json& config) {
  try {
    read(config);
  } catch (const hp::io_error& e) {
    return std::string(e.what()).substr(17);
  }
  return "read";
}

/// Qwen3-Next-80B-A3B as its config.json was published.
const json qwen3_next = {{"model_type", "qwen3_next"},
                         {"vocab_size", 151936},
                         {"hidden_size", 2048},
                         {"num_hidden_layers", 48},
                         {"num_attention_heads", 16},
                         {"num_key_value_heads", 2},
                         {"head_dim", 256},
                         {"intermediate_size", 5120},
                         {"full_attention_interval", 4},
                         {"linear_num_key_heads", 16},
                         {"linear_num_value_heads", 32},
                         {"linear_key_head_dim", 128},
                         {"linear_value_head_dim", 128},
                         {"linear_conv_kernel_dim", 4},
                         {"num_experts", 512},
                         {"num_experts_per_tok", 10},
                         {"moe_intermediate_size", 512},
                         {"shared_expert_intermediate_size", 512},
                         {"decoder_sparse_step", 1},
                         {"mlp_only_layers", json::array()},
                         {"norm_topk_prob", true},
                         {"partial_rotary_factor", 0.25},
                         {"tie_word_embeddings", false}};
json dense() {
  json d = with(qwen3_next, {{"model_type", "qwen3_5_text"}, {"attn_output_gate", true}, {"mtp_num_hidden_layers", 1}});
  for (const char* name : {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "decoder_sparse_step",
                           "shared_expert_intermediate_size", "norm_topk_prob"})
    d.erase(name);
  return d;
}

// 80B in all, 79B of them beside the embedding, 3B active: the model's card.
TEST(hybrid_families, totals_of_qwen3_next) {
  const hp::decoder d = read(qwen3_next);
  const auto all = hp::parameters_of(d), active = hp::active_parameters_of(d);
  EXPECT_EQ(all.total(), 79'674'391'296);
  EXPECT_NEAR(static_cast<double>(all.total() - all.embedding), 79e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(active.total() - 2 * active.embedding), 3e9, 0.5e9);
  EXPECT_EQ(hp::cached_elements_per_token(d), 12 * 2 * 2 * 256);
  EXPECT_EQ(hp::state_elements_per_sequence(d), 36 * (32 * 128 * 128 + (2 * 16 * 128 + 32 * 128) * 3));
}

TEST(hybrid_families, the_last_layer_of_an_interval_attends_to_all) {
  const hp::decoder d = read(dense());
  EXPECT_TRUE(d.is_linear(0) && d.is_linear(2) && !d.is_linear(3) && d.is_full(3) && !d.is_linear(47));
  EXPECT_TRUE(d.is_full(48));  // the module of prediction
  EXPECT_TRUE(d.attention.output_gate && d.attention.query_key_norm);
  const auto p = hp::parameters_of(d);
  // A layer of full attention: queries and gates, keys and values, output, norms; three products of 5120.
  const hp::extent_t query = 16 * 256, key = 2 * 256,
                     block = 2048 * (3 * query + 2 * key) + 2 * 256 + 3 * 2048 * 5120 + 2 * 2048;
  EXPECT_EQ(p.prediction, block + 2 * 2048 * 2048 + 3 * 2048);
}

/// Nemotron 3 Nano as its config.json was published.
const json nano = {{"model_type", "nemotron_h"},
                   {"vocab_size", 131072},
                   {"hidden_size", 2688},
                   {"num_hidden_layers", 52},
                   {"hybrid_override_pattern", "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"},
                   {"num_attention_heads", 32},
                   {"num_key_value_heads", 2},
                   {"head_dim", 128},
                   {"intermediate_size", 1856},
                   {"mamba_num_heads", 64},
                   {"mamba_head_dim", 64},
                   {"n_groups", 8},
                   {"ssm_state_size", 128},
                   {"conv_kernel", 4},
                   {"n_routed_experts", 128},
                   {"num_experts_per_tok", 6},
                   {"moe_intermediate_size", 1856},
                   {"n_shared_experts", 1},
                   {"moe_shared_expert_intermediate_size", 3712},
                   {"mlp_hidden_act", "relu2"}};
/// Nemotron 3 Super: experts in latents, one module of prediction.
json super() {
  return with(nano, {{"hidden_size", 4096},
                     {"num_hidden_layers", 88},
                     {"hybrid_override_pattern",
                      "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"},
                     {"intermediate_size", 2688},
                     {"mamba_num_heads", 128},
                     {"n_routed_experts", 512},
                     {"num_experts_per_tok", 22},
                     {"moe_intermediate_size", 2688},
                     {"moe_latent_size", 1024},
                     {"moe_shared_expert_intermediate_size", 5376},
                     {"num_nextn_predict_layers", 1},
                     {"mtp_hybrid_override_pattern", "*E"}});
}

// Nano: 31.6 billion in all, 3.6 active, embeddings included. Super: 120.6 in all, 12.7 active. Nemotron-H-56B: 56. All from their reports.
TEST(hybrid_families, totals_of_nemotron) {
  EXPECT_NEAR(static_cast<double>(hp::parameters_of(read(nano)).total()), 31.6e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(hp::active_parameters_of(read(nano)).total()), 3.6e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(hp::parameters_of(read(super())).total()), 120.6e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(hp::active_parameters_of(read(super())).total()), 12.7e9, 0.1e9);
  const json dense = with(nano, {{"hybrid_override_pattern", "M-*-"}, {"num_hidden_layers", 4}});
  const auto d = read(dense);
  EXPECT_TRUE(!d.has_experts && d.is_linear(0) && d.is_dense(1) && d.is_full(2) && d.is_dense(3));
  EXPECT_EQ(hp::cached_elements_per_token(d), 2 * 2 * 128);
}

TEST(hybrid_families, branches_in_words) {
  json words = json::array();
  for (const char letter : nano["hybrid_override_pattern"].get<std::string>())
    words.push_back(letter == 'M' ? "mamba" : letter == 'E' ? "moe" : "attention");
  json in_words = with(nano, {{"layers_block_type", words}});
  in_words.erase("hybrid_override_pattern");
  in_words.erase("num_hidden_layers");
  EXPECT_EQ(read(in_words).branches, read(nano).branches);
  EXPECT_EQ(hp::parameters_of(read(in_words)), hp::parameters_of(read(nano)));
  EXPECT_NE(
      complaint(with(nano, {{"hybrid_override_pattern", "ME?"}})).find("known: M (mamba), * (attention), - (mlp)"),
      std::string::npos);
  EXPECT_EQ(complaint(with(nano, {{"num_hidden_layers", 51}})),
            "num_hidden_layers is 51; expected those of hybrid_override_pattern, 52");
  EXPECT_EQ(complaint(with(nano, {{"n_groups", 7}})), "mamba_num_heads is 64; expected a multiple of n_groups, 7");
}

TEST(hybrid_families, the_graph_of_a_file_has_its_parameters) {
  for (const json& config : {dense(), with(qwen3_next, {{"num_experts", 16}}), nano, super()}) {
    const hp::decoder d = read(config);
    hp::model_builder m;
    const int batch = m.dim("batch", 1), sequence = m.dim("seq", 64);
    d(m, m.index_input("tokens", {batch, sequence}), m.index_input("labels", {batch, sequence}));
    EXPECT_EQ(m.graph.status.code, hp::graph_code::ok);
    hp::extent_t biases = 0;  // of routers, which are states
    for (hp::extent_t layer = 0; layer < d.layers; ++layer)
      biases += d.is_sparse(layer) && d.experts.scores == hp::expert_scores::sigmoid ? d.experts.experts : 0;
    EXPECT_EQ(hp::parameter_count(m.graph) + biases, hp::parameters_of(d).total());
  }
}

TEST(hybrid_families, what_contradicts_is_refused) {
  json types = json::array();
  for (int layer = 0; layer < 48; ++layer) types.push_back(layer % 4 == 3 ? "full_attention" : "linear_attention");
  EXPECT_EQ(complaint(with(qwen3_next, {{"layer_types", types}})), "read");
  types[0] = "full_attention";
  EXPECT_NE(complaint(with(qwen3_next, {{"layer_types", types}})).find("known: \"full_attention\" for one layer in"),
            std::string::npos);
  EXPECT_EQ(complaint(with(qwen3_next, {{"layer_types", {"full_attention"}}})),
            "layer_types is [\"full_attention\"]; expected a list of num_hidden_layers, 48, texts");
  EXPECT_EQ(complaint(with(qwen3_next, {{"linear_num_value_heads", 24}})),
            "linear_num_value_heads is 24; expected a multiple of linear_num_key_heads, 16");
  for (const char* name : {"linear_num_key_heads", "linear_key_head_dim", "linear_conv_kernel_dim"}) {
    json without = qwen3_next;
    without.erase(name);
    EXPECT_EQ(complaint(without), std::string(name) + " is missing") << complaint(without);
  }
}

}  // namespace
