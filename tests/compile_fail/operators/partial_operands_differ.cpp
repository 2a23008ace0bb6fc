// SPDX-License-Identifier: Apache-2.0
// A sum of a tensor that waits for a sum and one that waits for an average, along one axis.
// expect: diag::partial_operands_differ<
// expect: operand<1>
// expect: alias<'t', 'p'>
// expect: ops::sum
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using sums = hp::layout<mesh, "dp", hp::none, hp::partial("tp")>;
using means = hp::layout<mesh, "dp", hp::none, hp::partial("tp", hp::reduce_op::avg)>;

static_assert(hp::accepts<hp::ops::sum, sums, sums>);
static_assert(!hp::accepts<hp::ops::sum, sums, means>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::sum, sums, means>;
#else
using result = hp::result_layout<hp::ops::sum, sums, sums>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
