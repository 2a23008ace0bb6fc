// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a pipeline's step by the replay of its schedule, from what the passes of each stage take.
//
//   const hp::stage_replay r = hp::replay_stages(stages, {.ranks = 4, .micro_batches = 16}, hand_over);
//   r.ok(), r.makespan(), r.bubble, r.handed
//
// Any schedule of schedule_list.hpp that holds each stage once, as `generate` writes it and replay.hpp plays it; 1F1B where none
// is named. A rank runs one pass at a time, and what a stage hands over to one on another rank is there `hand_over` after the pass
// has ended. Where a schedule parts them, gradients of parameters are put off. The updates begin when all ranks have ended their last
// backward, since the norm of all gradients joins the stages.
// Laws: the makespan is at least what any rank is busy for, and at least the way of one micro-batch through all stages and back;
// of 1F1B with equal stages and no hand-over it is (m + p - 1) · (forward + backward) + update, and it does not fall where a
// pass or the hand-over takes longer. `makespan()` = busiest rank's rounds · m + bubble + handed + update. Units: picoseconds.
// O(stages² + micro-batches replayed · stages): of 1F1B whatever the micro-batches, where bodies of the schedule repeat; of others at
// most `most_replayed_passes`.

#include <hyperparallel/lowering/run_times.hpp>
#include <hyperparallel/pipeline/many_micro_batches.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/price/stage_passes.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Forwards of all stages and micro-batches that are replayed one by one.
inline constexpr extent_t most_replayed_passes = extent_t{1} << 21;

}  // namespace detail

struct stage_replay {
  extent_t busy = 0;    ///< of the busiest rank with its micro-batches
  extent_t bubble = 0;  ///< in which it waits, where handing over takes no time
  extent_t handed = 0;  ///< by which handing over makes the schedule longer
  extent_t update = 0;  ///< of the rank that takes longest for it
  extent_t skew =
      0;  ///< by which the ranks' spans are all shorter than the schedule: what a step saves that need not begin at once
  run_times times{.code = cost_code::program_is_refused};

  constexpr bool ok() const { return times.ok(); }
  constexpr extent_t makespan() const { return busy + bubble + handed + update; }
};

namespace detail {

/// The replay of the schedule in place `schedule` of the list; refused where it is too large.
constexpr pipeline_account replay_listed(int schedule, const pipeline_shape& n, const pipeline_costs& c) {
  if (schedule == schedule_place<one_forward_one_backward>) return replay_many<one_forward_one_backward>(n, c);
  if (extent_t{n.stages()} * n.micro_batches > most_replayed_passes)
    return {.status = {.code = pipeline_code::schedule_is_too_large}};
  return replay(schedule_table.item[schedule].generate(n, false), c);
}

/// The passes of each rank's stages together.
constexpr growing_array<stage_passes> passes_of_ranks(const growing_array<stage_passes>& stages,
                                                      const pipeline_shape& n, int schedule) {
  growing_array<stage_passes> ranks;
  ranks.resize(n.ranks, stage_passes{});
  for (int s = 0; s < stages.size; ++s)
    ranks[rank_of_stage(schedule_table.item[schedule].placement, n.ranks, s)] += stages[s];
  return ranks;
}

stage_replay replay_stages_in_library(const growing_array<stage_passes>& stages, const pipeline_shape& n,
                                      extent_t hand_over, int schedule);
constexpr stage_replay replay_stages_here(const growing_array<stage_passes>& stages, const pipeline_shape& n,
                                          extent_t hand_over, int schedule) {
  stage_replay r;
  r.times.code = cost_code::overflow;
  if (!schedule_table.item[schedule].check(n).ok()) return r;
  pipeline_costs costs;
  for (const stage_passes& one : stages) {
    const extent_t weights = schedule == schedule_place<one_forward_one_backward> ? 0 : one.weights;
    costs.times.push(
        {.forward = one.forward.time, .input_gradient = one.backward.time - weights, .weight_gradient = weights});
  }
  const growing_array<stage_passes> ranks = detail::passes_of_ranks(stages, n, schedule);
  int busiest = 0, last = 0;
  extent_t work = 0;
  for (int rank = 0; rank < n.ranks; ++rank) {
    const stage_passes& one = ranks[rank];
    if (one.round() > ranks[busiest].round()) busiest = rank;
    if (one.update.time > ranks[last].update.time) last = rank;
    work = larger(work, n.micro_batches * (one.forward.computed + one.backward.computed) + one.update.computed);
  }
  const extent_t unhanded = detail::replay_listed(schedule, n, costs).makespan;
  costs.latency = hand_over;
  const pipeline_account whole = detail::replay_listed(schedule, n, costs);
  if (unhanded == not_counted || !whole.ok()) return r;
  const stage_passes &busy = ranks[busiest], &updating = ranks[last];
  r.busy = n.micro_batches * busy.round();
  r.bubble = unhanded - r.busy;
  r.handed = whole.makespan - unhanded;
  r.update = updating.update.time;
  r.skew = whole.makespan - whole.longest_rank_span;
  const extent_t computed = busy.forward.computed + busy.backward.computed;
  r.times.code = cost_code::ok;
  r.times.makespan = r.makespan();
  r.times.busy[static_cast<int>(resource::aic)] = n.micro_batches * computed + busy.update.computed;
  r.times.busy[static_cast<int>(resource::link)] =
      n.micro_batches * (busy.forward.moved + busy.backward.moved) + busy.update.moved;
  r.times.exposed = r.busy - n.micro_batches * computed + r.handed + r.update - updating.update.computed;
  r.times.bound.work = work;
  return r;
}

}  // namespace detail

/// Stages in order, each with the passes of one micro-batch, on n.ranks ranks. `times` has the queues of the busiest rank; exposed is
/// what is neither computed there nor bubble; of the bounds the work alone is known. Not ok, with `overflow`, where the schedule is too
/// large or does not exist. Precondition: there are n.stages() stages, each held once.
constexpr stage_replay replay_stages(const growing_array<stage_passes>& stages, const pipeline_shape& n,
                                     extent_t hand_over, int schedule = schedule_place<one_forward_one_backward>) {
  HYPERPARALLEL_TWIN(detail::replay_stages_in_library(stages, n, hand_over, schedule));
  return detail::replay_stages_here(stages, n, hand_over, schedule);
}

}}  // namespace hyperparallel::v0_2
