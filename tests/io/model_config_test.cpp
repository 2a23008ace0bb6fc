// SPDX-License-Identifier: Apache-2.0
// Published files have their published counts; what is not known is named; no bytes crash the reader.

#include "workplace.hpp"

#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

const std::string llama3 = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.40.0",
  "use_cache": true, "vocab_size": 128256})";

const std::string deepseek_v2_lite = R"({
  "architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false, "auto_map": {"AutoConfig": "configuration.C"},
  "aux_loss_alpha": 0.001, "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 10944, "kv_lora_rank": 512, "model_type": "deepseek_v2", "moe_intermediate_size": 1408,
  "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2, "norm_topk_prob": false,
  "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
  "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
  "rope_scaling": {"factor": 40, "type": "yarn"}, "routed_scaling_factor": 1.0, "scoring_func": "softmax",
  "topk_group": 1, "topk_method": "greedy", "v_head_dim": 128, "vocab_size": 102400})";

const std::string qwen3_moe = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 6144, "max_window_layers": 48, "mlp_only_layers": [],
  "model_type": "qwen3_moe", "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32,
  "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
  "sliding_window": null, "use_sliding_window": false, "vocab_size": 151936})";

const std::string deepseek_v32 = R"({
  "architectures": ["DeepseekV32ForCausalLM"], "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168,
  "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048, "intermediate_size": 18432, "kv_lora_rank": 512,
  "model_type": "deepseek_v32", "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
  "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
  "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280})";

const std::string glm_5 = R"({
  "architectures": ["GlmMoeDsaForCausalLM"], "first_k_dense_replace": 3, "head_dim": 64, "hidden_act": "silu",
  "hidden_size": 6144, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048, "indexer_rope_interleave": true,
  "intermediate_size": 12288, "kv_lora_rank": 512, "model_type": "glm_moe_dsa", "moe_intermediate_size": 2048,
  "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64,
  "num_experts_per_tok": 8, "num_hidden_layers": 78, "num_key_value_heads": 64, "num_nextn_predict_layers": 1,
  "q_lora_rank": 2048, "qk_head_dim": 256, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-05,
  "rope_interleave": true, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc",
  "v_head_dim": 256, "vocab_size": 154880})";

const std::string minimax_m2 = R"({
  "architectures": ["MiniMaxM2ForCausalLM"], "head_dim": 128, "hidden_act": "silu", "hidden_size": 3072,
  "intermediate_size": 1536, "model_type": "minimax_m2", "mtp_transformer_layers": 1, "num_attention_heads": 48,
  "num_experts_per_tok": 8, "num_hidden_layers": 62, "num_key_value_heads": 8, "num_local_experts": 256,
  "num_mtp_modules": 3, "qk_norm_type": "per_layer", "rms_norm_eps": 1e-06, "rope_theta": 5000000, "rotary_dim": 64,
  "scoring_func": "sigmoid", "shared_intermediate_size": 0, "use_mtp": true, "use_qk_norm": true,
  "use_routing_bias": true, "vocab_size": 200064})";

const std::string llama4 =
    R"({"architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4", "text_config": {
  "attention_bias": false, "attention_chunk_size": 8192, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
  "interleave_moe_layer_step": 2, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
  "model_type": "llama4_text", "num_attention_heads": 40, "num_experts_per_tok": 1, "num_hidden_layers": 48,
  "num_key_value_heads": 8, "num_local_experts": 128, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
  "use_qk_norm": false, "vocab_size": 202048}, "vision_config": {"model_type": "llama4_vision_model"}})";

