// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a plan's step by cause.

#include <hyperparallel/planner/estimate.hpp>

namespace decoder_plans {

namespace hp = hyperparallel;

/// The parts add up to the time of the step.
struct time_causes {
  hp::extent_t computing = 0;
  /// In which a pipeline's stage waits: by the replay, else the rounds that fill and drain it, and for the one that has the head.
  hp::extent_t bubble = 0;
  hp::extent_t exposed = 0;  ///< moves that nothing hides
  hp::extent_t handed = 0;   ///< from stage to stage
  explicit time_causes(const hp::plan_estimate& e) {
    const hp::extent_t more = e.plan.pp - 1;
    bubble = static_cast<hp::extent_t>(static_cast<double>(e.evaluation.times.compute_busy) *
                                       static_cast<double>(more) / static_cast<double>(e.plan.micro_batches + more)) +
             e.evaluation.waited;
    handed = e.evaluation.hops;
    if (e.simulated.is_replayed()) {
      bubble = e.simulated.bubble;
      handed = e.simulated.handed;
    }
    computing = e.computing() - bubble;
    exposed = e.exposed() - handed;
  }
};

}  // namespace decoder_plans
