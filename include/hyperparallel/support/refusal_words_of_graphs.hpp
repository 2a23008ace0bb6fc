// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of graphs that cannot be built or trained: the part of the table of refusal_words.hpp that graph/ needs.

#include <hyperparallel/support/refusal_words_of_pipelines.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr refusal_words graph_refusal_table[] = {
    {"graph_code::operator_is_not_in_the_list",
     "operator {named_operator} needs [{named_tensor}|an operator], which is not in the program's list of operators",
     "List it, and the backward operators that gradients name, in build_options::operators"},
    {"graph_code::dim_is_not_positive", "dim {named_tensor} has extent {value 4}, expected at least 1",
     "Give it the number of its elements"},
    {"graph_code::micro_batches_are_not_positive", "{value 4} micro-batches, expected at least 1",
     "Ask for one or more"},
    {"graph_code::graph_has_gradients_already",
     "differentiate was called on a graph that has operators of backward or of an optimizer already, the first "
     "{named_operator}",
     "Call it once, before append_optimizer"},
    {"graph_code::graph_has_no_gradients",
     "no parameter has a gradient of the loss {named_tensor}: call differentiate, then append_optimizer, on a loss "
     "that "
     "depends on parameters",
     "train_step does both"},
    {"graph_code::graph_has_an_optimizer_already",
     "append_optimizer was called twice, the first operator of the optimizer that is there is {named_operator}",
     "Call it once"},
    {"graph_code::graph_has_no_optimizer", "no operator updates a parameter: call append_optimizer after differentiate",
     "train_step does both"},
    {"graph_code::micro_batches_changed",
     "the step has {value 4} micro-batches, its gradients are those of {value 5}: set graph::micro_batches before "
     "differentiate and append_optimizer",
     "Build the graph again for another number"},
    {"graph_code::optimizer_number_is_out_of_range",
     "the optimizer's {named_operator} is [{number}|out of range], expected {named_tensor}",
     "Correct the member of the optimizer's value"},
    {"graph_code::operand_holds_no_indices",
     "operand {value 4} of operator {named_operator} is {named_tensor}, which holds floats: the operator takes indices "
     "there",
     "Make it an index_input, or name the operands in the order of the operator's text"},
    {"graph_code::operand_holds_indices",
     "operand {value 4} of operator {named_operator} is {named_tensor}, which holds indices: the operator takes floats "
     "there",
     "Embed the indices first, or name the operands in the order of the operator's text"},
    {"graph_code::words_of_a_group_differ",
     "operand {value 4} of operator {named_operator}, {named_tensor}, is partial together with others, and its word "
     "for "
     "the result is another reduction than theirs",
     "Say one reduction for all operands that are partial together: linear_together(mask) does"},
    {"graph_code::created_dim_does_not_fit",
     "operator {named_operator} on {named_tensor} makes a dim of extent {value 4}, where its operands have {value 5}",
     "Create the dim with the extent that the operands have for it"},
    {"graph_code::dropout_rate_is_out_of_range",
     "the rate of dropout {named_operator} is [{number}|out of range], expected at least 0 and below 1",
     "Correct dropout_layer::rate"},
    {"graph_code::last_dim_is_no_multiple",
     "operator {named_operator} takes a last dim whose extent is a multiple of {value 5}, {named_tensor} has {value 4}",
     "Rotary positions turn pairs: give the head an even head_dim"},
    {"graph_code::attribute_is_out_of_range",
     "{named_tensor} of operator {named_operator} is {value 4}, expected at least {value 5}",
     "Correct the member of the layer"},
    {"graph_code::model_has_no_loss", "the model names no loss", "Call m.loss(t) for the number to be minimised"},
    {"graph_code::loss_is_not_one_number", "the loss[ {named_tensor}] is not one number",
     "Reduce the loss over every dim that is left"},
};

}}}  // namespace hyperparallel::v0_2::detail
