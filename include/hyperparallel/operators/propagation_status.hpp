// SPDX-License-Identifier: Apache-2.0
#pragma once
// How propagation through an operator ends: why it was refused, and what operands do on the way when it was not.

#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class propagation_code : unsigned char {
  ok,
  operand_count_differs_from_rule,
  operand_rank_differs_from_rule,
  operands_are_on_different_meshes,
  operands_disagree,
  axis_shards_two_factors,
  dim_must_be_whole,
  dim_needs_a_halo,
  factors_of_dim_do_not_fit,
  rule_says_nothing_about_partial_operands,
  partial_operand_is_refused,
  partial_axis_is_used_by_another_operand,
  partial_operands_differ,
  reductions_do_not_commute,
  sub_axis_can_not_be_partial,
  result_has_too_many_cuts,
};

/// The name that error lines and exceptions use.
constexpr const char* name_of(propagation_code code) {
  return detail::enum_name(
      "ok\0operand_count_differs_from_rule\0operand_rank_differs_from_rule\0operands_are_on_different_meshes\0"
      "operands_disagree\0axis_shards_two_factors\0dim_must_be_whole\0dim_needs_a_halo\0factors_of_dim_do_not_fit\0"
      "rule_says_nothing_about_partial_operands\0partial_operand_is_refused\0partial_axis_is_used_by_another_operand\0"
      "partial_operands_differ\0reductions_do_not_commute\0sub_axis_can_not_be_partial\0result_has_too_many_cuts",
      code);
}

/// Why there is no result layout: which dim of which operand, and the mesh axis. Fields that the code does not speak of
/// are 0; `dim` is -1 where the operand is partial along the axis. Results count on after the operands.
struct propagation_status {
  propagation_code code = propagation_code::ok;
  int operand = 0;  ///< or the number of operands given
  int dim = 0;      ///< or the operand's rank
  int axis = 0;
  friend constexpr bool operator==(const propagation_status&, const propagation_status&) = default;
};

/// What happens to operands before the operator runs, all of it local. One bit an operand.
struct propagation_notes {
  unsigned sliced = 0;  ///< cut further, to the shards of another operand
  unsigned filled = 0;  ///< made a partial operand: its value on one device, the identity on the others
};

}}  // namespace hyperparallel::v0_2
