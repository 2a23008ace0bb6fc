// SPDX-License-Identifier: Apache-2.0
// Bytes of published checkpoints from their config.json; each format by its definition; what is not known is said.

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/planner/serving_amounts.hpp>
#include <hyperparallel/planner/weight_storage.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

json llama(json quantization) {
  return {{"model_type", "llama"},      {"hidden_size", 16384},
          {"intermediate_size", 53248}, {"num_attention_heads", 128},
          {"num_hidden_layers", 126},   {"num_key_value_heads", 8},
          {"vocab_size", 128256},       {"quantization_config", std::move(quantization)}};
}
json deepseek_v3(json quantization) {
  return {{"model_type", "deepseek_v3"}, {"first_k_dense_replace", 3},
          {"hidden_size", 7168},         {"intermediate_size", 18432},
          {"kv_lora_rank", 512},         {"moe_intermediate_size", 2048},
          {"n_routed_experts", 256},     {"n_shared_experts", 1},
          {"num_attention_heads", 128},  {"num_experts_per_tok", 8},
          {"num_hidden_layers", 61},     {"num_key_value_heads", 128},
          {"q_lora_rank", 1536},         {"qk_nope_head_dim", 128},
          {"qk_rope_head_dim", 64},      {"v_head_dim", 128},
          {"vocab_size", 129280},        {"num_nextn_predict_layers", 1},
          {"scoring_func", "sigmoid"},   {"quantization_config", std::move(quantization)}};
}
json gpt_oss() {
  return {{"model_type", "gpt_oss"},
          {"hidden_size", 2880},
          {"intermediate_size", 2880},
          {"num_local_experts", 128},
          {"num_experts_per_tok", 4},
          {"num_hidden_layers", 36},
          {"num_attention_heads", 64},
          {"num_key_value_heads", 8},
          {"head_dim", 64},
          {"vocab_size", 201088},
          {"quantization_config",
           {{"quant_method", "mxfp4"},
            {"modules_to_not_convert",
             {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}}}}};
}
json dense(json quantization, hp::extent_t layers = 2) {
  return {{"model_type", "llama"},
          {"hidden_size", 256},
          {"intermediate_size", 512},
          {"num_attention_heads", 4},
          {"num_hidden_layers", layers},
          {"vocab_size", 1000},
          {"quantization_config", std::move(quantization)}};
}
const json block = {128, 128};

hp::model_config read(const json& object) { return hp::parse_model_config(object.dump(), "c.json"); }

hp::extent_t bits_of(const hp::model_config& c) {
  hp::serving_plan p;
  p.weights = c.weights.storage;
  return hp::serving_amounts_of(c.model, p, 0).weight_bits();
}
hp::extent_t bits_of(const json& object) {
  const hp::model_config c = read(object);
  EXPECT_EQ(c.weights.unknown, "") << object["quantization_config"];
  EXPECT_FALSE(c.weights.storage.empty());
  return bits_of(c);
}
std::string unknown(const json& quantization) {
  const hp::model_config c = read(dense(quantization));
  EXPECT_TRUE(c.weights.storage.empty());
  return c.weights.unknown;
}

constexpr hp::extent_t attention = 4 * 256 * 256, fed = 3 * 256 * 512, table = 1000 * 256;
constexpr hp::extent_t kept = 16 * (2 * table + 5 * 256);  // tables and norms of `dense`

}  // namespace

