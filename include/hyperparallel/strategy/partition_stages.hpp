// SPDX-License-Identifier: Apache-2.0
#pragma once
// The partitioner over the stages of a pipeline: a graph, a strategy and a cut give a program of several parts.
//
// The graph is walked once, as for one part. Each operator is placed on the part of its stage; what another part has is
// handed over, once, at its first reader, and stays until its last. A tensor that is partial there is reduced first. What
// reads nothing, as the gradient of the loss, is made by every part. What several stages contribute to a gradient each
// accumulates itself (tied_gradients.hpp). Laws: those of partition.hpp; all parts do the work of one graph, each
// operator once; between neighbouring stages of a transformer one tensor crosses forward and one backward.
// Complexity: that of `partition`.

#include <hyperparallel/graph/tied_gradients.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr sharded_program partition_stages_here(const graph& g, const strategy_value& s, const program_stages& stages) {
  growing_array<segment_entry> entries(g.segment.size, segment_entry{});
  graph copy = copy_with_room(g);
  program_stages cut = stages;
  accumulate_by_stage(copy, cut.cut);
  return partitioner(static_cast<graph&&>(copy), s, entries, &cut).run();
}
sharded_program partition_stages_in_library(const graph& g, const strategy_value& s, const program_stages& stages);

}  // namespace detail

/// The program of a pipeline's stages, for one micro-batch: a part for each group of ranks, with a mesh of the strategy's.
/// Domain: the cut is of `g`; there is no ring of attention.
constexpr sharded_program partition(const graph& g, const strategy_value& s, const program_stages& stages) {
  HYPERPARALLEL_TWIN(detail::partition_stages_in_library(g, s, stages));
  return detail::partition_stages_here(g, s, stages);
}

}}  // namespace hyperparallel::v0_2
