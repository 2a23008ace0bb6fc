// SPDX-License-Identifier: Apache-2.0
// The body of model_sizes.hpp.

#include "model_sizes.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/json_text.hpp>

namespace hp_tool::reshard {

numbers sizes_of_config(const nlohmann::json& config, const std::string& path) {
  const nlohmann::json& d =
      config.contains("text_config") && config["text_config"].is_object() ? config["text_config"] : config;
  constexpr const char* fields[][2] = {{"num_attention_heads", "query_heads"},
                                       {"num_key_value_heads", "key_heads"},
                                       {"head_dim", "head_dim"},
                                       {"hidden_size", "hidden"},
                                       {"vocab_size", "vocabulary"},
                                       {"first_k_dense_replace", "dense_layers"},
                                       {"qk_nope_head_dim", "nope_dim"},
                                       {"qk_rope_head_dim", "rope_dim"},
                                       {"v_head_dim", "value_dim"},
                                       {"kv_lora_rank", "latent_rank"}};
  numbers sizes;
  for (const auto& [field, name] : fields) {
    if (!d.contains(field) || d[field].is_null()) continue;
    if (!d[field].is_number_unsigned() || d[field].get<std::uint64_t>() > static_cast<std::uint64_t>(largest_size))
      throw io_error("read", path, quoted_path(field) + " is " + shown_json(d[field]) + ", expected a size");
    sizes[name] = d[field].get<std::int64_t>();
  }
  if (!sizes.contains("key_heads") && sizes.contains("query_heads")) sizes["key_heads"] = sizes["query_heads"];
  for (const nlohmann::json* o : {&config, &d}) {
    const auto q = o->find("quantization_config");
    if (q == o->end() || !q->is_object() || !q->contains("weight_block_size") || (*q)["weight_block_size"].is_null())
      continue;
    const nlohmann::json& block = (*q)["weight_block_size"];
    const auto is_size = [](const nlohmann::json& n) {
      return n.is_number_unsigned() && n.get<std::uint64_t>() > 0 &&
             n.get<std::uint64_t>() <= static_cast<std::uint64_t>(largest_size);
    };
    if (!block.is_array() || block.size() != 2 || !is_size(block[0]) || !is_size(block[1]))
      throw io_error("read", path, "'weight_block_size' is " + shown_json(block) + ", expected [rows, columns]");
    sizes["scale_rows"] = block[0].get<std::int64_t>();
    sizes["scale_columns"] = block[1].get<std::int64_t>();
  }
  for (const nlohmann::json* o : {&config, &d})
    if (o->contains("tie_word_embeddings") && (*o)["tie_word_embeddings"].is_boolean())
      sizes["tied"] = (*o)["tie_word_embeddings"].get<bool>() ? 1 : 0;
  return sizes;
}

void read_sizes(std::string_view text, numbers& sizes, const std::string& option) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    const std::size_t equals = one.find('=');
    const std::int64_t value =
        equals == std::string_view::npos ? -1 : whole_number(one.substr(equals + 1)).value_or(-1);
    const std::string name(one.substr(0, equals));
    if (value < 0 || value > largest_size || name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
      throw io_error("read", option, quoted_path(one) + " is no size; expected as head_dim=128,key_heads=8");
    sizes[name] = value;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

}  // namespace hp_tool::reshard
