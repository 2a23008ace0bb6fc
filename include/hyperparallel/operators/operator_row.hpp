// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator as a value: what graphs, the partitioner and accounts know of it.

#include <hyperparallel/operators/rule_text.hpp>

namespace hyperparallel::inline v0_2 {

/// What computes it: the matrix core or the vector core.
enum class compute_unit : unsigned char { matrix, vector };

struct operator_row {
  const char* name;
  const char* text;  ///< of its factor rule, see rule_text.hpp; empty: each instance brings its own
  compute_unit unit = compute_unit::vector;
  int flops_per_point = 0;  ///< of the box of all loops; by convention of the cost model
  partial_words partials = refuse_partials();
};

/// Whether operands that wait for a sum, all alike, give a result that waits for it.
constexpr bool passes_sums_together(const factor_rule& r) {
  return word_of(r.partials, 0, reduce_op::sum).mode == partial_mode::together;
}

/// Whether operand `i` alone may wait for a sum, and the results then do.
constexpr bool passes_sums_of(const factor_rule& r, int i) {
  return word_of(r.partials, i, reduce_op::sum).mode == partial_mode::each;
}

}  // namespace hyperparallel::inline v0_2
