// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a pipeline's step by the replay of its schedule, from what the passes of each stage take.
//
//   const hp::stage_replay r = hp::replay_stages(stages, micro_batches, hand_over);
//   r.ok(), r.makespan(), r.bubble, r.handed
//
// The schedule is 1F1B, the one that pipeline_form.hpp counts, as `generate<one_forward_one_backward>` writes it and replay.hpp
// plays it: a stage runs one pass at a time, and what it hands over is there `hand_over` after the pass has ended. The updates
// begin when all stages have ended their last backward, since the norm of all gradients joins the stages.
// Laws: the makespan is at least what any stage is busy for, and at least the way of one micro-batch through all stages and back;
// with equal stages and no hand-over it is (m + p - 1) · (forward + backward) + update; it does not fall where a pass or
// the hand-over takes longer. `makespan()` = busiest round · m + bubble + handed + update. Units: picoseconds. O(stages² +
// micro-batches replayed · stages), whatever the micro-batches, where bodies of the schedule repeat.

#include <hyperparallel/lowering/run_times.hpp>
#include <hyperparallel/pipeline/many_micro_batches.hpp>
#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/price/stage_passes.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct stage_replay {
  extent_t busy = 0;    ///< of the busiest stage with its micro-batches
  extent_t bubble = 0;  ///< in which it waits, where handing over takes no time
  extent_t handed = 0;  ///< by which handing over makes the schedule longer
  extent_t update = 0;  ///< of the stage that takes longest for it
  run_times times{.code = cost_code::program_is_refused};

  constexpr bool ok() const { return times.ok(); }
  constexpr extent_t makespan() const { return busy + bubble + handed + update; }
};

namespace detail {

/// `not_counted` where times do not fit 64 bits.
constexpr extent_t schedule_time(const pipeline_shape& n, const pipeline_costs& c) {
  return replay_many<one_forward_one_backward>(n, c).makespan;
}

}  // namespace detail

/// Stages in order, each with the passes of one micro-batch. `times` has the queues of the busiest stage; exposed is what is neither
/// computed there nor bubble; of the bounds the work alone is known. Not ok, with `overflow`, where the schedule is too large.
/// Precondition: there is a stage, and a micro-batch.
constexpr stage_replay replay_stages(const growing_array<stage_passes>& stages, int micro_batches, extent_t hand_over) {
  stage_replay r;
  r.times.code = cost_code::overflow;
  pipeline_costs costs;
  int busiest = 0, last = 0;
  extent_t work = 0;
  for (int s = 0; s < stages.size; ++s) {
    const stage_passes& one = stages[s];
    costs.times.push({.forward = one.forward.time, .input_gradient = one.backward.time, .weight_gradient = 0});
    if (one.round() > stages[busiest].round()) busiest = s;
    if (one.update.time > stages[last].update.time) last = s;
    work = larger(work, micro_batches * (one.forward.computed + one.backward.computed) + one.update.computed);
  }
  const pipeline_shape shape{.ranks = stages.size, .micro_batches = micro_batches};
  if (!check_shape_of<one_forward_one_backward>(shape).ok()) return r;
  const extent_t unhanded = detail::schedule_time(shape, costs);
  costs.latency = hand_over;
  const extent_t whole = detail::schedule_time(shape, costs);
  if (unhanded == not_counted || whole == not_counted) return r;
  const stage_passes &busy = stages[busiest], &updating = stages[last];
  r.busy = micro_batches * busy.round();
  r.bubble = unhanded - r.busy;
  r.handed = whole - unhanded;
  r.update = updating.update.time;
  const extent_t computed = busy.forward.computed + busy.backward.computed;
  r.times.code = cost_code::ok;
  r.times.makespan = r.makespan();
  r.times.busy[static_cast<int>(resource::aic)] = micro_batches * computed + busy.update.computed;
  r.times.busy[static_cast<int>(resource::link)] =
      micro_batches * (busy.forward.moved + busy.backward.moved) + busy.update.moved;
  r.times.exposed = r.busy - micro_batches * computed + r.handed + r.update - updating.update.computed;
  r.times.bound.work = work;
  return r;
}

}}  // namespace hyperparallel::v0_2