TEST(WeightFormats, PublishedCheckpoints) {
  // gpt-oss-120b: the total of its files.
  EXPECT_EQ(bits_of(gpt_oss()), 8 * hp::extent_t{65'248'815'744});
  // DeepSeek-R1 in blocks of 128 x 128: all files are 688.59 GB, 12 MB of it headers and 15.42 GB the module of multi-token
  // prediction.
  const hp::extent_t r1 = bits_of(deepseek_v3({{"quant_method", "fp8"}, {"weight_block_size", block}}));
  EXPECT_NEAR(static_cast<double>(r1) / 8e9, 688.59 - 15.42, 0.05);
  // Llama 3.1 405B of Meta's FP8: attention, embedding and head in 16 bits.
  const json meta = {{"quant_method", "fbgemm_fp8"}, {"modules_to_not_convert", {"lm_head", "self_attn"}}};
  const hp::extent_t width = 53248, hidden = 16384, layers = 126;
  EXPECT_EQ(bits_of(llama(meta)),
            16 * 405'853'388'800 - 8 * 3 * layers * width * hidden + 32 * layers * (2 * width + hidden));
}

TEST(WeightFormats, EachByItsDefinition) {
  const auto two = [](hp::extent_t of_layer) { return kept + 2 * of_layer; };
  EXPECT_EQ(bits_of(dense({{"quant_method", "fp8"}, {"weight_block_size", block}})),
            two(8 * (attention + fed) + 32 * (4 * 4 + 3 * 8)));
  EXPECT_EQ(bits_of(dense({{"quant_method", "fp8"}, {"activation_scheme", "static"}})),
            two(8 * (attention + fed) + 7 * 64));
  EXPECT_EQ(bits_of(dense({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}})),
            two(4 * (attention + fed) + 20 * (attention + fed) / 128 + 32 * (4 * 256 + 2 * 256 + 512)));
  EXPECT_EQ(bits_of(dense({{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 64}})),
            two(4 * (attention + fed) + 20 * (attention + fed) / 64));
  EXPECT_EQ(bits_of(dense({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}})),
            two(8 * (attention + fed) + 32 * (4 * 256 + 2 * 512 + 256)));
  EXPECT_EQ(bits_of(dense({{"load_in_4bit", true}, {"llm_int8_skip_modules", {"lm_head", "mlp"}}})),
            two(16 * fed + 4 * attention + 32 * attention / 64));
  const json ints = {{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}};
  const json group = {{"targets", {"Linear"}}, {"weights", ints}};
  EXPECT_EQ(
      bits_of(dense(
          {{"quant_method", "compressed-tensors"}, {"config_groups", {{"group_0", group}}}, {"ignore", {"lm_head"}}})),
      two(4 * (attention + fed) + 16 * (attention + fed) / 32));
  // A head that no list has is converted.
  EXPECT_EQ(bits_of(dense({{"quant_method", "compressed-tensors"}, {"config_groups", {{"group_0", group}}}})),
            two(4 * (attention + fed) + 16 * (attention + fed) / 32) - 16 * table + 4 * table + 16 * table / 32);
  EXPECT_EQ(
      bits_of(dense(
          {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"exclude_modules", {"lm_head", "*.self_attn*"}}})),
      two(16 * attention + 4 * fed + 8 * fed / 16 + 3 * 64));
  // One layer, one module, and a format for each.
  EXPECT_EQ(
      bits_of(dense({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"ignore", {"lm_head", "model.layers.1*"}}})),
      two(16 * (attention + fed)) - 8 * (attention + fed) + 7 * 64);
  const json mixed = {{"model.layers.0.self_attn.q_proj", {{"quant_algo", "FP8"}}},
                      {"model.layers.1.mlp.down_proj", {{"quant_algo", "NVFP4"}, {"group_size", 16}}}};
  EXPECT_EQ(bits_of(dense({{"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", mixed}})),
            two(16 * (attention + fed)) - 8 * 256 * 256 + 64 - 12 * 256 * 512 + 8 * 256 * 512 / 16 + 64);
}

TEST(WeightFormats, TheCacheOfTheFile) {
  EXPECT_EQ(read(dense({{"quant_algo", "FP8"}, {"kv_cache_scheme", "FP8"}})).weights.cache_bits, 8);
  EXPECT_EQ(read(dense({{"quant_algo", "FP8"}, {"kv_cache_scheme", {{"num_bits", 8}, {"type", "float"}}}}))
                .weights.cache_bits,
            8);
  EXPECT_EQ(read(dense({{"quant_algo", "FP8"}, {"kv_cache_quant_algo", nullptr}})).weights.cache_bits, 0);
}

