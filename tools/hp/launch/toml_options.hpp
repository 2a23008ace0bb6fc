// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a TOML file, as sections and keys: what TOML calls `[training]` and `seq_len = 8192` is "training.seq_len".
//
//   launch::toml_options("[parallelism]\ntensor_parallel_degree = 8\n", "run.toml")     {"parallelism.tensor_parallel_degree", {"8"}, 2}
//
// Sections within sections are dotted. Booleans are "true" and "false", arrays and what is in them several values, tables of an
// array sections that are numbered from 0. Control characters of texts and keys are '?', so that every option is one line, and
// bytes that are not of ASCII are, too. In the order of their lines, then of their names.
//
// Errors: io_error of one line with file and line: what is no TOML, a key that stands twice, more than 32 sections within each
// other. O(bytes log bytes).

#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// The options of a text; errors name `path`. Throws io_error.
std::vector<launch_option> toml_options(std::string_view text, const std::string& path);

}  // namespace hp_tool::launch
