// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statuses as exceptions. What a type refuses in an error line, a value refuses by throwing the same words: the name
// after `diag::` and the same numbers, so that both are found under one heading of the troubleshooting page.
//
//   layout_error     a layout does not take a shape              extent_is_not_divisible_by_its_shards: dim 0, …
//   operator_error   an operator does not take its operands      matmul: operands_disagree: operand 1, dim 0, axis 1
//   dtensor_error    anything else that does not fit a tensor

#include <stdexcept>
#include <string>

#include <hyperparallel/layout/layout_value.hpp>
#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/propagate.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

constexpr const char* name_of(extents_code code) {
  return detail::enum_name(
      "ok\0operand_count_differs_from_rule\0operand_rank_differs_from_rule\0factor_extents_differ\0"
      "factor_extent_is_fixed\0dim_extent_is_fixed\0dim_has_two_unknown_factors\0factor_extent_is_not_known\0"
      "work_overflows",
      code);
}

constexpr const char* name_of(rule_code code) {
  return detail::enum_name(
      "ok\0text_is_malformed\0too_many_operands\0too_many_results\0too_many_dims\0too_many_terms\0too_many_factors\0"
      "factor_is_used_twice_in_one_tensor\0mask_differs_from_dims\0term_is_no_factor\0factor_is_in_no_tensor\0"
      "kind_does_not_fit_the_results\0reductions_do_not_commute\0axis_is_out_of_range\0axes_repeat\0"
      "axes_differ_from_rank\0sizes_do_not_fit\0attribute_is_invalid\0operand_rank_differs_from_text\0"
      "operand_count_differs_from_text\0last_dim_is_no_multiple\0words_of_a_group_differ",
      code);
}

struct dtensor_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

namespace detail {

/// That `operand` is not in the rank group of the first.
inline dtensor_error group_error(const char* name, int operand, const char* called = "operand") {
  return dtensor_error(std::string(name) + ": operands_are_in_different_rank_groups: " + called + " " +
                       std::to_string(operand) + " is not in the group of the first");
}

}  // namespace detail

struct layout_error : dtensor_error {
  layout_status status;
  explicit layout_error(const layout_status& s);
};

/// One of the statuses is not ok.
struct operator_error : dtensor_error {
  rule_status rule{};
  propagation_status layouts{};
  extents_status shapes{};

  operator_error(const char* name, const rule_status& s)
      : dtensor_error(std::string(name) + ": attributes_do_not_fit_operands: " + name_of(s.code) + ", " +
                      std::to_string(s.where)),
        rule(s) {}
  operator_error(const char* name, const propagation_status& s)
      : dtensor_error(std::string(name) + ": " + name_of(s.code) + ": operand " + std::to_string(s.operand) + ", dim " +
                      std::to_string(s.dim) + ", axis " + std::to_string(s.axis)),
        layouts(s) {}
  operator_error(const char* name, const extents_status& s)
      : dtensor_error(std::string(name) + ": " + name_of(s.code) + ": operand " + std::to_string(s.operand) + ", dim " +
                      std::to_string(s.dim) + ", extent " + std::to_string(s.extent) + ", expected " +
                      std::to_string(s.expected)),
        shapes(s) {}
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/status_text.ipp>
#endif
