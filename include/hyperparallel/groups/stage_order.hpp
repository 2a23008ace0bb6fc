// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a graph in the order of its stages, where they were built in another one, as towers in turns.
//
// Forward operators come by rising stage, backward ones by falling stage, those of one stage as they were. So whoever walks
// the operators has all of a stage before it comes to one that reads it: what is handed over to a part comes with the first
// stage of the part that reads it, and no two stages wait for each other. A parameter of several stages belongs to the least.
// Laws: a graph for one device as before, with the same bits; the cut is of the graph, before and after. Domain: a stage of
// the cut reads lesser stages forward; it was made by `cut_as_said`. O(operators · (operands + log operators)).

#include <hyperparallel/graph/operator_order.hpp>
#include <hyperparallel/graph/stage_cut.hpp>
#include <hyperparallel/strategy/interval_packing.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Sorts the operators of a phase by `sign` · their stages; returns the stages in their new order.
constexpr growing_array<int> sort_phase(graph& g, const stage_cut& cut, graph_phase phase, int sign) {
  growing_array<int> order, stage;
  growing_array<extent_t> key;
  for (int o = 0; o < g.op.size; ++o) {
    order.push(o);
    const extent_t before = g.op.item[o].phase < phase ? 2 : g.op.item[o].phase > phase ? -2 : 0;
    key.push(before * cut.stages - (before == 0 ? sign * cut.of_op.item[o] : 0));
  }
  sort_by_falling(order, key);
  for (const int o : order) stage.push(cut.of_op.item[o]);
  arrange_operators(g, order);
  return stage;
}

}  // namespace detail

constexpr void arrange_by_stages(graph& g, stage_cut& cut) {
  const growing_array<int> said = detail::sort_phase(g, cut, graph_phase::forward, 1);
  cut = cut_as_said(g, said, cut.stages);  // first readers may be others
  cut.of_op = detail::sort_phase(g, cut, graph_phase::backward, -1);
}

}}  // namespace hyperparallel::v0_2
