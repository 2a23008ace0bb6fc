// SPDX-License-Identifier: Apache-2.0
// A rule that has no word on partial operands, given one. Silence is not a refusal: whoever writes the rule has to
// say.
// expect: diag::rule_says_nothing_about_partial_operands<
// expect: operand<0>
// expect: alias<'t', 'p'>
// expect: softmax
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct softmax {
  static constexpr hp::factor_rule rule = hp::rule_from("softmax", "tE->tE", {.reduction = hp::reduce_op::none}).rule;
};

using rows = hp::layout<mesh, "dp", hp::none>;
using sums = hp::layout<mesh, "dp", hp::none, hp::partial("tp")>;

static_assert(hp::accepts<softmax, rows>);
static_assert(!hp::accepts<softmax, sums>);

#ifdef NEGATIVE
using result = hp::result_layout<softmax, sums>;
#else
using result = hp::result_layout<softmax, rows>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
