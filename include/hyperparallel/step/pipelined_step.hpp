// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training as a pipeline: options that cut the model into stages, and its account.
//
//   using step = hp::train_step<model, strategy, hp::adamw, hp::matrix384, hp::accumulating<8>,
//                               hp::pipelined<hp::zero_bubble_v, 4>, hp::layers_of_stages<5, 3, 4, 4, 4, 4, 3, 5>>;
//   static_assert(step::verified && step::clock.makespan < …);
//   hp::world<step> world;                  // feeds, losses and checkpoints as those of any step
//
// The strategy is that of one stage, its mesh stands once for each group of ranks; `strategies_of_groups` gives each group
// its own, on a mesh of its own size, and then the step's strategy is that of the first group. The account takes memory from the group
// with the highest peak, work and traffic from the one with the most matrix operations, and times from the clock of the
// whole pipeline, so `exposed` has the bubbles. Errors: one line with the code of the schedule, the cut or the rows, and
// both sizes.

#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/price/parts_account.hpp>
#include <hyperparallel/step/parts_offload.hpp>
#include <hyperparallel/step/training_step.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

template <class Schedule, int Ranks, int Chunks>
constexpr sharded_program partition_pipelined(const graph& g, const strategy_value& s, const step_pipeline& how,
                                              step_stages_status& status) {
  pipeline_value pipeline{.schedule = &schedule_value<Schedule>, .ranks = Ranks, .chunks = Chunks};
  for (const int layers : how.layers) pipeline.layers.push(layers);
  if (how.devices > 0) pipeline.strategy = how.strategies();
  if (g.status.code != graph_code::ok) return partition(g, s);  // which says so
  pipelined_program p = partition(g, s, pipeline);
  status = {p.schedule.code, p.cut.code, p.rows.code, 0, 0};
  if (!p.schedule.ok()) status.given = p.schedule.code == pipeline_code::chunks_are_fixed ? Chunks : g.micro_batches;
  if (!p.schedule.ok()) status.expected = p.schedule.needed;
  if (p.schedule.ok() && !p.cut.ok()) {
    status.given = p.cut.given;
    status.expected = p.cut.expected;
  }
  return static_cast<sharded_program&&>(p.program);
}

}  // namespace detail

/// The model's stages on `Ranks` groups, as many a group as the schedule insists on, or one, unless said.
template <schedule_generator Schedule, int Ranks, int Chunks = 0>
struct pipelined {
  using sets = setting<"pipeline">;
  static constexpr int fixed = detail::fixed_chunks_of<Schedule>();
  static constexpr int chunks = Chunks > 0 ? Chunks : fixed > 0 ? fixed : 1;
  static constexpr void apply(step_settings& s) {
    static_assert(Ranks >= 1, "a pipeline has at least one group of ranks");
    s.pipeline.ranks = Ranks >= 1 ? Ranks : 1;
    s.pipeline.of_parts = true;
    s.pipeline.partition = &detail::partition_pipelined<Schedule, Ranks, chunks>;
    s.pipeline.account = &account_of_parts;
    s.pipeline.offload = &offload_parts;
  }
};
/// A strategy for each group of ranks, in their order.
template <class... Strategies>
struct strategies_of_groups {
  using sets = setting<"strategies of groups">;
  static constexpr growing_array<strategy_value> listed() {
    growing_array<strategy_value> all;
    (static_cast<void>(all.push(Strategies::value)), ...);
    return all;
  }
  static constexpr void apply(step_settings& s) {
    s.pipeline.strategies = &listed;
    s.pipeline.devices = (position_count(Strategies::value.mesh.shape) + ...);
  }
};
/// So many layers a stage.
template <int... Layers>
struct layers_of_stages {
  using sets = setting<"layers of stages">;
  static constexpr void apply(step_settings& s) {
    static_assert(sizeof...(Layers) <= 64, "a step has at most 64 stages");
    s.pipeline.layers.size = 0;
    (static_cast<void>(s.pipeline.layers.push(Layers)), ...);
  }
};

}}  // namespace hyperparallel::v0_2
