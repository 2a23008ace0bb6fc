// SPDX-License-Identifier: Apache-2.0
// The positions that published files say, and laws of scalings.

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/io/position_limit.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

hp::position_limit limit_of(const json& object, const std::string& family = "llama") {
  hp::detail::config_fields f(object, "c.json");
  return hp::detail::read_position_limit(f, family);
}

json scaled(hp::extent_t positions, json rope) {
  return {{"max_position_embeddings", positions}, {"rope_scaling", std::move(rope)}};
}

}  // namespace

TEST(PositionLimit, OfPublishedFiles) {
  EXPECT_EQ(limit_of({{"max_position_embeddings", 8192}}).positions, 8192);
  // Llama 3.1 and Phi-4-mini: what the scaling reaches stands in the file.
  const json llama = {{"factor", 8.0}, {"original_max_position_embeddings", 8192}, {"rope_type", "llama3"}};
  EXPECT_EQ(limit_of(scaled(131072, llama)).positions, 131072);
  const json phi = {{"type", "longrope"}, {"long_factor", {1.0}}, {"short_factor", {1.0}}};
  EXPECT_EQ(limit_of(scaled(131072, phi)).positions, 131072);
  // DeepSeek-V3, Kimi-K2, gpt-oss: both say the same. Qwen3 as its card says to serve 131 072 tokens.
  const json yarn = {{"type", "yarn"}, {"factor", 40}, {"original_max_position_embeddings", 4096}};
  EXPECT_EQ(limit_of(scaled(163840, yarn)).positions, 163840);
  const json qwen = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
  const hp::position_limit extended = limit_of(scaled(40960, qwen));
  EXPECT_EQ(extended.positions, 131072);
  EXPECT_EQ(extended.source, "max_position_embeddings is 40960, extended by rope_scaling");
  EXPECT_EQ(limit_of({{"max_position_embeddings", 40960}, {"rope_parameters", qwen}}).positions, 131072);
  // Vicuna 16K has the sum in another field, Gemma 3 in the same one.
  json vicuna = scaled(4096, {{"type", "linear"}, {"factor", 4.0}});
  EXPECT_EQ(limit_of(vicuna).positions, 16384);
  vicuna["max_sequence_length"] = 8192;
  EXPECT_EQ(limit_of(vicuna).positions, 8192);
  EXPECT_EQ(limit_of(vicuna).source, "max_sequence_length is 8192");
  const json gemma = {{"rope_type", "linear"}, {"factor", 8.0}};
  EXPECT_EQ(limit_of(scaled(131072, gemma), "gemma3_text").positions, 131072);
  EXPECT_EQ(limit_of({{"n_positions", 1024}}).positions, 1024);
  EXPECT_FALSE(limit_of(json::object()).is_known());
}

TEST(PositionLimit, WhatCannotBeIsRefused) {
  const auto complaint = [](const json& object) {
    try {
      limit_of(object);
    } catch (const hp::io_error& e) {
      return std::string(e.what());
    }
    return std::string("read");
  };
  EXPECT_EQ(complaint({{"max_position_embeddings", 0}}),
            "cannot read 'c.json': max_position_embeddings is 0; expected a whole number from 1 to 2147483648");
  EXPECT_EQ(complaint(scaled(4096, {{"type", "yarn"}, {"factor", -1}})),
            "cannot read 'c.json': rope_scaling.factor is -1; expected a number greater than 0");
}

// A scaling never shortens, reaches factor times what it starts from where its type extends, and a smaller field binds.
TEST(PositionLimit, LawsOfScalings) {
  std::mt19937_64 random(50);
  const char* types[] = {"yarn", "linear", "dynamic", "llama3", "longrope", "su", "default", "mrope", "of my own"};
  for (int i = 0; i < 2000; ++i) {
    const hp::extent_t positions = 1 + static_cast<hp::extent_t>(random() % (1 << 20)),
                       original = 1 + static_cast<hp::extent_t>(random() % (1 << 20)),
                       factor = 1 + static_cast<hp::extent_t>(random() % 64);
    const int type = static_cast<int>(random() % 9);
    json rope = {{random() % 2 == 0 ? "type" : "rope_type", types[type]}, {"factor", factor}};
    const bool stands = random() % 2 == 0;
    if (stands) rope["original_max_position_embeddings"] = original;
    json object = scaled(positions, rope);
    const hp::extent_t reached = type < 3 ? factor * (stands ? original : positions) : 0;
    EXPECT_EQ(limit_of(object).positions, std::max(positions, reached));
    object["model_max_length"] = original;
    EXPECT_EQ(limit_of(object).positions, std::min(original, std::max(positions, reached)));
  }
}
