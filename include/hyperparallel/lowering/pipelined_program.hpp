// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program of a model under a strategy and a pipeline: the strategy's mesh once for each group of ranks, or that of the
// group's own strategy, the model's stages on the groups as the schedule places them, and the steps of all micro-batches in
// the order of its rows.
//
//   const hp::pipeline_value pipeline{.schedule = hp::schedule_called("ZB-V"), .ranks = 4, .chunks = 2};
//   hp::pipelined_program p = hp::partition(graph, strategy, pipeline);
//   p.ok(), hp::lower_training(p.program)
//
// The graph is that of a training step: its micro-batches are those of the schedule. Laws: those of stage_cut.hpp,
// partition.hpp and unrolled_rows.hpp; accumulated gradients have the bits of the strategy without the pipeline, whatever
// the schedule, but where stages are held twice or gradients are accumulated in any order. Errors: the first of
// `schedule`, `cut`, the program's status and `rows` that is not ok; of rows that stop `schedule` has the circle. Where
// groups have strategies of their own, as many as groups, that which is given beside them does not count. Domain: the pipeline
// names a schedule. Complexity: that of `partition` and `unroll`.

#include <hyperparallel/lowering/unrolled_rows.hpp>
#include <hyperparallel/pipeline/named_schedule.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/strategy/partition_stages.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct pipelined_program {
  pipeline_status schedule{};
  stage_cut_status cut{};
  unroll_status rows{};
  sharded_program program;

  constexpr bool ok() const {
    return schedule.ok() && cut.ok() && program.status.code == strategy_code::ok && rows.ok();
  }
};

namespace detail {

/// The stages of `g`, or why there are none: as many layers as `p` says for each.
constexpr stage_cut cut_for(const graph& g, const pipeline_value& p) {
  if (p.layers.empty()) return cut_evenly(g, p.stages());
  if (p.layers.size != p.stages())
    return detail::refused_cut({stage_cut_code::layers_for_other_stages, -1, p.layers.size, p.stages()});
  return cut_by_layers(g, p.layers.item, p.layers.size);
}

}  // namespace detail

constexpr pipelined_program partition(const graph& g, const strategy_value& s, const pipeline_value& pipeline) {
  pipelined_program out;
  const pipeline_shape n{.ranks = pipeline.ranks, .chunks = pipeline.chunks, .micro_batches = g.micro_batches};
  out.schedule = pipeline.schedule->check(n);
  if (!out.schedule.ok()) return out;
  program_stages stages;
  stages.parts = pipeline.ranks;
  stages.strategy = pipeline.strategy;
  if (const int given = pipeline.strategy.size; given != 0 && given != pipeline.ranks) {
    out.program.status = {strategy_code::strategies_for_other_groups, -1, -1, -1, -1, -1, given, pipeline.ranks};
    return out;
  }
  stages.cut = detail::cut_for(g, pipeline);
  out.cut = stages.cut.status;
  if (!out.cut.ok()) return out;
  const pipeline_schedule rows = pipeline.schedule->generate(n, false);
  for (const strategy_value& one : pipeline.strategy)
    if (rows.copies == 2 && !(one == pipeline.strategy[0])) out.rows.code = unroll_code::copies_are_unlike;
  if (!out.rows.ok()) return out;
  const auto place = [&](int copy) {
    stages.part_of_stage.clear();
    for (int t = 0; t < rows.stages; ++t) stages.part_of_stage.push(rows.rank_of_stage[t * rows.copies + copy]);
    return partition(g, s, stages);
  };
  out.program = place(0);
  if (out.program.status.code != strategy_code::ok) return out;
  sharded_program mirrored;
  if (rows.copies == 2) mirrored = place(1);
  unrolled_rows unrolled =
      unroll(out.program, rows.copies == 2 ? &mirrored : nullptr, rows, {pipeline.accumulates_in_any_order});
  out.rows = unrolled.status;
  if (out.rows.code == unroll_code::row_waits_for_ever) out.schedule = replay(rows).status;
  if (out.rows.ok()) out.program = static_cast<sharded_program&&>(unrolled.program);
  return out;
}

}}  // namespace hyperparallel::v0_2
