// SPDX-License-Identifier: Apache-2.0
// Rows of one operand and columns of the other by one axis: blocks off the diagonal would be missing.
// expect: diag::axis_shards_two_factors<
// expect: operand<1>
// expect: dim<1>
// expect: alias<'t', 'p'>
// expect: matmul
#include <hyperparallel/operators.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

using rows = hp::layout<mesh, "tp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
using other_columns = hp::layout<mesh, hp::none, "dp">;

static_assert(hp::accepts<hp::ops::matmul, rows, other_columns>);
static_assert(!hp::accepts<hp::ops::matmul, rows, columns>);

#ifdef NEGATIVE
using result = hp::result_layout<hp::ops::matmul, rows, columns>;
#else
using result = hp::result_layout<hp::ops::matmul, rows, other_columns>;
#endif

constexpr int rank = result::rank;
constexpr hp::layout_value value = result::value;
using again = result;
