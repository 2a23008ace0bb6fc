// SPDX-License-Identifier: Apache-2.0
// A reshape that merges two dims, where the minor one is sharded and the major one is whole: no box of the result.
// expect: diag::factors_of_dim_do_not_fit<
// expect: operand<1>
// expect: dim<0>
// expect: alias<'t', 'p'>
// expect: merge
#include <hyperparallel/operators.hpp>
#include <hyperparallel/operators/shape_factors.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct merge {
  static constexpr hp::factor_rule rule = hp::rules::reshape(hp::shape(4, 8), hp::shape(32)).rule;
};

using major = hp::layout<mesh, "tp", hp::none>;
using minor = hp::layout<mesh, hp::none, "tp">;

static_assert(hp::accepts<merge, major>);
static_assert(!hp::accepts<merge, minor>);

#ifdef NEGATIVE
using result = hp::result_layout<merge, minor>;
#else
using result = hp::result_layout<merge, major>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
