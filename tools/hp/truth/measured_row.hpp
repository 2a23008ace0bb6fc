// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows measured on one device: steps of training with their bytes and seconds, steps of serving, single operators.
//
// Of steps of training three amounts are predicted: the peak of what is allocated, what is there when the last forward has ended, and the
// seconds in which something is computed, since links are not waited for; of steps of decode and of prompts the seconds, as
// hp serve has them. Rows of one operator are inputs of a fit.

#include <string>
#include <vector>

#include "prediction.hpp"

namespace truth {

struct measured_amount {
  const char* name;  ///< "peak_bytes", "after_forward_bytes", "compute_seconds"; of serving "seconds"
  double measured = 0, predicted = 0;
};

struct measured_row {
  std::string id{}, kind{}, program{}, model{};
  bool is_operator = false;  ///< one operator, or the device itself
  prediction said{};
  std::vector<measured_amount> amounts{};  ///< of those that are predicted
  double tolerance = 0;                    ///< that they must keep to; 0: none
};

/// Whether a row of the file is one of these.
inline bool is_measured_row(const json& row) { return row.contains("kind") && !row.contains("quantity"); }

/// The device of a file without a row of kind "device".
inline constexpr const char* device_without_a_row = "NVIDIA H100 80GB HBM3";

/// `device`: the name that the file's row of kind "device" has. Throws malformed_row.
measured_row read_measured_row(const json& row, const std::string& device);

}  // namespace truth
