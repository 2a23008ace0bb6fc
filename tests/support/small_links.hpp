// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links on which moves by levels, by axes and in two parts are worth their steps.

#include <hyperparallel/redistribution/interconnect.hpp>

namespace tested {

/// Nodes of `group` ranks with fast links, and slow links between all of them. Latencies are so small that a few hundred
/// bytes are worth a step.
constexpr hyperparallel::interconnect node_links(int group = 2) {
  hyperparallel::topology_value t;
  t.level_count = 2;
  t.level[0] = {{}, group, 400'000'000'000, 100};
  t.level[1] = {{}, hyperparallel::unbounded_group, 5'000'000'000, 1'000};
  return hyperparallel::on_topology(t);
}

/// A full mesh with equal links along every axis.
constexpr hyperparallel::interconnect mesh_links(const hyperparallel::mesh_shape& m) {
  hyperparallel::link_level along[hyperparallel::max_axes];
  for (hyperparallel::link_level& l : along) l = {{}, 0, 10'000'000'000, 1'000};
  return hyperparallel::on_full_mesh(m, along);
}

}  // namespace tested