TEST(WeightFormats, WhatIsNotKnownIsSaid) {
  EXPECT_EQ(read(dense(nullptr)).weights.method, "");
  EXPECT_EQ(unknown({{"quant_method", "hqq"}}).substr(0, 33), "quant_method \"hqq\" is not known; ");
  EXPECT_EQ(unknown({{"quant_algo", "FP3"}}).substr(0, 28), "quant_algo is \"FP3\"; known: ");
  EXPECT_EQ(unknown({{"quant_method", "fp8"}, {"modules_to_not_convert", {"re:(?!a)"}}}),
            "modules_to_not_convert has \"re:(?!a)\", which is not known");
  EXPECT_EQ(unknown({{"quant_method", "fp8"}, {"weight_block_size", {128}}}),
            "a block is [128]; known: [outputs, inputs]");
  EXPECT_EQ(unknown({{"quant_method", "gptq"}, {"dynamic", {{"+:mlp", 1}}}}), "dynamic is {\"+:mlp\":1}; known: {}");
  EXPECT_THROW(read(dense(7)), hp::io_error);
  EXPECT_THROW(read(dense({{"quant_method", "gptq"}, {"bits", "four"}})), hp::io_error);
}

// Random values in random fields of each method: a line, or a storage that has an entry for each map.
TEST(WeightFormats, NoValueCrashesTheReader) {
  std::mt19937_64 random(9);
  const json bases[] = {
      {{"quant_method", "fp8"}, {"weight_block_size", block}, {"modules_to_not_convert", {"lm_head"}}},
      {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}, {"lm_head", true}},
      {{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}, {"bnb_4bit_use_double_quant", true}},
      {{"quant_method", "compressed-tensors"},
       {"format", "pack-quantized"},
       {"ignore", {"re:.*self_attn.*"}},
       {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", {{"num_bits", 4}, {"group_size", 32}}}}}}}},
      {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"exclude_modules", {"lm_head"}}},
      {{"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", {{"lm_head", {{"quant_algo", "FP8"}}}}}}};
  const json values[] = {-1,
                         0,
                         1,
                         4.5,
                         1e308,
                         16,
                         17,
                         true,
                         false,
                         nullptr,
                         "",
                         "int",
                         "FP8",
                         "re:((",
                         "*",
                         json::array(),
                         json::object(),
                         {1, 2},
                         {"a", 1},
                         18446744073709551615u,
                         {{"num_bits", 8}},
                         std::string(500, '*')};
  int read_ones = 0, said = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    json q = bases[random() % std::size(bases)].flatten();
    for (std::size_t n = 1 + random() % 2; n > 0; --n) {
      auto at = q.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % q.size()));
      at.value() = nullptr;
      const std::string key = at.key();
      json whole = q.unflatten();
      whole[json::json_pointer(key)] = values[random() % std::size(values)];
      q = whole.flatten();
      if (n > 1) continue;
      try {
        const hp::model_config c = read(dense(whole));
        EXPECT_EQ(c.weights.unknown.find('\n'), std::string::npos);
        EXPECT_TRUE(c.weights.unknown.empty() || c.weights.storage.empty());
        if (c.weights.storage.empty()) {
          ++said;
        } else {
          EXPECT_EQ(c.weights.storage.number.size, 2 * hp::detail::layer_map_count + 2);
          for (const unsigned char number : c.weights.storage.number) EXPECT_LE(number, c.weights.storage.format.size);
          EXPECT_GT(bits_of(c), 0);
          ++read_ones;
        }
      } catch (const hp::io_error& e) {
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
        ++refused;
      }
    }
  }
  EXPECT_GT(read_ones, 200);
  EXPECT_GT(said, 200);
  EXPECT_GT(refused, 200);
}
