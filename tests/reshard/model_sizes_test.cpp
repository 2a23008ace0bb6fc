// SPDX-License-Identifier: Apache-2.0
// Sizes from configurations and options.

#include "reshard/model_sizes.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>

namespace rs = hp_tool::reshard;

TEST(ModelSizes, AreReadFromConfigurations) {
  const auto of = [](const char* text) { return rs::sizes_of_config(nlohmann::json::parse(text), "config.json"); };
  EXPECT_EQ(of(R"({"num_attention_heads": 8, "hidden_size": 64, "head_dim": null, "tie_word_embeddings": true})"),
            (rs::numbers{{"query_heads", 8}, {"key_heads", 8}, {"hidden", 64}, {"tied", 1}}));
  EXPECT_EQ(of(R"({"text_config": {"vocab_size": 7}, "tie_word_embeddings": false})"),
            (rs::numbers{{"vocabulary", 7}, {"tied", 0}}));
  EXPECT_EQ(of(R"({"quantization_config": {"weight_block_size": [128, 64]}})"),
            (rs::numbers{{"scale_rows", 128}, {"scale_columns", 64}}));
  EXPECT_EQ(of(R"({"quantization_config": {"weight_block_size": null}})"), rs::numbers{});
  for (const char* bad : {"[128]", "128", "[0, 128]", "[128, \"\"]", "[128, 1e30]"})
    EXPECT_THROW(of((std::string(R"({"quantization_config": {"weight_block_size": )") + bad + "}}").c_str()),
                 hyperparallel::io_error)
        << bad;
  EXPECT_THROW(of(R"({"vocab_size": -7})"), hyperparallel::io_error);
  EXPECT_THROW(of(R"({"vocab_size": "7"})"), hyperparallel::io_error);
}

TEST(ModelSizes, OptionsComeOverThem) {
  rs::numbers sizes = {{"head_dim", 64}};
  rs::read_sizes("head_dim=128,key_heads=8", sizes, "--sizes");
  EXPECT_EQ(sizes, (rs::numbers{{"head_dim", 128}, {"key_heads", 8}}));
  for (const char* bad : {"head_dim", "head_dim=", "=3", "A=3", "a=-1", "a=1e3", "a=9999999999999999"})
    EXPECT_THROW(rs::read_sizes(bad, sizes, "--sizes"), hyperparallel::io_error) << bad;
}
