// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layers of each stage of a pipeline, chosen by what layers take on a device.
//
//   pipeline.layers = hp::layers_by_time(graph, strategy, hp::matrix384::device, pipeline.stages());
//
// A layer's weight is the time of its compute steps for one micro-batch, forward, backward and recomputed, under the strategy
// of a stage. What stands before the first layer or behind the last one (embedding, head, loss) is added to that layer. The
// split is that of stage_split.hpp. Laws: no split of the layers has a lighter heaviest stage; weights add up to the
// compute time of a micro-batch. Errors: none where the program is refused, has fewer layers than stages or no price.
// O(steps + layers² · stages).

#include <cstdint>

#include <hyperparallel/graph/stage_cut.hpp>
#include <hyperparallel/pipeline/stage_split.hpp>
#include <hyperparallel/price/step_times.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Picoseconds of each layer on a device; none where the program is refused or a step has no price. Domain: `p` is of one part,
/// not unrolled, of a graph whose operators are those of `p.graph`.
constexpr growing_array<std::int64_t> layer_weights(const sharded_program& p, const device_value& d) {
  growing_array<std::int64_t> weight;
  if (p.status.code != strategy_code::ok) return weight;
  growing_array<int> layer;  // of each operator
  const int layers = detail::number_layers(p.graph, layer);
  if (layers == 0) return weight;
  int first = -1;  // the first operator of a layer
  for (int o = layer.size - 1; o >= 0; --o)
    if (layer[o] >= 0) first = o;
  weight.resize(layers, 0);
  for (const program_step& s : p.step) {
    if (s.is_move || is_in(s.phase, update_phases)) continue;
    const program_compute& c = p.compute.item[s.index];
    int o = c.op;
    if (p.graph.op.item[o].forward >= 0) o = p.graph.op.item[o].forward;
    const time_cost time = detail::price_of_compute(d, p, s.index).time;
    if (!time.ok()) return {};
    const bool is_of_a_layer = layer[o] >= 0;
    weight[is_of_a_layer ? layer[o] : o < first ? 0 : layers - 1] += time.picoseconds;
  }
  return weight;
}

/// So many layers for each stage that the slowest is as fast as can be; none where there is no split.
constexpr growing_array<int> layers_by_time(const graph& g, const strategy_value& s, const device_value& d,
                                            int stages) {
  const stage_split split = split_layers(layer_weights(partition(g, s), d), stages);
  growing_array<int> layers;
  for (int i = 0; split.ok() && i < stages; ++i) layers.push(split.layers_of(i));
  return layers;
}

}}  // namespace hyperparallel::v0_2
