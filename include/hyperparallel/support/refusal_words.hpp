// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of refusals: what each says, and what helps. Sentences at compile time (refusal_sentence.hpp) and at run
// time (the formatters of statuses) are made of these; static_message.hpp has the grammar of the slots.
//
// Law: the key is the name of a template of `diag`, or what `name_of` says of a status's code.

#include <cstddef>

#include <hyperparallel/support/fixed_string.hpp>
#include <hyperparallel/support/refusal_words_of_graphs.hpp>
#include <hyperparallel/support/refusal_words_of_groups.hpp>
#include <hyperparallel/support/refusal_words_of_pipelines.hpp>
#include <hyperparallel/support/refusal_words_of_steps.hpp>
#include <hyperparallel/support/static_message.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr refusal_words refusal_table[] = {
    // Device matrices.
    {"device_matrix_is_not_valid",
     "the device matrix is not valid: {code}, see axis number {dim}[, {alias},][ of {extent} devices]",
     "Name each axis once, of letters, digits and _ - . /, and give it at least one device; interleaved_parallel comes "
     "last"},
    {"rank_list_does_not_name_each_position_once",
     "the rank list does not fit its mesh: {code}, see position {value 2}",
     "Name as many ranks as the mesh has positions, each once and none negative"},
    // Layouts.
    {"axis_is_not_in_the_mesh",
     "[axis {alias}|an axis] is not in [the mesh {type 3}|{mesh}][ ({place})| (dim {dim})][: did you mean "
     "{nearest_name}?][ The axes are {axes_there_are}]",
     "Correct the name or add the axis to the mesh"},
    {"axis_is_used_twice", "axis {alias} is used twice[ ({place})| (dim {dim})]",
     "Drop one of the uses, or split the axis of the mesh into two"},
    {"axis_shards_and_is_partial", "axis {alias} shards[ dim {dim}| a dim] and is partial",
     "Let the axis do one of them: after a reduce-scatter it shards and is no longer partial"},
    {"too_many_dims", "{map_entries} dims are more than the {tensor_dims} that a tensor may have",
     "Merge dims that are never sharded apart"},
    {"type_is_no_device_matrix", "{value 1} is no device matrix",
     "Give layout a struct that derives from hp::device_matrix<...> first, then one entry for each dim"},
    {"map_length_differs_from_tensor_rank", "the map has {map_entries} entries for a tensor of {tensor_dims} dims",
     "Write one entry for each dim, none for those that stay whole"},
    {"extent_is_not_divisible_by_its_shards",
     "dim {dim} of extent {extent} does not divide by its {shards} shards[ (axes {axes_named})]",
     "Make the extent a multiple of {shards}, shard the dim by other axes, or ask for uneven shards: padded(...)"},
    {"sub_axis_does_not_fit_its_axis", "a sub-axis does not fit axis {alias}[ ({place})]"},
    {"dim_is_out_of_range", "dim {dim} is outside a tensor of {extent} dims"},
    {"reduction_is_unknown", "axis {alias} is partial with an unknown reduction"},
    {"placement_count_exceeds_axes", "{extent} placements are more than the {shards} axes of {mesh}"},
    {"layout_is_partial", "the layout is partial"},
    {"element_count_overflows", "the tensor's element count leaves 64 bits"},
    {"mesh_is_not_valid", "{mesh} has an axis below 1, too many axes or more than 2^30 devices"},
    {"too_many_cuts", "{extent} cuts are not between 0 and {shards}"},
    {"cuts_are_not_in_order", "dim {dim} is cut after a later dim"},
    {"sub_axes_do_not_nest",
     "sub-axes of axis {alias} do not nest: neither ends where the other begins or at a divisor of it[ ({place})]"},
    {"extent_is_negative", "dim {dim} has the negative extent {extent}", "Give the extent of the whole tensor"},
    {"rank_is_outside_the_mesh", "rank {extent} is none of the {shards} of {mesh}",
     "Count ranks from 0, or name those of the mesh's rank list"},
    {"position_is_outside_the_mesh", "position {extent} is none of the {shards} of {mesh}"},
    // Redistribution.
    {"layouts_are_on_different_meshes", "the layouts {value 1} and {value 2} are on different meshes",
     "Use one mesh type, or say that the mesh changes: mesh_change<From, To, tensor<...>>"},
    {"certificate_of_a_move_has_too_many_positions",
     "a certificate of the move from {value 1} to {value 2} has {positions} positions, too many for the compiler",
     "Leave the certificate out, or plan and certify at run time with plan_move and certify"},
    {"reductions_of_a_move_do_not_commute",
     "the move from {value 1} to {value 2} meets reductions that do not commute, see axis {alias}",
     "Reduce one of them where it arises"},
    {"traffic_of_a_move_overflows", "the bytes that the move from {value 1} to {value 2} sends leave 64 bits",
     "Move the tensor in parts"},
    {"tensors_of_a_mesh_change_differ_in_bytes", "the change of mesh makes {value 1} {value 2}, of other bytes",
     "Give the shapes of one tensor; convert elements before or after"},
    // Operators.
    {"factor_rule_is_not_valid", "the factor rule of {type 1} is not valid: {code}",
     "rule_from(...).status names the character to blame, check_rule(rule) the factor"},
    {"operand_count_differs_from_rule",
     "[{type 1} takes {operands_expected} operands, not {operands}|the operator does not take {operands} operands]",
     "Give one layout for each operand of the rule's text"},
    {"operand_rank_differs_from_rule",
     "operand {operand}[ of {type 1}] has {map_entries} dims, [the rule says {tensor_dims}|which the rule does not "
     "take]",
     "Use the operator for that rank, or give the operand a layout with an entry for each of its dims"},
    {"operands_are_on_different_meshes", "operand {operand}[ of {type 1}] is on another mesh than operand 0",
     "Use one mesh type for all operands"},
    {"operands_disagree",
     "[dim {dim} of ]operand {operand}[ of {type 1}] and its twin in another operand are not sharded alike, see axis "
     "{alias}",
     "Redistribute one operand, or give both dims the same axes"},
    {"axis_shards_two_factors",
     "axis {alias} shards [dim {dim} of ]operand {operand} and another dim of [{type 1}|the operator]",
     "Give one of the dims another axis, or redistribute an operand to hold it whole"},
    {"dim_must_be_whole",
     "[dim {dim} of ]operand {operand}[ of {type 1}] must be whole on every device, axis {alias} shards it",
     "Redistribute the operand to a layout with none at that dim, or use the operator's distributed form"},
    {"dim_needs_a_halo",
     "[dim {dim} of ]operand {operand}[ of {type 1}] needs a halo of its neighbours, axis {alias} shards it",
     "Redistribute the operand to a layout with none at that dim, or use the operator's distributed form"},
    {"factors_of_dim_do_not_fit",
     "axis {alias} does not fit the factors of [dim {dim} of ]operand {operand}[ of {type 1}]",
     "Shard the major dim, or redistribute to a layout with none at the minor one"},
    {"rule_says_nothing_about_partial_operands",
     "operand {operand}[ of {type 1}] is partial along axis {alias}, and the rule says nothing about partial operands",
     "Say it in the rule's traits, refuse_partials() for what is not linear; or reduce the operand first"},
    {"partial_operand_is_refused", "operand {operand}[ of {type 1}] is partial along axis {alias}: reduce it first",
     "A dtensor is reduced by x.reduce_partial(), or by redistributing it to a layout that is not partial"},
    {"partial_axis_is_used_by_another_operand",
     "an operand[ of {type 1}] is partial along axis {alias}, which [dim {dim} of ]operand {operand} uses",
     "Reduce one of them first: x.reduce_partial()"},
    {"partial_operands_differ", "operand {operand}[ of {type 1}] is partial along axis {alias} by another reduction",
     "Reduce one of them first, or give both the same reduction"},
    {"reductions_do_not_commute", "two reductions of the result[ of {type 1}] do not commute, see axis {alias}",
     "Reduce the operand first, or redistribute it to hold the reduced dim whole"},
    {"sub_axis_can_not_be_partial",
     "[dim {dim} of ]operand {operand} is reduced and sharded by a part of axis {alias}"},
    {"result_has_too_many_cuts", "the result has too many cuts"},
    {"result_layout_has_no_type",
     "the result of {type 1} has no layout of whole axes, see dim {dim} of operand {operand}",
     "Redistribute the operand first"},
    // Dtensors.
    {"operand_extent_differs_from_rule",
     "dim {dim} of operand {operand}[ of {type 1}] has extent {extent}, the rule or another operand says {expected}",
     "Correct the extents, or transpose an operand"},
    {"extent_of_result_is_not_known", "no operand of {type 1} tells the extent of dim {dim} of result {result}",
     "Give the operator an operand that has it"},
    {"attributes_do_not_fit_operands", "the attributes of {type 1} do not fit its operands: {code}, see {value 3}",
     "Name dims that exist, -1 is the last, and give operands the ranks and sizes that the operator takes"},
    {"rule_code::last_dim_is_no_multiple", "{type 1} does not take a last dim of extent {value 3}",
     "rope turns pairs of elements: give each head an even extent"},
    {"element_types_are_not_computed", "{type 1} does not compute elements of type {type 2}[ and {type 3}]",
     "Convert an operand with cast<float>(x)"},
    {"operation_needs_every_extent", "{type 1} needs every extent, and one is dyn",
     "Declare all extents, or use the run-time form"},
    {"extent_is_known_at_run_time_alone",
     "the extent of dim {dim} is known at run time alone: {extent}, where -1 is hp::dyn and -n is hp::dyn(n)",
     "Give the extents behind the group, hp::zeros<tensor>(ranks, hp::shape(32, 64)), or declare all of them"},
    {"argument_count_differs_from_inputs", "{arguments} arguments for {slots} input slots",
     "Declare one slot for each argument, unplaced for what is no distributed tensor"},
    {"no_argument_is_a_dtensor", "none of the {slots} arguments is a distributed tensor",
     "Give at least one argument a layout"},
    {"dtensor_at_an_unplaced_slot", "argument {argument} is a distributed tensor and its slot is unplaced",
     "Declare its layout in inputs<...>, or pass x.full_tensor()"},
    {"argument_at_a_placed_slot_is_no_dtensor",
     "argument {argument} is no distributed tensor and its slot has the layout {value 2}",
     "Declare the slot unplaced, or distribute the values first"},
    {"layout_of_argument_differs_from_input", "argument {argument} has the layout {value 2}, its slot {value 3}",
     "Redistribute the argument, or leave out mismatch::refuse"},
    {"result_count_differs_from_outputs", "{results} results for {slots} output slots",
     "Declare one slot for each result"},
    {"tensor_result_at_an_unplaced_slot", "result {result} is a local tensor and its slot is unplaced",
     "Declare its layout in outputs<...>"},
    {"result_at_a_placed_slot_is_no_tensor", "result {result} is no local tensor and its slot has the layout {value 2}",
     "Return a local_tensor<T>, or declare the slot unplaced"},
    {"name_is_unknown", "the set has nothing called {alias}; the nearest is {nearest_name}",
     "Correct the name: names are whole"},
    {"sharding_plan_does_not_fit", "the sharding plan does not fit at {alias}: {code}",
     "Keys are patterns of parameters, or function.input and function.output; general ones stand before narrow ones"},
    {"value_has_no_name", "a value has no name", "Name each one: values(\"x\"_n = x, \"y\"_n = y)"},
    {"member_is_no_parameter_no_model_and_no_setting",
     "the member {alias} of the model, a {type 2}, is no distributed tensor, no Hana Struct and no setting",
     "Make it a dtensor, a Hana Struct or an array of these; settings are trivially copyable values or texts"},
    {"model_has_no_parameters", "the model {type 1} has no parameters", "Give it members that are dtensors"},
    {"name_stands_twice", "the name {alias} stands twice", "Name each value once"},
    {"model_has_nothing_of_this_name",
     "the model has no tensor, or for a feed no input, called {alias}; the nearest is {nearest_name}",
     "Correct the name: names are whole, with the scopes they were made in"},
    {"input_is_not_fed", "the input {alias} of the model is not fed", "Name every input of the model"},
    {"argument_has_no_gradient", "argument {argument} of the program has no gradient: it is no dtensor of floats",
     "Name arguments from 0 that are dtensors of floats: value_and_gradient<0, 2>(program, ...)"},
    {"value_does_not_depend_on_argument", "what the program gives does not depend on argument {argument}",
     "Name the arguments that it reads, or use the argument"},
    {"gradient_is_of_no_single_number", "the program gives a tensor of {type 1}, not one number",
     "Sum it: sum(x) or mean(x)"},
    {"operator_on_dtensors_has_no_gradient", "{type 1} has no gradient, or none for this rule",
     "Give the operator a gradient, or keep it out of what the value depends on"},
    {"function_has_no_gradient", "{alias} has no gradient, or none for these operands",
     "These have: + - * /, add, sub, mul, div, scale, shift, neg, exp, log, sqrt, tanh, relu, sigmoid, silu, "
     "gelu, gelu_tanh, swiglu, maximum, matmul, linear, rms_norm, layer_norm, softmax, embedding, sum, mean, "
     "cross_entropy, permute, transpose, reshape, flatten, squeeze, expand_dims, slice_dim, concat, and operators "
     "by apply<hp::ops::...>; no gradient passes x.value()"},
    {"gradient_does_not_fit_its_operator",
     "the gradient text \"{gradient_text}\" of {type 1} names a tensor that the operator does not have, or is not the "
     "rule "
     "that its backward operator writes",
     "Write it as \"g0,x1>0\": gradients of results (g), operands (x) and results (y) that are read, then the operands "
     "whose gradients are made; a dim that the backward operator needs whole is whole in the forward operator's text"},
    {"backward_operator_has_no_kernel", "a backward operator of {type 1} has no kernel for these elements",
     "Give it a member template run, as the operator itself has"},
    // Task flows.
    {"taskflow_is_malformed", "the task flow is malformed at task {task}: {code} (event {event}, slot {slot})",
     "Correct what the builder appends"},
    {"wait_is_never_satisfied", "task {task} waits for event {event}, which nothing before it signals",
     "List the signaller first, or drop the wait that closes the circle"},
    {"threshold_is_out_of_range", "task {task} waits for {threshold} signals of event {event}, which has {signals}",
     "Write all_signals, or a threshold between 1 and the number of signals"},
    {"partial_threshold_over_several_queues",
     "task {task} waits for a part of the {signals} signals of event {event}, which several queues send",
     "Wait for all_signals, or give each signaller an event of its own"},
    {"conflict_is_not_ordered", "tasks {after} and {task} use slot {slot} and nothing orders them",
     "Let the later task wait for an event that the earlier signals"},
    {"slot_is_outside_its_tier", "slot {slot} ends at byte {end} of memory tier {tier}, which has {capacity} bytes",
     "Place fewer or smaller buffers, or name the memory that the machine has"},
    {"slots_overlap", "slots {slot} share addresses", "Make them one slot whose uses take turns, or place them apart"},
    {"no_queue_of_the_class", "task {task} needs a queue of class {words 1}, and the machine has none",
     "Give the class a queue in machine_shape, or the task another class"},
    {"rank_is_outside_the_machine", "task {task} is on rank {rank}, which the machine does not have",
     "Count ranks from 0 and give machine_shape as many as the builder uses"},
    {"schedule_is_no_plan_of_the_flow", "the schedule is no plan of the flow: {code}, see task {task}",
     "Schedule the flow that the builder makes"},
};

