// SPDX-License-Identifier: Apache-2.0
#pragma once
// A7: how much of the all-to-all lies behind matrix work, from the timeline of forward and backward:
//
//   masked                = 1 - |union(link) minus union(AIC)| / |union(link)|
//   exposed of the step   = its share of the step · (1 - masked)
//
// Ours for the experts alone, and for the whole layer with router, dispatch and combine, whose moves take what the topology
// says. The published 61 % are of a training step that overlaps whole operators by hand; serialized
// operators of one layer mask nothing.

#include "planner.hpp"

namespace tables {

inline double masked_percent(const module_run& forward, const module_run& backward) {
  return 100 * (1 - static_cast<double>(forward.exposed + backward.exposed) /
                        static_cast<double>(forward.moved + backward.moved));
}

inline anchor_rows masking(const parameters& p) {
  using namespace published;
  anchor_rows rows;
  const double share = static_cast<double>(p.all_to_all_share.value) * 1e-6;
  const auto add = [&rows](const std::string& what, double published, double ours, criterion c, double limit) {
    rows.push_back({"A7", what, "%", published, ours, c, limit});
  };
  for (const int ep : degrees) {
    const auto of_both = [&](const auto& run) { return masked_percent(run(passes[0]), run(passes[1])); };
    add(fmt::format("EP{} masked, operators", ep), masked_before,
        of_both([&](module_pass pass) { return run_module(p, {.ep = ep, .pass = pass}); }), criterion::printed, 0);
    add(fmt::format("EP{} masked, fused, published order", ep), masked_after, of_both([&](module_pass pass) {
          return run_module(p, {.ep = ep, .pass = pass, .tiles = published_tiles, .hop = p.paper_hop.value});
        }),
        criterion::printed, 0);
    for (const bool layer : {false, true}) {
      const double masked = of_both([&](module_pass pass) {
        return run_fastest(p, {.ep = ep, .pass = pass, .hop = p.prompt_hop.value, .layer = layer});
      });
      const char* what = layer ? "whole layer" : "experts";
      add(fmt::format("EP{} masked, ours, {}", ep, what), masked_after, masked,
          layer ? criterion::printed : criterion::at_least, 90);
      add(fmt::format("EP{} exposed of the step, ours, {}", ep, what), exposed_after, share * (100 - masked),
          layer ? criterion::printed : criterion::at_most, exposed_after);
    }
  }
  add("exposed of the step, published: 61 % masked", exposed_before, share * (100 - masked_before), criterion::printed,
      0);
  add("exposed of the step, published: 90 % masked", exposed_after, share * (100 - masked_after), criterion::printed,
      0);
  return rows;
}

}  // namespace tables
