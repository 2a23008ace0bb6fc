// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of kind "mega_moe_memory": peak memory of one call of a kernel that fuses dispatch, products of experts and combine, as a
// device reports it.
//
// What the layer's program holds (planner/expert_kernel_memory.hpp), with the constants that the file's row of kind "constants"
// states: workspaces, tilings of each launch, counters, and what the run time takes. Held within `kernel_tolerance`.

#include "measured_row.hpp"

namespace truth {

inline constexpr double kernel_tolerance = 1e-4;

inline bool is_kernel_row(const std::string& kind) { return kind == "constants" || kind == "mega_moe_memory"; }

/// `constants`: the file's row of that kind before this one, or null. Throws malformed_row.
measured_row read_kernel_row(const json& row, const json& constants);

}  // namespace truth
