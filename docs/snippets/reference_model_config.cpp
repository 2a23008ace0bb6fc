// SPDX-License-Identifier: Apache-2.0
// docs/reference/model-config.md
#undef NDEBUG
#include <cassert>
#include <string>

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

namespace hp = hyperparallel;

// docs/reference/model-config.md: a decoder as a value
constexpr hp::decoder llama3{.vocabulary = 128256,
                             .hidden = 4096,
                             .layers = 32,
                             .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
                             .feed_forward = {.width = 14336}};
static_assert(hp::parameters_of(llama3).total() == 8'030'261'248);
static_assert(hp::cached_elements_per_token(llama3) == 65'536);

void reading() {
  const std::string text = R"({"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48,
      "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
      "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768})";
  const hp::model_config c = hp::parse_model_config(text, "config.json");  // of a file: read_model_config(path)
  assert(hp::parameters_of(c.model).total() == 30'532'122'624);
  assert(hp::active_parameters_of(c.model).total() == 3'353'032'704);

  hp::model_builder m;
  const int batch = m.dim("batch", 8), seq = m.dim("seq", 4096);
  c.model(m, m.index_input("tokens", {batch, seq}), m.index_input("labels", {batch, seq}));
  assert(hp::parameter_count(m.graph) == 30'532'122'624);
}

void refusing() {
  const auto why = [](const std::string& text) -> std::string {
    try {
      hp::parse_model_config(text, "config.json");
    } catch (const hp::io_error& e) {
      return e.what();
    }
    return "";
  };
  assert(why(R"({"model_type": "llama", "vocab_size": 32000, "hidden_size": -4096})") ==
         "cannot read 'config.json': hidden_size is -4096; expected a whole number from 1 to 16777216");
}

int main() {
  reading();
  refusing();
}
