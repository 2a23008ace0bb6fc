// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plans of a strategy search by the clocks of the programs that would run.
//
//   hp::search_result r = hp::search_strategies(graphs, count, device, topology, 64);
//   hp::simulate_best(r, [&](int graph) { return unrolled[graph]; }, device, topology, [] { return true; });
//   r.plan[0].time(), r.plan[0].simulated.bytes
//
// A search times graphs whose layers may be folded; what runs has them unrolled, so who asks gives the same graphs once more,
// built with `unrolled`. Each is partitioned by the plan's strategy and simulated within the memory that was searched for.
// A plan whose addresses exceed it is no plan any more; a pipeline is not simulated, and its `simulated` says so.
// Laws: those of simulated_rows.hpp; the certificate's bound stays at most the winner's time. O(plans · simulate_unrolled).

#include <hyperparallel/price/simulated_rows.hpp>
#include <hyperparallel/search/result.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Simulates the plans of a result from the fastest on, until the first one is no longer merely estimated, or `go_on()`, asked
/// before each, says false. `graph_of(number)` is the graph of that number with layers unrolled. Precondition: device and links
/// are those of the search.
template <class GraphOf, class Links, class GoOn>
constexpr void simulate_best(search_result& r, const GraphOf& graph_of, const device_value& device, const Links& links,
                             const GoOn& go_on) {
  search_certificate& c = r.certificate;
  const interconnect net = interconnect_of(links);
  simulate_rows(
      r.plan,
      [&](found_plan& p) {
        p.simulated = p.frame.pipeline > 1
                          ? simulated_plan{.code = simulated_plan_code::is_a_pipeline}
                          : simulate_unrolled(partition(graph_of(p.graph), p.strategy), net, device, c.budget);
        c.simulations.add(p.simulated, false);
      },
      go_on);
  if (r.ok()) c.lower_bound = smaller(c.lower_bound, r.plan[0].time());
}

}}  // namespace hyperparallel::v0_2
