// SPDX-License-Identifier: Apache-2.0
// An operator whose text is no rule: a factor twice in one tensor.
// expect: diag::factor_rule_is_not_valid<
// expect: diagonal
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

struct diagonal {
  static constexpr hp::factor_rule rule = hp::rule_from("diagonal", "ii->i", {hp::reduce_op::none}).rule;
};
struct row_sums {
  static constexpr hp::factor_rule rule = hp::rule_from("row_sums", "ij->i", {hp::reduce_op::sum}).rule;
};
using rows = hp::layout<mesh, "dp", hp::none>;

static_assert(hp::accepts<row_sums, rows>);
static_assert(!hp::accepts<diagonal, rows>);

#ifdef NEGATIVE
using result = hp::result_layout<diagonal, rows>;
#else
using result = hp::result_layout<row_sums, rows>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
