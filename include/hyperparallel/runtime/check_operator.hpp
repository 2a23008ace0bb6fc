// SPDX-License-Identifier: Apache-2.0
#pragma once
// Holds a user's operator against itself: its rule and its gradient against its kernel.
//
//   const hp::operator_check c = hp::check_operator<squared_relu, mine>();
//   if (!c.ok) std::puts(c.complaint.c_str());
//
// Over random shapes and values: (1) for every factor that may be sharded, the kernel on two pieces gives the pieces of
// the kernel on the whole, and their reduction where a result lacks the factor; (2) the gradient agrees with central
// differences of the kernel, and an operand without one changes no result. A wrong rule trains wrongly under every proof
// of a plan, so ask this of an operator before it joins a model.
// What it quantifies over: `rounds` shapes of extents up to `largest`, ranks of `*` up to 2, values of [lowest, highest)
// but those near 0, where functions may break. It is a test, no proof.

#include <cstdint>
#include <string>

#include <hyperparallel/model/model_builder.hpp>
#include <hyperparallel/runtime/own_kernels.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel::inline v0_2 {

struct operator_check {
  bool ok = true;
  std::string complaint;  ///< one line: what differs, along which factor or for which operand, the shapes
};

struct operator_check_options {
  int rounds = 100;
  extent_t largest = 5;  ///< of a factor's extent
  double lowest = -1, highest = 1;
  extent_t rows = 2;                 ///< numbers of operands of the mask `indices` are below it
  double tolerance = 1e-9;           ///< of pieces against the whole, relative to values above 1
  double gradient_tolerance = 1e-5;  ///< of a gradient against a difference of step 1e-6
  std::uint64_t seed = 1;
};

namespace detail {

/// The operator of a list that is to be checked; bit i of `indices`: operand i holds numbers.
struct checked_operator {
  own_operators own{};
  model_op op{};
  kernel_choice kernels = nullptr;
  int operands = 0;
  unsigned indices = 0;
};
operator_check check_own_operator(const checked_operator& checked, const operator_options& how,
                                  const operator_check_options& options);

}  // namespace detail

/// Checks `Operator` of the list `Operators` in doubles; `how` has its attributes and, where its text does not say it,
/// the reduction. Throws what its kernel throws.
template <named_operator_type Operator, class Operators>
operator_check check_operator(const operator_options& how = {}, const operator_check_options& options = {}) {
  detail::checked_operator checked{Operators::list, Operators::list.number_of(&own_operator_of<Operator>),
                                   &kernels_of<double, Operators>,
                                   static_cast<int>(detail::parts_written<Operator>(false))};
  for (int i = 0; i < checked.operands; ++i)
    if (detail::holds_numbers<Operator>(static_cast<std::size_t>(i))) checked.indices |= 1u << i;
  return detail::check_own_operator(checked, how, options);
}

}  // namespace hyperparallel::inline v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/check_operator.ipp>
#endif
