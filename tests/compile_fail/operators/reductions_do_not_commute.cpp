// SPDX-License-Identifier: Apache-2.0
// A maximum over a sharded dim of terms of a sum: neither reduction may come first.
// expect: diag::reductions_do_not_commute<
// expect: alias<'t', 'p'>
// expect: largest
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct largest {
  static constexpr hp::factor_rule rule =
      hp::rule_from("largest", "tk->t", {hp::reduce_op::max, hp::linear_in_each(1u)}).rule;
};

using sums = hp::layout<mesh, hp::none, hp::none, hp::partial("dp")>;
using pieces = hp::layout<mesh, hp::none, "tp", hp::partial("dp")>;

static_assert(hp::accepts<largest, sums>);
static_assert(!hp::accepts<largest, pieces>);

#ifdef NEGATIVE
using result = hp::result_layout<largest, pieces>;
#else
using result = hp::result_layout<largest, sums>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
