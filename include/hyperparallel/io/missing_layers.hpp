// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layers that published models have and this library does not: by which field of a config.json they show.
//
//   hp::missing_layer_of(fields)     "hybrid_override_pattern has M: Mamba-2 layers of this family are not known", or nothing
//
// Asked of files whose family is not known, so that they are refused by what is missing. Needs nlohmann-json on the include
// path; no front header includes this one. O(layers).

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A layer, and the field whose value, or a text in whose list or pattern, says that the model has it.
struct missing_layer {
  const char* field;
  const char* text;  ///< in it; null: the field stands, and is neither null nor false nor 0
  const char* layer;
};

/// The first that holds counts.
inline constexpr missing_layer missing_layers[] = {
    {"hybrid_override_pattern", "M", "Mamba-2 layers of this family are not known"},
    {"linear_attn_config", nullptr, "Kimi delta attention is not known"},
    {"compress_ratios", nullptr, "attention to compressed keys is not known"},
    {"hc_mult", nullptr, "hyper-connections are not known"},
    {"attention_k_eq_v", nullptr, "heads whose values are their keys are not known"},
    {"global_head_dim", nullptr, "layers with heads of another size are not known"},
    {"swa_num_key_value_heads", nullptr, "windowed layers with other heads are not known"},
    {"sparse_attention_config", nullptr, "sparse attention to blocks is not known"},
    {"block_configs", nullptr, "layers of sizes of their own are not known"},
    {"attn_type_list", "0", "lightning attention is not known"},
    {"mamba_num_heads", nullptr, "Mamba-2 layers of this family are not known"},
    {"mamba_d_state", nullptr, "Mamba layers are not known"},
    {"ssm_state_size", nullptr, "Mamba layers are not known"},
    {"state_size", nullptr, "Mamba layers are not known"},
    {"hidden_size_per_layer_input", nullptr, "embeddings of each layer are not known"},
};

namespace detail {

/// The line that names field and layer; none where no field shows a layer that is missing.
inline std::optional<std::string> missing_layer_of(const nlohmann::json& fields) {
  for (const missing_layer& each : missing_layers) {
    const auto at = fields.find(each.field);
    if (at == fields.end() || at->is_null() || *at == false || *at == 0) continue;
    if (each.text == nullptr) return std::string(each.field) + " is there: " + each.layer;
    bool has = at->is_string() && at->get_ref<const std::string&>().find(each.text) != std::string::npos;
    if (at->is_array())
      for (const nlohmann::json& one : *at)
        has = has || one == each.text || (one.is_number_integer() && std::to_string(one.get<long long>()) == each.text);
    if (has) return std::string(each.field) + " has " + each.text + ": " + each.layer;
  }
  return {};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