/// Whether `visit` says true of some refusal in words; none is visited behind it.
template <class Visit>
constexpr bool any_refusal(const Visit& visit) {
  const auto is_in = [&](const auto& table) {
    for (const refusal_words& one : table)
      if (visit(one)) return true;
    return false;
  };
  return is_in(refusal_table) || is_in(step_refusal_table) || is_in(graph_refusal_table) ||
         is_in(pipeline_refusal_table) || is_in(group_refusal_table);
}

/// The words of the refusal called [begin, end); null where there are none.
constexpr const refusal_words* find_refusal(const char* begin, const char* end) {
  const refusal_words* found = nullptr;
  detail::any_refusal([&](const refusal_words& one) {
    if (!same_text(one.key, begin, end)) return false;
    found = &one;
    return true;
  });
  return found;
}
constexpr const refusal_words* find_refusal(const char* name) { return find_refusal(name, name + text_length(name)); }

/// What a value that only run time knows says in a sentence. A slot that is not named, or is empty, has no text.
struct slot_text {
  const char* slot;
  const char* text;
};

/// The sentence of `key` without its remedy; the key itself where it has no words.
template <std::size_t Slots>
constexpr static_message sentence_of(const char* key, const slot_text (&slots)[Slots]) {
  static_message m;
  const refusal_words* const words = find_refusal(key);
  fill_pattern(m, words == nullptr ? key : words->sentence,
               [&](static_message& to, const char* begin, const char* end) {
                 for (const slot_text& one : slots)
                   if (same_text(one.slot, begin, end)) to.add(one.text);
               });
  return m;
}

}}}  // namespace hyperparallel::v0_2::detail
