// SPDX-License-Identifier: Apache-2.0
#pragma once
// --json of every subcommand: one JSON document on standard output in place of the text, with the same figures. Keys name
// the units of numbers that have one: "peak_bytes", "step_seconds".

#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace hp_tool {

using json = nlohmann::ordered_json;

inline void add_json(CLI::App& app, bool& asked) {
  app.add_flag("--json", asked, "one JSON document in place of the text; keys name the units")->disable_flag_override();
}

/// `document` on standard output. Bytes that are no UTF-8, of a path say, become U+FFFD.
inline void print(const json& document) {
  std::fputs((document.dump(2, ' ', false, json::error_handler_t::replace) + "\n").c_str(), stdout);
}

}  // namespace hp_tool
