// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp offload is asked.

#include <string>
#include <vector>

namespace offload_plans {

struct choice {
  std::string model = "llama";
  std::vector<int> devices{1, 2, 4, 8};
  int sequences = 0;   ///< in a step of training; 0: eight a die
  int bandwidth = 37;  ///< of the host's memory, GB/s a die and way
  int memory = 64;     ///< of a die, GiB
  bool account = false, as_json = false;
};

/// Prints the plans. False, after a line on the error stream for each number of dies without one.
bool compare_all(const choice& c);

}  // namespace offload_plans
