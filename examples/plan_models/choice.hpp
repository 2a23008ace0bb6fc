// SPDX-License-Identifier: Apache-2.0
#pragma once
// What plan_models is asked.

#include <string>

namespace plan_models {

inline constexpr int most_devices = 4096;

struct choice {
  std::string model = "all";
  int devices = 0;    ///< 0: machines that hold the model
  int sequences = 0;  ///< in a step of training; 0: eight a die, on the supernode four
  bool full = false, accounts = true;
  int tensor = 0, context = 0, pipeline = 0;
};

/// Prints the plans. False, after a line on the error stream for each, where there is none.
bool plan_all(const choice& c);

}  // namespace plan_models
