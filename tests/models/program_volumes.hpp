// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the devices of a program receive, counted from the transfers of each of its moves.
//
// A move counts what the device that receives most takes from others; a block that travels counts whole. Numbers
// without a dim (losses, norms) are left out.

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

#include <vector>

namespace programs {

namespace hp = hyperparallel;

/// Elements that the busiest device receives in a move.
inline hp::extent_t received_elements(const hp::sharded_program& p, int move) {
  const hp::program_value& from = p.value[p.move[move].source];
  const hp::program_value& to = p.value[p.move[move].target];
  if (!(from.rotation == to.rotation)) return hp::local_elements(p, p.move[move].target);
  const hp::move_plan plan = hp::plan_move(from.layout, to.layout, p.graph.tensor[to.tensor].shape);
  std::vector<hp::extent_t> tally(3 * static_cast<std::size_t>(hp::position_count(p.mesh.shape)), 0);
  return hp::certify(plan, tally.data()).received_maximum;
}

/// What travels: weights are parameters, their gradients and their states; activations everything else.
enum class traffic { activations, weights };

inline traffic traffic_of(const hp::graph& g, int tensor) {
  while (g.tensor[tensor].replaces >= 0) tensor = g.tensor[tensor].replaces;
  const hp::graph_tensor& t = g.tensor[tensor];
  if (t.kind == hp::graph_tensor_kind::parameter || t.kind == hp::graph_tensor_kind::state) return traffic::weights;
  const bool of_parameter = t.source >= 0 && g.tensor[t.source].kind == hp::graph_tensor_kind::parameter;
  return t.kind == hp::graph_tensor_kind::gradient && of_parameter ? traffic::weights : traffic::activations;
}

/// Bytes that a device receives in a step of training in the phases [first, last], of tensors whose names match.
inline hp::extent_t received_bytes(const hp::sharded_program& p, hp::graph_phase first, hp::graph_phase last,
                                   traffic what, const char* pattern = "*") {
  hp::extent_t bytes = 0;
  for (int i = 0; i < p.step.size; ++i) {
    const hp::program_step& s = p.step[i];
    if (!s.is_move || s.phase < first || s.phase > last) continue;
    const int tensor = p.value[p.move[s.index].target].tensor;
    const hp::graph_tensor& t = p.graph.tensor[tensor];
    if (t.shape.rank == 0 || traffic_of(p.graph, tensor) != what) continue;
    if (!hp::detail::name_matches(pattern, p.graph.name_of_tensor(tensor))) continue;
    bytes += hp::times_of(p, s) * received_elements(p, s.index) * hp::bytes_of(t.type);
  }
  return bytes;
}

}  // namespace programs
