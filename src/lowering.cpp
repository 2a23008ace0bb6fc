// SPDX-License-Identifier: Apache-2.0
// Run-time twins of lowering/, offload/, price/.
#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/lowering/split_messages.hpp>
#include <hyperparallel/lowering/unrolled_rows.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/price/lookahead.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/simulated_plan.hpp>
#include <hyperparallel/price/step_times.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

program_pulls pulls_of_in_library(const sharded_program& p, const program_moves& moves) {
  return pulls_of_here(p, moves);
}
program_plan lower_program_in_library(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                      const program_flow_options& options) {
  return lower_program_here(p, pulls, a, options);
}
program_plan lower_class_in_library(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                    const program_flow_options& options) {
  return lower_class_here(p, pulls, a, options);
}
bool lower_run_in_library(lowered_program& l, unsigned phases) { return lower_run_here(l, phases); }
lowered_program lower_memory_in_library(lowered_program&& l, const lowering_options& options) {
  return lower_memory_here(static_cast<lowered_program&&>(l), options);
}
unrolled_rows unroll_in_library(const sharded_program& p, const sharded_program* mirrored, const pipeline_schedule& s,
                                const unroll_options& how) {
  return unroll_here(p, mirrored, s, how);
}
split_flow split_messages_in_library(const lowered_program& l, const lowered_run& run,
                                     const growing_array<int>& process_of, int processes, const message_window& window,
                                     int only) {
  return split_messages_here(l, run, process_of, processes, window, only);
}
plan_evaluation evaluate_program_in_library(const sharded_program& p, int pipeline, plan_prices& prices) {
  return evaluate_program_here(p, pipeline, prices);
}
run_times simulate_in_library(const lowered_program& l, const lowered_run& r, const device_value& d,
                              extent_t synchronisation) {
  return simulate_here(l, r, d, synchronisation);
}
priced_step price_of_compute_in_library(const device_value& d, const sharded_program& p, int c, const step_tile& tile) {
  return price_of_compute_here(d, p, c, tile);
}
planned_offload plan_offload_in_library(const offload_program& p, const offload_options& options) {
  return plan_offload_here(p, options);
}
clocked_plan lower_fastest_in_library(sharded_program p, lowering_options how, const device_value& d, extent_t memory) {
  return lower_fastest_here(static_cast<sharded_program&&>(p), how, d, memory);
}
simulated_plan simulate_unrolled_in_library(sharded_program p, const interconnect& links, const device_value& d,
                                            extent_t memory) {
  return simulate_unrolled_here(static_cast<sharded_program&&>(p), links, d, memory);
}

}}}  // namespace hyperparallel::v0_2::detail
