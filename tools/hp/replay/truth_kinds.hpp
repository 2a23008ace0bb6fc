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
/// within what reading them errs. Of a run that was timed (class B) its plan is held against the search: with the same
/// batch, sequence and memory the search finds one that takes no longer by the account. Rows whose plan cannot be said or does
/// not fit are skipped with the reason, other measured rows and other conventions as not tried, with their family.
verdict replay_published_number(const json& v);

}  // namespace replay
