// SPDX-License-Identifier: Apache-2.0
#pragma once
// One published number beside ours, and what it is held to.
//
// Law: a row holds iff its measure of `ours` keeps `limit`; nothing stores the verdict.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace tables {

enum class criterion {
  relative,  ///< |ours / published - 1| ≤ limit
  absolute,  ///< |ours - published| ≤ limit
  at_most,   ///< ours ≤ limit
  at_least,  ///< ours ≥ limit
  above,     ///< ours > limit
  printed,   ///< held to nothing
};

/// What a row that holds is worth. A prediction: nothing that it is held against was used to find a parameter. A fit:
/// parameters were found on these numbers, fewer than there are numbers. A calibration has as many free parameters
/// behind it as printed numbers: it says that the fit was made, no more.
enum class standing { prediction, fit, calibration };

constexpr const char* to_text(standing s) {
  constexpr const char* names[] = {"prediction", "fit", "calibration"};
  return names[static_cast<int>(s)];
}

struct anchor_row {
  std::string id, what, unit;
  std::optional<double> published;
  double ours = 0;
  criterion measure = criterion::printed;
  double limit = 0;
  int decimals = 2;
  standing kind = standing::prediction;
};

using anchor_rows = std::vector<anchor_row>;

/// Deviation from the published number, as a share or in the row's unit; none where there is no such number.
inline std::optional<double> error_of(const anchor_row& r) {
  if (!r.published) return std::nullopt;
  return r.measure == criterion::absolute ? r.ours - *r.published : r.ours / *r.published - 1;
}

inline bool holds(const anchor_row& r) {
  switch (r.measure) {
    case criterion::relative:
    case criterion::absolute:
      return error_of(r) && std::abs(*error_of(r)) <= r.limit;
    case criterion::at_most:
      return r.ours <= r.limit;
    case criterion::at_least:
      return r.ours >= r.limit;
    case criterion::above:
      return r.ours > r.limit;
    case criterion::printed:
      return true;
  }
  return false;
}

inline bool all_hold(const anchor_rows& rows) {
  for (const anchor_row& r : rows)
    if (!holds(r)) return false;
  return true;
}

}  // namespace tables
