// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many positions a model was made for, as its config.json says. Needs nlohmann-json on the include path; no front header
// includes this one.
//
//   max_position_embeddings              the positions
//   rope_scaling, rope_parameters        of the types below they are extended; all other types leave them as they are:
//     yarn, linear, dynamic              factor · original_max_position_embeddings, without it · max_position_embeddings
//   max_sequence_length, model_max_length    at most these, where they stand
//   n_positions                          rows of a table of learned positions (`decoder::positions`)
//
// Of types as llama3 and longrope max_position_embeddings is what the scaling reaches, and so it is in files of gemma3_text, of
// any type. Laws: a scaling never shortens; a smaller field that stands binds. Source: modeling_rope_utils.py of
// huggingface/transformers; _get_and_verify_max_len of vllm-project/vllm.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <hyperparallel/io/config_fields.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// More positions are refused.
inline constexpr extent_t most_positions = extent_t{1} << 31;

struct position_limit {
  extent_t positions = 0;  ///< 0: no field says
  std::string source{};    ///< the fields that say so, with their values
  constexpr bool is_known() const { return positions > 0; }
};

namespace detail {

/// What a scaling makes of `positions`. O(1).
inline extent_t extended_positions(config_fields& rope, extent_t positions) {
  const nlohmann::json& older = rope.value("type");
  const nlohmann::json& type = rope.value("rope_type").is_null() ? older : rope.value("rope_type");
  if (type != "yarn" && type != "linear" && type != "dynamic") return positions;
  const double factor = rope.positive("factor").value_or(1.0);
  const extent_t from = rope.optional_whole("original_max_position_embeddings", most_positions).value_or(positions);
  const double reached = std::min(factor * static_cast<double>(from), static_cast<double>(most_positions));
  return std::max(positions, static_cast<extent_t>(std::llround(reached)));
}

/// Of the fields of a file of the family.
inline position_limit read_position_limit(config_fields& f, const std::string& family) {
  position_limit limit;
  const auto note = [&](const std::string& name, extent_t n) {
    limit.positions = n;
    limit.source = name + " is " + std::to_string(n);
  };
  if (const auto n = f.optional_whole("n_positions", most_positions)) note("n_positions", *n);
  if (const auto n = f.optional_whole("max_position_embeddings", most_positions)) {
    note("max_position_embeddings", *n);
    for (const char* name : {"rope_scaling", "rope_parameters"}) {
      if (family == "gemma3_text" || !f.value(name).is_object()) continue;
      config_fields rope = *f.inside(name);
      const extent_t reached = extended_positions(rope, *n);
      if (reached <= limit.positions) continue;
      limit.positions = reached;
      limit.source = "max_position_embeddings is " + std::to_string(*n) + ", extended by " + name;
    }
  }
  for (const char* name : {"max_sequence_length", "model_max_length"})
    if (const auto n = f.optional_whole(name, most_positions); n && (!limit.is_known() || *n < limit.positions))
      note(name, *n);
  return limit;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
