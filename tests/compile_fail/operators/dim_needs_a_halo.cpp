// SPDX-License-Identifier: Apache-2.0
// An operator that reads neighbours along a dim, given that dim in pieces.
// expect: diag::dim_needs_a_halo<
// expect: operand<0>
// expect: dim<1>
// expect: alias<'t', 'p'>
// expect: roll
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
constexpr hp::factor_rule rolled() {
  hp::factor_rule r = hp::rule_from("roll", "ab->ab", {hp::reduce_op::none, hp::moves_elements(1u)}).rule;
  r.factor[1].kind = hp::factor_kind::permutation;
  return r;
}
struct roll {
  static constexpr hp::factor_rule rule = hp::checked_rule(rolled()).rule;
};

using rows = hp::layout<mesh, "dp", hp::none>;
using pieces = hp::layout<mesh, "dp", "tp">;

static_assert(hp::accepts<roll, rows>);
static_assert(!hp::accepts<roll, pieces>);

#ifdef NEGATIVE
using result = hp::result_layout<roll, pieces>;
#else
using result = hp::result_layout<roll, rows>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