std::string complaint(const std::string& text) {
  try {
    hp::parse_model_config(text, "c.json");
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "read";
}

std::string edited(const json& changes, const std::string& text = llama3) {
  json object = json::parse(text);
  object.update(changes);
  return object.dump();
}

TEST(model_config, a_published_file_is_read) {
  const hp::model_config c = hp::parse_model_config(llama3, "c.json");
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(hp::parameters_of(c.model).total(), 8'030'261'248);
  EXPECT_EQ(c.model.attention.rope_base, 500000.0);
  EXPECT_EQ(c.model.epsilon, 1e-5);
  EXPECT_TRUE(c.set_aside.empty());
  EXPECT_EQ(c.positions.positions, 8192);
  const hp::model_config lite = hp::parse_model_config(deepseek_v2_lite, "c.json");
  EXPECT_EQ(hp::parameters_of(lite.model).total(), 15'706'484'224);
  EXPECT_EQ(hp::cached_elements_per_token(lite.model), 27 * 576);
  EXPECT_EQ(lite.set_aside, (std::vector<std::string>{"n_group", "rope_scaling", "topk_group"}));
}

/// Totals as published: DeepSeek-V3.2, GLM-5 and 5.2 with and without their module of prediction, MiniMax-M2, Llama 4's text.
TEST(model_config, models_of_2025_and_2026_have_their_published_totals) {
  const auto model = [](const std::string& text) { return hp::parse_model_config(text, "c.json").model; };
  const auto total = [](const hp::decoder& d) { return hp::parameters_of(d).total(); };
  const auto with_prediction = [](const hp::decoder& d) { return hp::parameters_of(d).total_with_prediction(); };
  const hp::decoder v32 = model(deepseek_v32), glm = model(glm_5);
  EXPECT_EQ(total(v32), 671'877'944'064);
  EXPECT_EQ(with_prediction(v32), 685'355'329'792);
  EXPECT_EQ(hp::cached_elements_per_token(v32), 42'944);
  EXPECT_EQ(hp::parameters_of(v32).indexers, 61 * 13'959'424);
  EXPECT_EQ(total(glm), 743'911'218'432);
  EXPECT_EQ(with_prediction(glm), 753'864'139'008);
  // One layer in four picks keys for the three behind it, and so does the module of prediction.
  json types = json::array();
  for (int layer = 0; layer < 78; ++layer) types.push_back(layer < 3 || layer % 4 == 2 ? "full" : "shared");
  const json freq = {{"index_topk_freq", 4}, {"index_skip_topk_offset", 3}, {"indexer_types", types}};
  EXPECT_EQ(with_prediction(model(edited(freq, glm_5))), 753'329'940'480);
  json others = freq;
  others["indexer_types"][7] = "full";
  EXPECT_NE(complaint(edited(others, glm_5)).find("known: \"full\" for the first index_skip_topk_offset layers"),
            std::string::npos);
  EXPECT_EQ(total(model(minimax_m2)), 228'689'764'864);
  EXPECT_EQ(model(minimax_m2).prediction_modules, 3);
  const hp::model_config maverick = hp::parse_model_config(llama4, "c.json");
  EXPECT_EQ(total(maverick.model), 400'711'848'960);
  EXPECT_EQ(hp::active_parameters_of(maverick.model).total(), 17'184'691'200);
  EXPECT_EQ(hp::cached_elements_per_token(maverick.model), 98'304);
  json scout = json::parse(llama4);
  scout["text_config"]["interleave_moe_layer_step"] = 1;
  scout["text_config"]["num_local_experts"] = 16;
  EXPECT_EQ(total(model(scout.dump())), 107'769'861'120);
}

TEST(model_config, a_file_of_an_unknown_family_is_refused_by_the_layer_that_is_missing) {
  EXPECT_EQ(complaint(edited({{"model_type", "other_h"}, {"hybrid_override_pattern", "M-M*"}})),
            "cannot read 'c.json': model_type is \"other_h\"; hybrid_override_pattern has M: Mamba-2 layers of this "
            "family are "
            "not known");
  EXPECT_EQ(
      complaint(R"({"text_config": {"model_type": "gemma4_text", "global_head_dim": 512}})"),
      "cannot read 'c.json': text_config.model_type is \"gemma4_text\"; global_head_dim is there: layers with heads of "
      "another size are not known");
}

TEST(model_config, the_graph_of_a_file_has_its_parameters) {
  for (const std::string& text : {llama3, deepseek_v2_lite, qwen3_moe, llama4}) {
    const hp::decoder d = hp::parse_model_config(text, "c.json").model;
    hp::model_builder m;
    const int batch = m.dim("batch", 1), sequence = m.dim("seq", 64);
    d(m, m.index_input("tokens", {batch, sequence}), m.index_input("labels", {batch, sequence}));
    EXPECT_EQ(m.graph.status.code, hp::graph_code::ok);
    EXPECT_EQ(hp::parameter_count(m.graph), hp::parameters_of(d).total());
  }
}

TEST(model_config, files_are_read_and_told_by_their_path) {
  const io_test::workplace here;
  here.put("config.json", llama3);
  EXPECT_EQ(hp::read_model_config(here.path("config.json")).family, "llama");
  here.put("empty.json", "");
  here.put("large.json", "{\"a\": \"" + std::string(hp::detail::largest_model_config, 'x') + "\"}");
  for (const auto& [name, reason] :
       {std::pair("missing.json", "No such file or directory"), std::pair("empty.json", "the file is empty"),
        std::pair("large.json", "the file is larger than 4194304 bytes")})
    try {
      hp::read_model_config(here.path(name));
      ADD_FAILURE() << name;
    } catch (const hp::io_error& e) {
      EXPECT_EQ(e.what(), "cannot read '" + here.path(name) + "': " + reason);
    }
}

TEST(model_config, what_is_not_known_is_named) {
  const std::string at = "cannot read 'c.json': ";
  EXPECT_EQ(complaint(edited({{"attention_sinks", 4}})),
            at + "attention_sinks is 4; a field that is not known of llama and may change its layers");
  EXPECT_EQ(complaint(edited({{"text_config", {{"hidden_size", 1}}}, {"q\nk", true}})),
            at + "q\\nk is true; text_config is {\"hidden_size\":1}; fields that are not known of llama and may change "
                 "its layers");
  EXPECT_EQ(complaint(edited({{"attention_sinks", nullptr}})), "read");
  json many = json::object();
  for (int i = 0; i < 20; ++i) many["field" + std::to_string(10 + i)] = i;
  EXPECT_NE(complaint(edited(many)).find("field17 is 7; and 12 more; fields that are not known"), std::string::npos);
  const std::string known =
      "known: llama, mistral, qwen2, qwen3, phi3, minicpm, gpt2, gpt_neox, gemma2, gemma3_text, mixtral, qwen2_moe, "
      "qwen3_moe, qwen3_next, deepseek_v2, deepseek_v3, deepseek_v32, kimi_k2, glm4_moe, glm_moe_dsa, gpt_oss, mimo, "
      "nemotron_h, minimax_m2, "
      "llama4_text, qwen2_5_vl_text, qwen3_vl_text, qwen3_5_text, qwen3_5_moe_text, "
      "qwen3_vl_moe_text";
  EXPECT_EQ(complaint(edited({{"model_type", "llama9"}})),
            at + "model_type is \"llama9\"; nearest name: llama; " + known);
  EXPECT_EQ(complaint(edited({{"model_type", 7}})), at + "model_type is 7; " + known);
  EXPECT_EQ(complaint("{}"), at + "model_type is missing; " + known);
  EXPECT_EQ(complaint(edited({{"architectures", {"LlamaForSequenceClassification"}}})),
            at + "architectures is [\"LlamaForSequenceClassification\"]; known: [\"LlamaForCausalLM\"]");
  EXPECT_EQ(complaint(edited({{"is_encoder_decoder", true}})), at + "is_encoder_decoder is true; known: false");
  EXPECT_EQ(complaint(edited({{"pruned_heads", {{"0", {1}}}}})), at + "pruned_heads is {\"0\":[1]}; known: {}");
  EXPECT_EQ(
      complaint(edited({{"auto_map", {{"AutoModel", "mine.M"}}}})),
      at + "auto_map is {\"AutoModel\":\"mine.M\"}; a field that is not known of llama and may change its layers");
  const hp::model_config packed = hp::parse_model_config(edited({{"quantization_config", {{"bits", 4}}}}), "c");
  EXPECT_EQ(packed.weights.unknown.substr(0, 25), "quant_method is missing; ");
  EXPECT_TRUE(packed.set_aside.empty());
  // Attention in chunks has neither weights nor a cache of its own.
  EXPECT_EQ(hp::parse_model_config(edited({{"dual_chunk_attention_config", {{"chunk_size", 262144}}}}), "c").set_aside,
            std::vector<std::string>{"dual_chunk_attention_config"});
}

TEST(model_config, the_nearest_family_is_named) {
  const auto nearest = [](const char* type) {
    const std::string line = complaint(edited({{"model_type", type}}));
    const std::size_t from = line.find("nearest name: ") + 14;
    return line.substr(from, line.find(';', from) - from);
  };
  EXPECT_EQ(nearest("qwen_3"), "qwen3");
  EXPECT_EQ(nearest("deepseek_v33"), "deepseek_v3");
  EXPECT_EQ(nearest("kimi_k25"), "kimi_k2");
  EXPECT_EQ(nearest("gpt-neox"), "gpt_neox");
  EXPECT_EQ(nearest("gemma2\n"), "gemma2");
  EXPECT_EQ(nearest("lama"), "llama");
  EXPECT_EQ(nearest("llama5_text"), "llama4_text");
  EXPECT_EQ(nearest("glm_moe_ds"), "glm_moe_dsa");
  // None is like these.
  for (const char* type : {"", "rwkv7", "nemotron_h", "step3p7"})
    EXPECT_EQ(complaint(edited({{"model_type", type}})).find("nearest"), std::string::npos) << type;
}

// As Python's json writes them; a field that the layers heed names itself.
TEST(model_config, numbers_that_are_not_finite_are_read_where_no_layer_heeds_them) {
  const auto with = [](const std::string& field) { return llama3.substr(0, llama3.size() - 1) + ", " + field + "}"; };
  const std::string at = "cannot read 'c.json': ";
  EXPECT_EQ(complaint(with("\"router_aux_loss_coef\": Infinity, \"initializer_range2\": null")), "read");
  EXPECT_EQ(hp::parse_model_config(with("\"sparse_config\": {\"scale\": [NaN, -Infinity]}"), "c").set_aside,
            std::vector<std::string>{"sparse_config"});
  EXPECT_EQ(complaint(with("\"time_step_limit\": [0.0, Infinity]")),
            at + "time_step_limit is [0.0,Infinity]; a field that is not known of llama and may change its layers");
  EXPECT_EQ(complaint(with("\"head_dim\": NaN")), at + "head_dim is NaN; expected a whole number from 1 to 16777216");
  const std::string theta = "\"rope_theta\": 500000.0";
  for (const std::string number : {"Infinity", "-Infinity", "NaN"}) {
    std::string text = llama3;
    text.replace(text.find(theta), theta.size(), "\"rope_theta\": " + number);
    EXPECT_EQ(complaint(text), at + "rope_theta is " + number + "; expected a " +
                                   (number == "Infinity" ? "finite number" : "number") + " greater than 0");
  }
}

TEST(model_config, sizes_that_cannot_be_are_refused) {
  const std::string at = "cannot read 'c.json': ";
  const std::string range = "; expected a whole number from 1 to 16777216";
  EXPECT_EQ(complaint(edited({{"hidden_size", -4096}})), at + "hidden_size is -4096" + range);
  EXPECT_EQ(complaint(edited({{"vocab_size", 1e9}})), at + "vocab_size is 1000000000.0" + range);
  EXPECT_EQ(complaint(edited({{"num_hidden_layers", 1000000}})),
            at + "num_hidden_layers is 1000000; expected a whole number from 1 to 65536");
  const json huge = {{"hidden_size", 1 << 24}, {"intermediate_size", 1 << 24}, {"num_hidden_layers", 1 << 16}};
  EXPECT_EQ(complaint(edited(huge)), at + "the model has 2^62 parameters or more");
  EXPECT_EQ(complaint(std::string(5000000, ' ')), at + "the file is larger than 4194304 bytes");
  std::string deep = "{\"rope_scaling\":";
  for (int i = 0; i < 40; ++i) deep += '[';
  EXPECT_EQ(complaint(deep), at + "the file is nested deeper than 32 levels");
}

/// A value of any type, mostly one that no field can have.
std::string hostile_value(std::mt19937_64& random) {
  static const std::vector<std::string> values = {"-1",
                                                  "0",
                                                  "1",
                                                  "3",
                                                  "4096",
                                                  "16777216",
                                                  "16777217",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "18446744073709551615",
                                                  "99999999999999999999999",
                                                  "-9223372036854775808",
                                                  "1e308",
                                                  "1e999",
                                                  "-0.0",
                                                  "4.5",
                                                  "NaN",
                                                  "null",
                                                  "true",
                                                  "false",
                                                  "\"\"",
                                                  "\"silu\"",
                                                  "\"a\\nb\"",
                                                  "\"\xff\"",
                                                  "\"\\ud800\"",
                                                  "[]",
                                                  "{}",
                                                  "[[[[]]]]",
                                                  "[1, -2]",
                                                  "{\"a\": 1, \"a\": 2}",
                                                  "\"" + std::string(500, 'x') + "\"",
                                                  std::string(100, '[')};
  return values[random() % values.size()];
}

/// `text` with a few bytes changed, a piece cut out or put in twice, a field's value replaced, or its end gone.
std::string mutated(std::string text, std::mt19937_64& random) {
  for (std::uint64_t changes = 1 + random() % 3; changes > 0 && !text.empty(); --changes) {
    const std::size_t at = random() % text.size(), size = random() % 40;
    switch (random() % 6) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 2:
        text.erase(at, size);
        break;
      case 3:
        text.insert(at, text.substr(random() % text.size(), size));
        break;
      case 4:
        text.insert(at, hostile_value(random));
        break;
      default: {
        const std::size_t colon = text.find(':', at);
        if (colon == std::string::npos) break;
        const std::size_t end = text.find_first_of(",}", colon);
        text.replace(colon + 1, (end == std::string::npos ? text.size() : end) - colon - 1, hostile_value(random));
      }
    }
  }
  return text;
}

TEST(model_config, no_text_crashes_the_reader_and_every_error_is_one_line) {
  std::mt19937_64 random(7);
  int read = 0, refused = 0;
  for (int trial = 0; trial < 30000; ++trial) {
    const std::string& base = trial % 3 == 0 ? llama3 : trial % 3 == 1 ? deepseek_v2_lite : qwen3_moe;
    const std::string text = mutated(base, random);
    try {
      const hp::model_config c = hp::parse_model_config(text, "c.json");
      const hp::decoder_parameters<> all = hp::parameters_of(c.model), active = hp::active_parameters_of(c.model);
      ASSERT_GT(all.total(), 0);
      ASSERT_LE(active.total(), all.total());
      ASSERT_GT(hp::cached_elements_per_token(c.model), 0);
      ++read;
    } catch (const hp::io_error& e) {
      const std::string what = e.what();
      ASSERT_EQ(what.rfind("cannot read 'c.json': ", 0), 0u) << what;
      ASSERT_EQ(what.find_first_of("\n\r"), std::string::npos) << what;
      ASSERT_LT(what.size(), 1500u) << what;
      ++refused;
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 10000);
}

}  // namespace
