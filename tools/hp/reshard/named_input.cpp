// SPDX-License-Identifier: Apache-2.0
// The body of named_input.hpp.

#include "named_input.hpp"

#include <cstdint>
#include <system_error>
#include <vector>

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/text_file.hpp>

#include "layout_text.hpp"
#include "model_sizes.hpp"
#include "named_maps.hpp"

namespace hp_tool::reshard {

bool is_named_map(std::string_view name) {
  return name == "hf" || name == "hf-fused" || name == "megatron" || name == "ours";
}

layout_map map_called(const std::string& name) {
  if (name == "hf")
    return {.name = "hf",
            .rules = {},
            .local = {},
            .keeps_others = true,
            .head = "",
            .head_tied_to = "",
            .text = R"({"name":"hf","others":"same"})"};
  if (name == "megatron") return parse_layout_map(megatron_map_text, "megatron");
  if (name == "ours") return parse_layout_map(own_map_text(), "ours");
  if (name == "hf-fused") return parse_layout_map(fused_map_text, "hf-fused");
  if (!name.ends_with(".json"))
    throw io_error("read", name,
                   "there is no such map; known: hf, hf-fused, megatron, ours, or a file that ends with .json");
  const std::vector<unsigned char> bytes = read_bytes(name, {empty_file::refused, 10'000'000});
  return parse_layout_map({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
}

set_layout layout_called(const std::string& text, const std::string& option) {
  if (text.find('=') != std::string::npos || text == "whole") return parse_short_layout(text, option);
  if (!text.ends_with(".json"))
    throw io_error("read", option,
                   quoted_path(text) + " is no layout; expected as tp=2,pp=4, whole, or a file that ends with .json");
  const std::vector<unsigned char> bytes = read_bytes(text, {empty_file::refused, 10'000'000});
  return layout_of_json(
      parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, text, "the layout", 8), text);
}

std::string map_of_names(const tensor_set& s) {
  for (const set_file& f : s.files)
    for (const tensor_entry& t : f.tensors) {
      if (t.name.starts_with("decoder.layers.") || t.name.starts_with("embedding.word_embeddings.")) return "megatron";
      if (t.name.find("layers.") <= 6 && t.name.find(".attention_norm.") != std::string::npos) return "ours";
      if (t.name.ends_with(".self_attn.qkv_proj.weight")) return "hf-fused";
    }
  return "hf";
}

std::filesystem::path folder_of(const tensor_set& s) {
  std::error_code error;
  const std::filesystem::path path(s.path);
  return std::filesystem::is_directory(path, error) ? path : path.parent_path();
}

numbers known_sizes(const std::string& option, const tensor_set& s) {
  numbers sizes;
  if (const std::string config = path_beside(folder_of(s), "config.json"); !config.empty()) {
    const std::vector<unsigned char> bytes = read_bytes(config, {empty_file::refused, 10'000'000});
    sizes = sizes_of_config(parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, config,
                                              "the configuration", 64, json_numbers::as_python),
                            config);
  }
  if (s.manifest.contains("sizes")) {
    const std::string path = s.path + "/" + set_manifest;
    if (!s.manifest["sizes"].is_object()) throw io_error("read", path, "'sizes' is no object");
    for (const auto& [name, value] : s.manifest["sizes"].items()) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest_size))
        throw io_error("read", path, "the size " + quoted_path(name) + " is " + shown_json(value));
      sizes[name] = value.get<std::int64_t>();
    }
  }
  read_sizes(option, sizes, "--sizes");
  return sizes;
}

}  // namespace hp_tool::reshard
