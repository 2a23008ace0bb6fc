// SPDX-License-Identifier: Apache-2.0
#pragma once
// A7: how much of the all-to-all lies behind matrix work, from the timeline of forward and backward:
//
//   masked                = 1 - |union(link) minus union(AIC)| / |union(link)|
//   exposed of the step   = its share of the step · (1 - masked)
//
// Ours with the real exchange, in which own rows stay and are copied, for the experts alone and for the whole layer
// with router and merge. The published 61 % are of a training step that overlaps whole operators by hand; serialized
// operators of one layer mask nothing.

#include "planner.hpp"

namespace tables {

inline double masked_percent(const hp::exposure& forward, const hp::exposure& backward) {
  const std::int64_t busy = forward.busy + backward.busy, exposed = forward.exposed + backward.exposed;
  return 100 * (1 - static_cast<double>(exposed) / static_cast<double>(busy));
}

inline anchor_rows masking(const parameters& p) {
  using namespace published;
  anchor_rows rows;
  const double share = static_cast<double>(p.all_to_all_share.value) * 1e-6;
  const auto add = [&rows](const std::string& what, double published, double ours, criterion c, double limit) {
    rows.push_back({"A7", what, "%", published, ours, c, limit});
  };
  for (const int ep : degrees) {
    const auto published_order = [&](hp::expert_event_form form, std::int64_t hop) {
      return masked_percent(run_published_order(p, ep, passes[0], form, hop).communication,
                            run_published_order(p, ep, passes[1], form, hop).communication);
    };
    add(fmt::format("EP{} masked, serialized operators", ep), masked_before,
        published_order(hp::expert_event_form::serialized, 0), criterion::printed, 0);
    add(fmt::format("EP{} masked, fused, published order", ep), masked_after,
        published_order(hp::expert_event_form::fused, p.paper_hop.value), criterion::printed, 0);
    for (const hp::moe_scope scope : {hp::moe_scope::experts, hp::moe_scope::layer}) {
      hp::exposure of_pass[2];
      for (int i = 0; i < 2; ++i) {
        hp::moe_options o = module_options(p, passes[i], p.prompt_hop.value);
        o.scope = scope;
        o.even_exchange = false;
        of_pass[i] = run_chosen_plan(p, ep, o).communication;
      }
      const double masked = masked_percent(of_pass[0], of_pass[1]);
      const char* what = scope == hp::moe_scope::experts ? "experts" : "whole layer";
      add(fmt::format("EP{} masked, ours, {}", ep, what), masked_after, masked, criterion::at_least, 90);
      add(fmt::format("EP{} exposed of the step, ours, {}", ep, what), exposed_after, share * (100 - masked),
          criterion::at_most, exposed_after);
    }
  }
  add("exposed of the step, published: 61 % masked", exposed_before, share * (100 - masked_before), criterion::printed,
      0);
  add("exposed of the step, published: 90 % masked", exposed_after, share * (100 - masked_after), criterion::printed,
      0);
  return rows;
}

}  // namespace tables
