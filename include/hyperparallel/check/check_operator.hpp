// SPDX-License-Identifier: Apache-2.0
#pragma once
// Holds an operator against itself: its rule, its words for partial operands and its gradient against its kernel.
//
//   const hp::operator_check c = hp::check_operator<squared_relu, mine>();
//   if (!c.ok) std::puts(c.complaint.c_str());
//
// Over random shapes and values: (1) the kernel writes all of its results and nothing else, from its operands alone;
// (2) for every factor that may be sharded, the kernel on pieces gives the pieces of the kernel on the whole, and their
// reduction where a result lacks the factor; on tiles of factors that all results have it gives the bits of the whole;
// (3) two terms of operands that may be partial, each through the kernel, reduce to the kernel of their reduction; (4) the
// gradient agrees with central differences of the kernel where these are smooth; an operand without a gradient changes no
// result, and a result whose gradient nothing reads changes with no operand; (5) its backward operators, on the tensors
// that they get in a model, keep (1) to (3) themselves. A wrong rule
// trains wrongly under every proof of a plan, so ask this of an operator before it joins a model. Built-in operators are
// held the same way.
// What it quantifies over: `rounds` shapes of extents up to `largest`, ranks of `*` up to 2, values of [lowest, highest)
// but those near 0, where functions may break. It is a test, no proof; `skipped` names what no round could ask. Costs,
// `gathered` and `not_differentiable` are not checked.
//
// The folder check/: an operator held against itself. Samples of shapes and values (operator_sample.hpp), what a kernel reads
// and writes (kernel_probe.hpp), its rule on pieces (rule_check.hpp), its gradient against differences
// (difference_quotient.hpp). No other folder includes it.

#include <string>

#include <hyperparallel/check/operator_sample.hpp>
#include <hyperparallel/kernels/operator_kernels.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct operator_check {
  bool ok = true;
  std::string complaint;  ///< one line: what differs, along which factor or for which operand, the shapes
  std::string skipped;    ///< what no round could ask; empty where all of the operator was held
};

namespace detail {

operator_check check_listed_operator(const checked_operator& checked, const operator_options& how,
                                     const operator_check_options& options);

}  // namespace detail

/// Checks `Operator` of the list `Operators` in doubles; `how` has its attributes and, where the operator does not say
/// them, the text and the reduction. Throws what its kernel throws.
template <named_operator_type Operator, class Operators = operators<builtin>>
operator_check check_operator(const operator_options& how = {}, const operator_check_options& options = {}) {
  const int operands =
      options.operands > 0
          ? options.operands
          : static_cast<int>(detail::parts_written(how.text != nullptr ? how.text : Operator::text, false));
  return detail::check_listed_operator(
      {Operators::list, Operators::list.id_of(operator_value_of<Operator>), &kernels_of<double, Operators>, operands},
      how, options);
}

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/check/check_operator.ipp>
#endif
