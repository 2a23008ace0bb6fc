// SPDX-License-Identifier: Apache-2.0
#pragma once
// --json of every subcommand: one JSON document on standard output in place of the text, with the same figures. Keys name
// the units of numbers that have one: "peak_bytes", "step_seconds". Who makes or looks into a document includes nlohmann-json.

#include <nlohmann/json_fwd.hpp>

namespace hp_tool {

using json = nlohmann::ordered_json;

/// `document` on standard output. Bytes that are no UTF-8, of a path say, become U+FFFD.
void print(const json& document);

}  // namespace hp_tool
