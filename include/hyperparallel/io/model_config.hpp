// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder from the config.json that Hugging Face publishes with a checkpoint. Needs nlohmann-json on the include path;
// no front header includes this one.
//
//   const hp::model_config c = hp::read_model_config("config.json");
//   hp::parameters_of(c.model).total(), hp::cached_elements_per_token(c.model)
//   c.model(m, tokens, labels)                     the graph of the same layers
//
// Families: model_families.hpp. Laws: what is read has its counts exactly; a field that the family does not know is refused
// by name and value, never guessed, unless it is known to bear on no layer (idle_fields.hpp); every error is one line
// that names file, field and value, whatever the bytes of the file. Counts are of elements, also of a checkpoint that packs
// them: how it stores them is `weights`.

#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/idle_fields.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/model_families.hpp>
#include <hyperparallel/io/position_limit.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/io/weight_formats.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Larger and deeper files are refused.
inline constexpr std::size_t largest_model_config = std::size_t{4} << 20;
inline constexpr int deepest_model_config = 32;

struct model_config {
  std::string family{};  ///< its model_type
  decoder model{};
  position_limit positions{};  ///< the longest sequence that the file says the model is for
  stored_weights weights{};    ///< how the checkpoint stores them
  /// Fields that stand in the file and change the arithmetic, but no layer's shape: of `fields_set_aside`.
  std::vector<std::string> set_aside{};
};

namespace detail {

/// Throws unsupported_model where a field stands that the family did not read and that may bear on layers.
inline void refuse_unknown(config_fields& f, const std::string& family) {
  // Of every family: values that would make another kind of model.
  f.only("is_encoder_decoder", {false});
  f.only("tie_encoder_decoder", {false});
  f.only("add_cross_attention", {false});
  f.only("pruned_heads", {nlohmann::json::object()});
  constexpr std::size_t most_told = 8;
  std::string unknown;
  std::size_t count = 0;
  for (const std::string& name : f.left()) {
    if (why_idle(name) != nullptr) continue;
    if (++count <= most_told) unknown += f.told(name) + "; ";
  }
  if (count > most_told) unknown += "and " + std::to_string(count - most_told) + " more; ";
  if (count > 0)
    throw unsupported_model("read", f.path(),
                            unknown + (count == 1 ? "a field that is" : "fields that are") + " not known of " + family +
                                " and may change its layers");
}

}  // namespace detail

/// The model of a text, which errors call the file `path`. Throws io_error where it cannot be a model, and
/// unsupported_model where it may be one that the library does not know. O(bytes · log fields + layers).
inline model_config parse_model_config(std::string_view text, const std::string& path) {
  if (text.size() > largest_model_config)
    throw io_error("read", path, "the file is larger than " + std::to_string(largest_model_config) + " bytes");
  const nlohmann::json object = parse_json_object(text, path, "the file", deepest_model_config);
  config_fields f(object, path);
  const nlohmann::json& type = f.value("model_type");
  std::string known;
  const model_family* family = nullptr;
  for (const model_family& each : model_families) {
    if (type == each.model_type) family = &each;
    known += (known.empty() ? "known: " : ", ") + std::string(each.model_type);
  }
  if (family == nullptr) f.unsupported("model_type", known);
  const nlohmann::json& classes = f.value("architectures");
  if (!classes.is_null() && classes != nlohmann::json::array({family->architecture}))
    f.unsupported("architectures", "known: [\"" + std::string(family->architecture) + "\"]");
  model_config c{.family = family->model_type};
  family->read(f, c.model);
  c.positions = detail::read_position_limit(f, c.family);
  c.weights = detail::read_stored_weights(f, c.model);
  detail::refuse_unknown(f, c.family);
  for (const idle_field& field : fields_set_aside)
    if (!f.value(field.name).is_null()) c.set_aside.emplace_back(field.name);
  if (!parameters_fit(c.model)) throw io_error("read", path, "the model has 2^62 parameters or more");
  return c;
}

/// The model of a file. Throws io_error, also where the file cannot be read, and unsupported_model.
inline model_config read_model_config(const std::string& path) {
  const std::vector<unsigned char> bytes =
      read_bytes(path, {empty_file::refused, static_cast<std::int64_t>(largest_model_config)});
  return parse_model_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}}  // namespace hyperparallel::v0_2
