// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text model inside the config.json of a model that also sees or hears. Needs nlohmann-json on the include path; no
// front header includes this one.
//
//   text_config, llm_config, language_config   the fields of the text model, its model_type among them
//   vision_config and all others               towers beside it: set aside by name, their parameters not counted
//   tie_word_embeddings, quantization_config, limits of positions   of the file, hold for the text where it has none itself
//
// Law: a field of the file, outside of those objects, that may bear on the text is refused by name and value. O(fields).

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/config_fields.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Names of the object with the text model.
inline constexpr const char* nested_texts[] = {"text_config", "llm_config", "language_config"};

struct nested_config {
  nlohmann::json text{};  ///< its object, with what holds for it of the file
  std::string name{};     ///< as "text_config"
  std::vector<std::string> towers{};
  std::string unknown{};  ///< other fields of the file that may bear on the text, with their values
};

/// Whether a field of this name is of images, sound, their tokens, or of how they join the text.
inline bool is_of_towers(std::string_view name) {
  constexpr std::string_view parts[] = {"image",  "img_", "video",     "vision",    "audio",        "media",
                                        "speech", "mm_",  "projector", "_token_id", "_token_index", "multimodal"};
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return name.find(part) != std::string_view::npos; }) ||
         name == "ignore_index" || name == "spatial_merge_size" || name == "auto_map";
}

inline bool ends_with_config(std::string_view name) { return name.ends_with("_config"); }

/// Of a file whose model_type is no family of its own; none where there is no such object. `known` lists fields that bear on
/// no layer, whichever object they stand in.
template <class Known>
std::optional<nested_config> nested_text(const nlohmann::json& file, const std::string& path, const Known& known) {
  const auto at = std::find_if(std::begin(nested_texts), std::end(nested_texts), [&](const char* name) {
    const auto found = file.find(name);
    return found != file.end() && found->is_object();
  });
  if (at == std::end(nested_texts)) return {};
  nested_config nested{.text = file.at(*at), .name = *at};
  config_fields f(file, path);
  f.value(*at);
  // Code reads the field of the file, or that of the text; where both stand they must say the same.
  const auto has = [&](const char* field) { return nested.text.contains(field) && !nested.text[field].is_null(); };
  if (!f.value("tie_word_embeddings").is_null()) {
    const bool tied = f.flag("tie_word_embeddings", false);
    if (has("tie_word_embeddings") && nested.text["tie_word_embeddings"] != tied)
      f.unsupported("tie_word_embeddings",
                    "known: what " + nested.name + " says, " + shown_json(nested.text["tie_word_embeddings"]));
    nested.text["tie_word_embeddings"] = tied;
  }
  for (const char* field : {"quantization_config", "compression_config", "max_position_embeddings",
                            "max_sequence_length", "model_max_length"})
    if (!f.value(field).is_null() && !has(field)) nested.text[field] = f.value(field);
  for (const std::string& name : f.left()) {
    if (ends_with_config(name))
      nested.towers.push_back(name);
    else if (!is_of_towers(name) && !known(name))
      nested.unknown += f.told(name) + "; ";
  }
  return nested;
}

}}}  // namespace hyperparallel::v0_2::detail
