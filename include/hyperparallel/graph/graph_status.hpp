// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first mistake of a graph under construction, with the names and sizes that its message needs.

#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class graph_code : unsigned char {
  ok,
  text_is_malformed,             ///< of an einsum
  rank_differs_from_text,        ///< operand `operand` of operator `op`
  dim_differs_between_operands,  ///< `extent` and `other` of one loop
  dim_of_result_is_unknown,
  loop_is_used_twice_in_one_tensor,  ///< a diagonal
  too_many_loops,
  too_many_operands,
  name_is_used_twice,
  operand_does_not_exist,
  dim_has_two_extents,  ///< a named dim was given again with another extent
  carried_tensor_changes_shape,
  loss_is_not_one_number,
  operator_has_no_gradient,
  operator_is_not_in_the_list,  ///< of the graph's operators; `tensor` is the name of its type, where it is known
  gradient_does_not_fit_its_operator,  ///< the text of a gradient, or the rule of the backward operator that it names
  pattern_matches_nothing,
  heads_do_not_divide,
  top_k_exceeds_experts,
  segment_captures_tensor,  ///< its gradient would be a sum over repetitions: unroll, or carry it
  tensor_is_made_twice,
  replaced_tensor_differs,  ///< in type or shape
  phases_are_out_of_order,
  segment_is_torn,                   ///< its operators of one phase do not stand together
  operator_differs_from_its_rule,    ///< in the number of operands, results or loops
  loops_differ_from_forward,         ///< of a backward operator
  dim_is_not_positive,               ///< `extent` of the dim `tensor`
  micro_batches_are_not_positive,    ///< `extent`
  graph_has_gradients_already,       ///< differentiated twice, or after the optimizer was appended
  graph_has_no_gradients,            ///< not differentiated, or the loss depends on no parameter
  graph_has_an_optimizer_already,    ///< appended twice
  graph_has_no_optimizer,            ///< no parameter has a next value
  micro_batches_changed,             ///< `extent` of them, the gradient is that of `other`
  optimizer_number_is_out_of_range,  ///< `op` names it, `number` is its value
  operand_holds_no_indices,          ///< and the operator takes indices as operand number `extent`
  operand_holds_indices,             ///< and the operator takes floats as operand number `extent`
  attribute_is_out_of_range,         ///< `tensor` names it, `extent` is its value, `other` the least
  words_of_a_group_differ,           ///< operand `operand` is partial together with others, by another reduction
  created_dim_does_not_fit,          ///< it has `extent`, where the operands of the operator have `other`
  dropout_rate_is_out_of_range,      ///< `number` is not in [0, 1)
  model_has_no_loss,
  last_dim_is_no_multiple,  ///< `extent` of operand 0 is none of `other`: rotary positions turn pairs
};

constexpr const char* name_of(graph_code c) {
  return detail::enum_name(
      "ok\0text_is_malformed\0rank_differs_from_text\0dim_differs_between_operands\0dim_of_result_is_unknown\0"
      "loop_is_used_twice_in_one_tensor\0too_many_loops\0too_many_operands\0name_is_used_twice\0"
      "operand_does_not_exist\0dim_has_two_extents\0carried_tensor_changes_shape\0loss_is_not_one_number\0"
      "operator_has_no_gradient\0operator_is_not_in_the_list\0gradient_does_not_fit_its_operator\0"
      "pattern_matches_nothing\0heads_do_not_divide\0top_k_exceeds_experts\0segment_captures_tensor\0"
      "tensor_is_made_twice\0replaced_tensor_differs\0phases_are_out_of_order\0segment_is_torn\0"
      "operator_differs_from_its_rule\0loops_differ_from_forward\0dim_is_not_positive\0micro_batches_are_not_positive\0"
      "graph_has_gradients_already\0graph_has_no_gradients\0graph_has_an_optimizer_already\0graph_has_no_optimizer\0"
      "micro_batches_changed\0optimizer_number_is_out_of_range\0operand_holds_no_indices\0operand_holds_indices\0"
      "attribute_is_out_of_range\0words_of_a_group_differ\0created_dim_does_not_fit\0dropout_rate_is_out_of_range\0"
      "model_has_no_loss\0last_dim_is_no_multiple",
      c);
}

/// The first mistake of a graph under construction. Names are places in the graph's text.
struct graph_status {
  graph_code code = graph_code::ok;
  int op = -1;      ///< name of the operator
  int tensor = -1;  ///< name of the tensor, or of the dim
  int operand = 0;
  int dim = 0;
  extent_t extent = 0;
  extent_t other = 0;
  double number = 0;
  friend constexpr bool operator==(const graph_status&, const graph_status&) = default;
};

}}  // namespace hyperparallel::v0_2
