// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule as a value, of the library or of one's own; and a pipeline: a schedule, groups of ranks, stages of each group.
//
//   hp::pipeline_value{.schedule = hp::schedule_called("1F1B"), .ranks = 4}       the strategy's mesh four times
//   hp::pipeline_value{.schedule = …, .ranks = 2, .strategy = {dp8, tp4}}         twelve ranks: each group has its own

#include <hyperparallel/pipeline/schedule.hpp>
#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct named_schedule {
  const char* name = "";
  stage_placement placement = stage_placement::loop;
  int fixed_chunks = 0;  ///< stages on a rank; 0: any number
  pipeline_status (*check)(const pipeline_shape&) = nullptr;
  pipeline_schedule (*generate)(const pipeline_shape&, bool keep_idle_slots) = nullptr;
};

template <schedule_generator Schedule>
inline constexpr named_schedule schedule_value{Schedule::name, Schedule::placement, detail::fixed_chunks_of<Schedule>(),
                                               check_shape_of<Schedule>, generate<Schedule, growing_pipeline_sizes>};

/// What a model is cut for: the schedule says where its stages lie, and in which order each group of ranks works.
struct pipeline_value {
  const named_schedule* schedule = nullptr;
  int ranks = 2;                ///< groups of ranks, each with the strategy's mesh, or with that of its own strategy
  int chunks = 1;               ///< stages of a group
  growing_array<int> layers{};  ///< of each stage; none: as many for each, but for one
  bool accumulates_in_any_order = false;
  growing_array<strategy_value>
      strategy{};  ///< of each group; none: all have the one that is given beside the pipeline

  constexpr int stages() const { return ranks * chunks; }
};

}}  // namespace hyperparallel::v0_2
