// SPDX-License-Identifier: Apache-2.0
#pragma once
// Amounts of the library in JSON: bytes and seconds, null for what was not counted; a mesh as sizes by axis.

#include <nlohmann/json.hpp>

#include <hyperparallel/mesh/device_matrix.hpp>
#include <hyperparallel/support/integer.hpp>

#include "json_output.hpp"

namespace hp_tool {

inline json bytes_or_null(hyperparallel::extent_t bytes) {
  return bytes == hyperparallel::not_counted ? json() : json(bytes);
}

inline json seconds_or_null(hyperparallel::extent_t picoseconds) {
  return picoseconds == hyperparallel::not_counted ? json() : json(static_cast<double>(picoseconds) / 1e12);
}

inline json json_of(const hyperparallel::mesh_value& m) {
  json out = json::object();
  for (int a = 0; a < m.shape.axis_count; ++a) out[m.label[a].text] = m.shape.size[a];
  return out;
}

}  // namespace hp_tool
