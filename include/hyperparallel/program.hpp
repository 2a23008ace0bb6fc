// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of program/: layouts, taskflow, proof and timeline composed, steps of training and their accounts,
// search of strategies, at compile time and at run time.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/program/alike_storages.hpp>
#include <hyperparallel/program/cache_operators.hpp>
#include <hyperparallel/program/choice_chain.hpp>
#include <hyperparallel/program/choice_check.hpp>
#include <hyperparallel/program/choice_graph.hpp>
#include <hyperparallel/program/choice_labels.hpp>
#include <hyperparallel/program/choice_relaxation.hpp>
#include <hyperparallel/program/choice_stages.hpp>
#include <hyperparallel/program/decoder_plan.hpp>
#include <hyperparallel/program/folded_period.hpp>
#include <hyperparallel/program/lower_program.hpp>
#include <hyperparallel/program/matmul_reuse.hpp>
#include <hyperparallel/program/model_parts.hpp>
#include <hyperparallel/program/moe_buckets.hpp>
#include <hyperparallel/program/moe_estimate.hpp>
#include <hyperparallel/program/moe_program.hpp>
#include <hyperparallel/program/moe_tiling_choice.hpp>
#include <hyperparallel/program/moe_vector_queues.hpp>
#include <hyperparallel/program/move_loads.hpp>
#include <hyperparallel/program/move_pulls.hpp>
#include <hyperparallel/program/named_plans.hpp>
#include <hyperparallel/program/offload_refusal.hpp>
#include <hyperparallel/program/offloaded_program.hpp>
#include <hyperparallel/program/offloading_code.hpp>
#include <hyperparallel/program/overlapped_order.hpp>
#include <hyperparallel/program/part_rules.hpp>
#include <hyperparallel/program/plan_choices.hpp>
#include <hyperparallel/program/plan_estimate.hpp>
#include <hyperparallel/program/plan_evaluation.hpp>
#include <hyperparallel/program/plan_fit.hpp>
#include <hyperparallel/program/plan_frame.hpp>
#include <hyperparallel/program/plan_neighbours.hpp>
#include <hyperparallel/program/plan_prices.hpp>
#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/program/program_offload.hpp>
#include <hyperparallel/program/program_slots.hpp>
#include <hyperparallel/program/refusal_text.hpp>
#include <hyperparallel/program/search_result.hpp>
#include <hyperparallel/program/segment_costs.hpp>
#include <hyperparallel/program/step_account.hpp>
#include <hyperparallel/program/step_arguments.hpp>
#include <hyperparallel/program/step_durations.hpp>
#include <hyperparallel/program/step_offload.hpp>
#include <hyperparallel/program/step_parts.hpp>
#include <hyperparallel/program/step_refusal.hpp>
#include <hyperparallel/program/step_timing.hpp>
#include <hyperparallel/program/strategy_candidates.hpp>
#include <hyperparallel/program/strategy_search.hpp>
#include <hyperparallel/program/tier_hardware.hpp>
#include <hyperparallel/program/traffic_account.hpp>
#include <hyperparallel/program/training_step.hpp>
