// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of position_limit.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/config_fields.hpp>
#include <hyperparallel/io/position_limit.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

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

HYPERPARALLEL_JSON_BODY position_limit read_position_limit(config_fields& f, const std::string& family) {
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

}}}  // namespace hyperparallel::v0_2::detail
