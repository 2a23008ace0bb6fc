// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running an operator on distributed tensors, given its rule and its kernel as values.
//
// The rule tells the results' layouts and what has to happen to the operands first, which is local: whole operands are
// sliced to the shards of others, or filled to meet partial ones. Then every rank runs the kernel on its blocks. Law:
// where the kernel obeys the rule, the gathered results are those of the kernel on the whole operands.

#include <span>
#include <vector>

#include <hyperparallel/dtensor/move.hpp>
#include <hyperparallel/operators/propagate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a kernel gets at one position: its blocks of the operands, and of the results, which read as zero.
struct local_operation {
  int position;
  std::span<const const_local_block> operand;
  std::span<const local_block> result;
  const factor_rule* rule = nullptr;
};

namespace detail {

/// Operands as they meet the operator, and what its results are.
struct placed_operation {
  std::vector<dynamic_dtensor> operands;
  std::vector<tensor_description> results;
};

/// Checks the operands against the rule and prepares them. `types`: of each result. Domain: `check_rule(rule)` is ok.
/// Throws operator_error (layouts or shapes do not fit the rule), layout_error (a result's layout does not divide its
/// shape), dtensor_error (operands of different groups).
placed_operation place_operation(const factor_rule& rule, std::span<const dynamic_dtensor> operands,
                                 std::span<const data_type> types);

std::vector<dynamic_dtensor> apply_rule(const factor_rule& rule, std::span<const dynamic_dtensor> operands,
                                        std::span<const data_type> types,
                                        void (*call)(const void* work, const local_operation& at), const void* work);

/// Runs `work(const local_operation&)`, a kernel, at every position. Throws as `place_operation`, and rank_error where
/// the kernel throws.
template <class Work>
std::vector<dynamic_dtensor> apply_rule(const factor_rule& rule, std::span<const dynamic_dtensor> operands,
                                        std::span<const data_type> types, const Work& work) {
  const auto call = [&work](const local_operation& at) { work(at); };  // `work` may be a function
  return detail::apply_rule(
      rule, operands, types,
      [](const void* w, const local_operation& at) { (*static_cast<const decltype(call)*>(w))(at); }, &call);
}

/// An operator that leaves every block as it is and only tells its extents anew (reshape, expand_dims, squeeze): the
/// result shares the operand's blocks. Domain: the local blocks of operand and result have the same elements in the
/// same order.
dynamic_dtensor apply_view(const factor_rule& rule, const dynamic_dtensor& x);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/apply_rule.ipp>
#endif
