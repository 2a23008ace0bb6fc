// SPDX-License-Identifier: Apache-2.0
// The text inside a model that also sees has its published count; what stands beside it is named.

#include <hyperparallel/io/nested_config.hpp>

#include <hyperparallel/io/model_config.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

const json kimi_k2 = {{"architectures", {"DeepseekV3ForCausalLM"}},
                      {"model_type", "kimi_k2"},
                      {"vocab_size", 163840},
                      {"hidden_size", 7168},
                      {"intermediate_size", 18432},
                      {"moe_intermediate_size", 2048},
                      {"num_hidden_layers", 61},
                      {"first_k_dense_replace", 1},
                      {"moe_layer_freq", 1},
                      {"num_attention_heads", 64},
                      {"num_key_value_heads", 64},
                      {"n_routed_experts", 384},
                      {"n_shared_experts", 1},
                      {"num_experts_per_tok", 8},
                      {"q_lora_rank", 1536},
                      {"kv_lora_rank", 512},
                      {"qk_nope_head_dim", 128},
                      {"qk_rope_head_dim", 64},
                      {"v_head_dim", 128},
                      {"hidden_act", "silu"},
                      {"scoring_func", "sigmoid"},
                      {"topk_method", "noaux_tc"},
                      {"norm_topk_prob", true}};

const json qwen3_vl_2b = {{"model_type", "qwen3_vl_text"}, {"vocab_size", 151936},
                          {"hidden_size", 2048},           {"intermediate_size", 6144},
                          {"num_hidden_layers", 28},       {"num_attention_heads", 16},
                          {"num_key_value_heads", 8},      {"head_dim", 128},
                          {"hidden_act", "silu"},          {"attention_bias", false},
                          {"tie_word_embeddings", true}};

/// A model that sees, as Kimi K2.5's file has it.
json seeing(const json& text, const json& changes = json::object()) {
  json file = {{"architectures", {"KimiK25ForConditionalGeneration"}},
               {"model_type", "kimi_k25"},
               {"text_config", text},
               {"vision_config", {{"hidden_size", 1152}, {"patch_size", 14}}},
               {"media_placeholder_token_id", 163605},
               {"use_unified_vision_chunk", true},
               {"ignore_index", -100},
               {"auto_map", {{"AutoModel", "modeling.M"}}},
               {"dtype", "bfloat16"}};
  file.update(changes);
  return file;
}

hp::model_config read(const json& file) { return hp::parse_model_config(file.dump(), "c.json"); }

std::string complaint(const json& file) {
  try {
    read(file);
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "read";
}

TEST(nested_config, the_text_of_kimi_k25_has_its_published_count) {
  const hp::model_config c = read(seeing(kimi_k2));
  EXPECT_EQ(c.family, "kimi_k2");
  EXPECT_EQ(hp::parameters_of(c.model).total(), 1'026'408'232'448);
  EXPECT_EQ(c.towers, std::vector<std::string>{"vision_config"});
  EXPECT_TRUE(c.set_aside.empty());
  EXPECT_TRUE(read(kimi_k2).towers.empty());
}

// The checkpoint of Qwen3-VL-2B has 2 127 532 032 parameters, 406 957 056 of them in its tower.
TEST(nested_config, the_text_of_qwen3_vl_has_what_its_tower_leaves) {
  const json file = seeing(qwen3_vl_2b, {{"model_type", "qwen3_vl"}, {"tie_word_embeddings", true}});
  EXPECT_EQ(hp::parameters_of(read(file).model).total(), 2'127'532'032 - 406'957'056);
}

TEST(nested_config, other_names_of_the_text_are_known) {
  for (const char* name : {"llm_config", "language_config"}) {
    json file = seeing(kimi_k2, {{name, kimi_k2}});
    file.erase("text_config");
    EXPECT_EQ(hp::parameters_of(read(file).model).total(), 1'026'408'232'448);
  }
}

TEST(nested_config, all_objects_beside_the_text_are_towers) {
  const json file = seeing(kimi_k2, {{"audio_config", {{"layers", 2}}}, {"img_token_compression_config", {{"n", 1}}}});
  EXPECT_EQ(read(file).towers,
            (std::vector<std::string>{"audio_config", "img_token_compression_config", "vision_config"}));
}

TEST(nested_config, what_holds_of_the_file_holds_of_the_text) {
  const hp::extent_t untied = hp::parameters_of(read(seeing(kimi_k2)).model).total();
  EXPECT_EQ(hp::parameters_of(read(seeing(kimi_k2, {{"tie_word_embeddings", true}})).model).total(),
            untied - hp::extent_t{163840} * 7168);
  EXPECT_EQ(complaint(seeing(qwen3_vl_2b, {{"tie_word_embeddings", false}})),
            "cannot read 'c.json': tie_word_embeddings is false; known: what text_config says, true");
  // A field that is null is one that is absent.
  json text = qwen3_vl_2b;
  EXPECT_EQ(hp::parameters_of(read(seeing(text, {{"tie_word_embeddings", nullptr}})).model).total(), 1'720'574'976);
  text["tie_word_embeddings"] = nullptr;
  EXPECT_EQ(hp::parameters_of(read(seeing(text, {{"tie_word_embeddings", true}})).model).total(), 1'720'574'976);
  const json stored = {{"quant_method", "fp8"}}, other = {{"quant_method", "awq"}};
  text = kimi_k2;
  const auto storage_of = [&] {
    return hp::detail::nested_text(seeing(text, {{"quantization_config", stored}}), "c.json",
                                   [](const std::string&) { return true; })
        ->text["quantization_config"];
  };
  EXPECT_EQ(storage_of(), stored);
  text["quantization_config"] = other;
  EXPECT_EQ(storage_of(), other);
}

TEST(nested_config, errors_name_the_object_and_the_field) {
  const std::string at = "cannot read 'c.json': ";
  json text = kimi_k2;
  text["hidden_size"] = -4;
  EXPECT_EQ(complaint(seeing(text)), at + "text_config.hidden_size is -4; expected a whole number from 1 to 16777216");
  text["hidden_size"] = 7168;
  text["sinks"] = 1;
  EXPECT_EQ(complaint(seeing(text)),
            at + "text_config.sinks is 1; a field that is not known of kimi_k2 and may change its layers");
  EXPECT_EQ(complaint(seeing(kimi_k2, {{"cross_layers", 4}})),
            at + "cross_layers is 4; not known beside text_config and may change the text's layers");
  text["model_type"] = "qwen3_9_text";
  EXPECT_EQ(complaint(seeing(text, {{"cross_layers", 4}}))
                .find(at + "text_config.model_type is \"qwen3_9_text\"; nearest name: "),
            0U);
  text.erase("model_type");
  EXPECT_EQ(complaint(seeing(text)).find(at + "text_config.model_type is missing; known: llama"), 0U);
  // A family of its own with such a field is not read as another.
  EXPECT_NE(complaint({{"model_type", "llama"}, {"text_config", kimi_k2}}), "read");
}

}  // namespace
