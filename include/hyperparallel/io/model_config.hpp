// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder from the config.json that Hugging Face publishes with a checkpoint. Header-only, it needs nlohmann-json on the
// include path; no front header includes this one.
//
//   const hp::model_config c = hp::read_model_config("config.json");
//   c.towers                                       what the file has beside its text model (nested_config.hpp)
//   hp::parameters_of(c.model).total(), hp::cached_elements_per_token(c.model)
//   c.model(m, tokens, labels)                     the graph of the same layers
//
// Families: model_families.hpp; a file whose family is another, with the text model inside, is read as that text
// (nested_config.hpp). Laws: what is read has its counts exactly; a field that the family does not know is refused
// by name and value, never guessed, unless it is known to bear on no layer (idle_fields.hpp); every error is one line
// that names file, field and value, whatever the bytes of the file. Counts are of elements, also of a checkpoint that packs
// them: how it stores them is `weights`.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/position_limit.hpp>
#include <hyperparallel/io/weight_formats.hpp>
#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Larger files are refused.
inline constexpr std::size_t largest_model_config = std::size_t{4} << 20;

}  // namespace detail

struct model_config {
  std::string family{};  ///< its model_type
  decoder model{};
  position_limit positions{};  ///< the longest sequence that the file says the model is for
  stored_weights weights{};    ///< how the checkpoint stores them
  /// Fields that stand in the file and change the arithmetic, but no layer's shape: of `fields_set_aside`.
  std::vector<std::string> set_aside{};
  /// Objects of the file that describe what the model has beside its text; their parameters are not counted.
  std::vector<std::string> towers{};
};

/// The model of a text, which errors call the file `path`. Throws io_error where it cannot be a model, and
/// unsupported_model where it may be one that the library does not know. O(bytes · log fields + layers).
model_config parse_model_config(std::string_view text, const std::string& path);

/// The model of a file. Throws io_error, also where the file cannot be read, and unsupported_model.
model_config read_model_config(const std::string& path);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/model_config.ipp>
#endif
