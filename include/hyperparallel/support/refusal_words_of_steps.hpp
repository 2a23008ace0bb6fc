// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of models, strategies, hardware and steps of training that cannot be: a part of the table of refusal_words.hpp.

#include <hyperparallel/support/refusal_words_of_pipelines.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr refusal_words step_refusal_table[] = {
    {"first_argument_of_a_strategy_is_no_mesh", "the first argument of strategy, {type 1}, is no mesh",
     "The order is strategy<mesh, parts...>, and a mesh is a struct that derives from hp::device_matrix"},
    {"part_of_a_strategy_is_no_part", "{type 1} is no part of a strategy",
     "A part has a static constexpr void add(hp::strategy_value&): hp::data_parallel<\"dp\">, hp::pin<...>"},
    {"first_argument_of_a_step_is_no_model", "the first argument of train_step, {type 1}, is no model",
     "Give it a static constexpr void build(hp::model_builder&); the order is train_step<model, strategy, optimizer, "
     "hardware, options...>"},
    {"build_of_a_model_is_not_constant", "the compiler cannot run the build of {type 1}",
     "Make it, and all that it calls, constexpr; static_assert((hp::build_model<model>(), true)) shows what is not"},
    {"option_of_a_step_is_no_option", "{type 1} is no option of train_step",
     "Behind the hardware stand options: hp::accumulating<2>, hp::recomputing<...>, hp::operators<hp::builtin, "
     "mine...>"},
    {"two_options_of_a_step_set_the_same",
     "two options of train_step set the same: {type 1} as {value 1}, {type 2} as {value 2}", "Leave one of them out"},
    {"second_argument_of_a_step_is_no_strategy", "the second argument of train_step, {type 1}, is no strategy",
     "train_step<model, strategy, optimizer, hardware, options...>: hp::strategy<mesh, rules...>"},
    {"third_argument_of_a_step_is_no_optimizer", "the third argument of train_step, {type 1}, is no optimizer",
     "train_step<model, strategy, optimizer, hardware, options...>: hp::adamw, hp::sgd or hp::muon"},
    {"fourth_argument_of_a_step_is_no_hardware", "the fourth argument of train_step, {type 1}, is no hardware",
     "train_step<model, strategy, optimizer, hardware, options...>: hp::matrix384, or a struct with a device and a "
     "topology"},
    {"model_cannot_be_built",
     "the model cannot be built: {code}[, operator {named_operator}][, tensor {named_tensor}] (sizes {extent})",
     "Follow the operator's text: equal letters are one dim, and the loss is one number"},
    {"operator_is_not_listed",
     "operator {named_operator} needs {operator_type_named}, which is not in the program's list of operators",
     "List it, and the backward operators that gradients name: hp::operators<hp::builtin, mine, mine_gradient>"},
    {"strategy_code::ranks_do_not_factor", "{value 2} ranks are not the product of its degrees, {value 3}",
     "Name degrees whose product is the number of ranks, or none"},
    {"strategy_code::too_many_rules", "{value 2} rules or pins, a strategy holds {value 3}",
     "Write one rule for several patterns"},
    {"dim_is_not_divisible_by_its_axis",
     "dim {named_dim} of extent {extent} does not divide by the {shards} devices of axis {axes_named}[, see operator "
     "{named_operator}][, see tensor {named_tensor}]",
     "Change the size or the degree, or shard the dim only where it divides"},
    {"rule_matches_no_operator",
     "the strategy shards dim {named_dim} over axis {axes_named}, and no operator has it there[: the dims are "
     "{dims_there_are}][; strategies that match the model: {strategies_that_match}]",
     "Compare the dims of the model's layers; a part that comes earlier may hold the axis"},
    {"pattern_matches_no_operator",
     "no operator is called {pattern_named}[: did you mean {nearest_name}?][ There are {operators_there_are} "
     "operators][; strategies that match the model: {strategies_that_match}]",
     "Correct the pattern of the rule: * stands for any run of characters, ? for one, names are whole with their "
     "scopes"},
    {"strategy_names_an_axis_that_the_mesh_lacks",
     "the strategy names the axis {axes_named}, which its mesh lacks[: did you mean {nearest_name}?][ The axes are "
     "{axes_there_are}]",
     "Correct the name, or add the axis to the device matrix, of size 1 where it is not used"},
    {"pin_does_not_fit",
     "a pin of {named_tensor} does not fit: {code}[: did you mean {nearest_name}?][, axis {axes_named}][, "
     "{map_entries} entries for a tensor of "
     "{tensor_dims} dims]",
     "* stands for any run of characters, ? for one; a pin has one entry for each dim"},
    {"no_strategy_has_this_name",
     "no strategy is called \"{strategy_named}\", the nearest is \"{nearest_name}\"[; there are "
     "{strategies_there_are}]",
     "Correct the name: named_strategies.hpp lists them"},
    {"strategy_is_not_valid", "the strategy is not valid: {code}, given {value 2}, expected {value 3}",
     "Name degrees whose product is the number of ranks, at least one axis, and no more rules than fit"},
    {"ring_axis_does_not_shard_the_sequence",
     "axis {axes_named} of the ring does not shard the sequence of operator {named_operator}",
     "Put the ring before the part that uses its axis, or give it an axis of its own"},
    {"memory_is_exceeded", "the step needs {bytes_needed} bytes of a device's memory and may use {bytes_given}",
     "Print the account, which says what is largest at the peak; shard it further, recompute or offload"},
    {"laws_are_not_proved",
     "the laws of the program are {words 1}: its mesh has {devices_of_the_mesh} devices, the compiler asks up to "
     "{devices_asked}",
     "Assert the same model and strategy on a small mesh, or ask check_program at run time"},
    {"plan_is_not_proved",
     "the plan of the step is {words 1}, {words 2}: {steps_of_the_plan} steps, {tasks_of_the_plan} tasks",
     "The compiler plans up to 1000 steps and 20000 tasks; assert fewer layers or ranks, or run hp::program_world"},
    {"stages_of_a_step_do_not_fit",
     "the stages of the pipeline do not fit the model: {code}, given {stages_given}, expected {stages_expected}",
     "Name layers that add up to the model's, at least one a stage, and micro-batches and chunks that the schedule "
     "takes"},
    {"memory_budget_is_too_small",
     "the budget of {bytes_given} bytes is too small: {bytes_needed} are needed at once[, by {alive}]",
     "Raise the budget, shard what is named further, or recompute more"},
    {"memory_budget_is_not_met", "the planner does not keep the budget of {bytes_given} bytes", "Raise the budget"},
    {"offload_rule_does_not_hold", "the memory rule for {rule_for} does not hold: {code}",
     "Compare the pattern with the tensors' names; an exception stands after the general rule; tiers count from 1"},
    {"memory_tiers_cannot_be_planned", "the memory tiers cannot be planned: {code}",
     "State what each tier has and reaches"},
    {"device_cannot_be",
     "the device cannot be: {code}[, memory tier {memory_tier_number}][, products of {products_of}], given "
     "{number_given}, expected {number_expected}",
     "State the number that the device reaches; 0 means that it was not stated"},
    {"topology_cannot_be",
     "the links cannot be: {code}[, level {link_named}], given {number_given}, expected {number_expected}",
     "Count ranks, not nodes: each level joins a multiple of the ranks of the level before"},
    {"topology_does_not_join_all_devices",
     "the links join {devices_joined} of {devices_to_join} devices, the outermost is {link_named}",
     "Add the level that joins the groups, or take a smaller mesh"},
    {"step_cannot_be_priced",
     "the step cannot be priced: {code}[, products of {products_of}][, vector work in {vector_work_in}][ on {type 2}]",
     "State the rate of each number format that the model computes in, or compute in another"},
    {"kernel_does_not_take_its_operator",
     "the kernel of {type 1} does not take the views of {operands} operands and {tensors_made} results",
     "It takes (const_view<X>..., tensor_view<R>...), after a const local_operation&, or in a model a const "
     "operator_call&, if it wants one"},
    {"operator_stands_twice_in_the_list", "operator {type 1} has the name of another one, or of a built-in one",
     "Give it a name of its own and list it once"},
    {"operator_has_no_name_or_no_rule", "{type 1} is no operator: it lacks a name or the text of its factor rule",
     "Give it `static constexpr const char *name, *text`"},
};

}}}  // namespace hyperparallel::v0_2::detail
