// SPDX-License-Identifier: Apache-2.0
#pragma once
// A1: the twelve latencies of the MoE module. Both columns are one model of the experts (expert_module.hpp): its operators one
// after the other, or in the published order, in which dispatch, products and combine of one expert follow each other behind
// events for whole experts: tiles of whole experts, with the hop of the published executor between queues.

#include "anchor.hpp"
#include "expert_module.hpp"

namespace tables {

inline constexpr int published_tiles = published::local_experts;

/// The module table as it is played: [degree][pass], milliseconds.
struct module_figures {
  double serialized[3][2] = {}, fused[3][2] = {};
  /// Speed-up of forward and backward together.
  double speed_up(int degree) const {
    return (serialized[degree][0] + serialized[degree][1]) / (fused[degree][0] + fused[degree][1]);
  }
};

inline module_figures play_modules(const parameters& p) {
  module_figures out;
  for (int d = 0; d < 3; ++d)
    for (int i = 0; i < 2; ++i) {
      // Launches between serialized operators are inside their fitted efficiency.
      out.serialized[d][i] = milliseconds(run_module(p, {.ep = degrees[d], .pass = passes[i]}).serial);
      out.fused[d][i] = milliseconds(
          run_module(p, {.ep = degrees[d], .pass = passes[i], .tiles = published_tiles, .hop = p.paper_hop.value})
              .makespan);
    }
  return out;
}

inline anchor_rows module_table(const module_figures& m) {
  anchor_rows rows;
  for (int d = 0; d < 3; ++d) {
    const published::module_row& r = published::module_table[d];
    const double serialized[] = {r.serialized_forward, r.serialized_backward},
                 fused[] = {r.fused_forward, r.fused_backward};
    for (int i = 0; i < 2; ++i) {
      rows.push_back({"A1", fmt::format("EP{} {}, serialized operators", r.ep, name_of(passes[i])), "ms", serialized[i],
                      m.serialized[d][i], criterion::relative, 0.03, 2, standing::fit});
      rows.push_back({"A1", fmt::format("EP{} {}, fused, published order", r.ep, name_of(passes[i])), "ms", fused[i],
                      m.fused[d][i], criterion::relative, 0.05, 2, standing::fit});
    }
    rows.push_back({"A1", fmt::format("EP{} forward and backward, speed-up", r.ep), "x", r.serialized() / r.fused(),
                    m.speed_up(d), criterion::printed, 0, 3});
  }
  return rows;
}

}  // namespace tables
