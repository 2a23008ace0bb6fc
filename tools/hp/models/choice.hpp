// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp models is asked.

#include <string>

namespace model_plans {

inline constexpr int most_devices = 4096;

struct choice {
  std::string model = "all";
  int devices = 0;    ///< 0: machines that hold the model
  int sequences = 0;  ///< in a step of training; 0: eight a die, on the supernode four
  bool full = false, accounts = true, as_json = false;
  int tensor = 0, context = 0, pipeline = 0;
};

/// Prints the plans. False, after a line on the error stream for each, where there is none.
bool plan_all(const choice& c);

}  // namespace model_plans
