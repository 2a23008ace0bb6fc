// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp serve is asked.

#include <cstdint>
#include <string>

#include <hyperparallel/planner/longest_context.hpp>

#include "../plan/choice.hpp"

namespace serving {

namespace hp = hyperparallel;

struct choice {
  std::string config, fixes, hardware = hp::hardware_presets[0].name.text;
  int devices = 1;
  hp::serving_plan plan{.context = 4096};  ///< degrees aside
  int weight_bits = 0, cache_bits = 0;     ///< 0: as the file has them, 16 where it does not say
  std::int64_t memory = 0;                 ///< of a device; 0: what the hardware has
  hp::memory_reserve reserve{};
  bool as_json = false;
  hp_tool::page_request page{};
};

/// What --fix of hp serve may name.
inline constexpr std::string_view known_fixes[] = {"tp", "pp", "dp", "ep"};

}  // namespace serving
