// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of model_config.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/io/idle_fields.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/missing_layers.hpp>
#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/io/model_families.hpp>
#include <hyperparallel/io/nested_config.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Deeper files are refused.
inline constexpr int deepest_model_config = 32;

/// Null where the object names none that is known.
inline const model_family* family_of(const nlohmann::json& object) {
  const auto type = object.find("model_type");
  for (const model_family& each : model_families)
    if (type != object.end() && *type == each.model_type) return &each;
  return nullptr;
}

/// The family whose name is most like this one, or null where none is like it: characters that differ, less those that
/// both begin with, are at most 2.
inline const model_family* nearest_family(const std::string& name) {
  const auto cost_of = [&](int i) {
    const std::string_view known = model_families[i].model_type;
    const auto same = std::mismatch(known.begin(), known.end(), name.begin(), name.end()).first - known.begin();
    return characters_that_differ(model_families[i].model_type, name.c_str()) - static_cast<int>(same);
  };
  const int nearest = first_of_least(static_cast<int>(std::size(model_families)), cost_of);
  return nearest >= 0 && cost_of(nearest) <= 2 ? &model_families[nearest] : nullptr;
}

/// Throws unsupported_model with the layer that is missing, or with the families.
[[noreturn]] inline void refuse_family(config_fields& f, const nlohmann::json& object) {
  const nlohmann::json& type = f.value("model_type");
  if (const std::optional<std::string> missing = missing_layer_of(object))
    throw unsupported_model("read", f.path(), f.told("model_type") + "; " + *missing);
  const model_family* const nearest = type.is_string() ? nearest_family(type.get<std::string>()) : nullptr;
  std::string known = nearest == nullptr ? "" : "nearest name: " + std::string(nearest->model_type) + "; ";
  for (const model_family& each : model_families)
    known += (&each == model_families ? "known: " : ", ") + std::string(each.model_type);
  f.unsupported("model_type", known);
}

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

HYPERPARALLEL_JSON_BODY model_config parse_model_config(std::string_view text, const std::string& path) {
  if (text.size() > detail::largest_model_config)
    throw io_error("read", path, "the file is larger than " + std::to_string(detail::largest_model_config) + " bytes");
  const nlohmann::json object =
      parse_json_object(text, path, "the file", detail::deepest_model_config, json_numbers::as_python);
  std::optional<detail::nested_config> nested;
  if (detail::family_of(object) == nullptr)
    nested = detail::nested_text(object, path, [](const std::string& name) {
      const auto is_it = [&](const detail::idle_field& field) { return field.name == name; };
      return name == "model_type" ||
             std::any_of(std::begin(detail::fields_without_layers), std::end(detail::fields_without_layers), is_it);
    });
  detail::config_fields f(nested ? nested->text : object, path, nested ? nested->name + "." : std::string());
  f.value("model_type");
  const detail::model_family* const family = detail::family_of(nested ? nested->text : object);
  if (family == nullptr) detail::refuse_family(f, nested ? nested->text : object);
  if (nested && !nested->unknown.empty())
    throw unsupported_model("read", path,
                            nested->unknown + "not known beside " + nested->name + " and may change the text's layers");
  const nlohmann::json& classes = f.value("architectures");
  if (!classes.is_null() && classes != nlohmann::json::array({family->architecture}))
    f.unsupported("architectures", "known: [\"" + std::string(family->architecture) + "\"]");
  model_config c{.family = family->model_type};
  if (nested) c.towers = nested->towers;
  family->read(f, c.model);
  c.positions = detail::read_position_limit(f, c.family);
  c.weights = detail::read_stored_weights(f, c.model);
  detail::refuse_unknown(f, c.family);
  for (const detail::idle_field& field : detail::fields_set_aside)
    if (!f.value(field.name).is_null()) c.set_aside.emplace_back(field.name);
  if (!parameters_fit(c.model)) throw io_error("read", path, "the model has 2^62 parameters or more");
  return c;
}

HYPERPARALLEL_JSON_BODY model_config read_model_config(const std::string& path) {
  const std::vector<unsigned char> bytes =
      read_bytes(path, {empty_file::refused, static_cast<std::int64_t>(detail::largest_model_config)});
  return parse_model_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}}  // namespace hyperparallel::v0_2
