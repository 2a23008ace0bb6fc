// SPDX-License-Identifier: Apache-2.0
// Run-time twins of planner/, price/.
#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/layer_work.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/planner/simulated_pipeline.hpp>
#include <hyperparallel/planner/stack_memory.hpp>
#include <hyperparallel/planner/stack_overlap.hpp>
#include <hyperparallel/planner/stack_time.hpp>
#include <hyperparallel/planner/step_timeline.hpp>
#include <hyperparallel/price/stage_replay.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

stage_replay replay_stages_in_library(const growing_array<stage_passes>& stages, const pipeline_shape& n,
                                      extent_t hand_over, int schedule) {
  return replay_stages_here(stages, n, hand_over, schedule);
}
decoder_plan_status check_plan_in_library(const decoder& d, const decoder_plan& p, extent_t devices) {
  return check_plan_here(d, p, devices);
}
graph training_graph_of_in_library(const decoder& d, const decoder_plan& p, bool unrolled) {
  return training_graph_of_here(d, p, unrolled);
}
plan_estimate estimate_plan_in_library(const decoder& d, const decoder_plan& plan, plan_prices& prices,
                                       const stack_rules& stack) {
  return estimate_plan_here(d, plan, prices, stack);
}
simulated_pipeline simulate_pipeline_in_library(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                                extent_t memory) {
  return stage_simulator(d, plan, prices, memory).run();
}
stack_overlap overlap_of_in_library(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                    const expert_routes& routes) {
  return overlap_of_here(p, form, priced, routes);
}
layer_work layer_work_of_in_library(const decoder& d, const decoder_plan& p, const device_value& device) {
  return layer_work_of_here(d, p, device);
}
extent_t time_bound_in_library(const decoder& d, const decoder_plan& p, const plan_prices& prices, bool overlapped) {
  return time_bound_here(d, p, prices, overlapped);
}
extent_t memory_bound_in_library(const decoder& d, const decoder_plan& p) { return memory_bound_here(d, p); }
step_timeline timeline_of_in_library(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                     const interconnect& links) {
  return timeline_of_here(p, form, priced, links);
}
stack_memory stack_memory_of_in_library(const stack_sizes& sizes) { return stack_memory_of_here(sizes); }
stack_time stack_time_of_in_library(const stack_sizes& sizes, const operator_rates& rates) {
  return stack_time_of_here(sizes, rates);
}

}}}  // namespace hyperparallel::v0_2::detail
