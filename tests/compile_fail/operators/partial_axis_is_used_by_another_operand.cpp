// SPDX-License-Identifier: Apache-2.0
// A product of two partial sums along one axis: the sum of products is not the product of sums.
// expect: diag::partial_axis_is_used_by_another_operand<
// expect: operand<1>
// expect: alias<'t', 'p'>
// expect: matmul
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using sums = hp::layout<mesh, hp::none, hp::none, hp::partial("tp")>;
using whole = hp::layout<mesh, hp::none, hp::none>;

static_assert(hp::accepts<hp::ops::matmul, sums, whole>);
static_assert(!hp::accepts<hp::ops::matmul, sums, sums>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::matmul, sums, sums>;
#else
using result = hp::result_layout<hp::ops::matmul, sums, whole>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
