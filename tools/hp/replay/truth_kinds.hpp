// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of truth_tables.jsonl: published numbers of training runs.

#include "reading.hpp"

namespace replay {

/// Whether a vector is a published number.
inline bool is_published_number(const json& v) {
  return v.contains("family") && v.contains("quantity") && v.contains("nature") && v.contains("value");
}

/// Rows that are computed by a convention of the library: bytes to the last printed digit, shares that were read off a plot
/// within what reading them errs. Measured rows and those of other conventions are skipped as not tried, with their
/// family.
verdict replay_published_number(const json& v);

}  // namespace replay
