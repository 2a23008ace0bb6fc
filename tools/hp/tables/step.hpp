// SPDX-License-Identifier: Apache-2.0
#pragma once
// A2: what a faster MoE module does for a training step. A3: how fast the module could become at all.

#include <fmt/format.h>

#include "anchor.hpp"
#include "parameters.hpp"
#include "published.hpp"

namespace tables {

/// Amdahl's law: `share` of the step becomes `speed_up` times as fast.
constexpr double step_speed_up(double share, double speed_up) { return 1 / (1 - share + share / speed_up); }

/// `module_speed_up` of each row of the module table, from A1.
inline anchor_rows end_to_end(const parameters& p, const double (&module_speed_up)[3]) {
  anchor_rows rows;
  for (int i = 0; i < 3; ++i) {
    const published::module_row& r = published::module_table[i];
    rows.push_back({"A2", fmt::format("step, EP{}, module {:.3f}x", r.ep, module_speed_up[i]), "x", r.step_speed_up,
                    step_speed_up(static_cast<double>(p.module_share.value) * 1e-6, module_speed_up[i]),
                    criterion::absolute, 0.01, 3, standing::fit});
  }
  return rows;
}

/// Milliseconds of the grouped matmuls of forward (`products` = 1), backward (2) or both (3) at `reached`, all cores
/// busy all the time.
inline double matmul_milliseconds(const hp::device_value& d, hp::efficiency reached, int products) {
  using namespace published;
  const std::int64_t rows = std::int64_t{tokens} * top_k;
  const hp::time_cost forward = then(hp::matmul_time(d, rows, 2 * intermediate, hidden, reached, d.aic),
                                     hp::matmul_time(d, rows, hidden, intermediate, reached, d.aic));
  return static_cast<double>(products * forward.picoseconds) / static_cast<double>(hp::millisecond);
}

/// The published baseline over nothing but the grouped matmuls: at the efficiency of serialized operators the most that
/// overlap alone can give, at that of fused ones the most that overlap and locality can.
inline anchor_rows ceilings(const parameters& p) {
  const hp::device_value d = p.device();
  const double baseline = published::module_at(8).serialized();
  return {{"A3", "ceiling, EP8: overlap only", "x", 1.34, baseline / matmul_milliseconds(d, d.gmm_cold, 3),
           criterion::absolute, 0.01, 3},
          {"A3", "ceiling, EP8: overlap and locality", "x", 1.66, baseline / matmul_milliseconds(d, d.gmm_warm, 3),
           criterion::absolute, 0.01, 3}};
}

}  // namespace tables
